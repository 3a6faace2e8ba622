// What all data sources guarantee, and the sources that need no special files: text and synthetic.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/base/error.hpp"
#include "sim/data/data.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

namespace onebit::sim {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

using tests::Folder;

/// Returns bytes first, first + 1, ..., so that a byte tells its position.
std::string ramp(int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>(first + i);
  return text;
}

DataConfig text_config(std::vector<std::string> paths, Index context = 8) {
  return {.name = "text", .paths = std::move(paths), .context = context};
}

DataConfig small_config(const std::string& name, const Folder& folder) {
  DataConfig config{.name = name, .seed = 7, .features = 5, .classes = 3, .examples = 100};
  if (name == "text") config.paths = {folder.write("a.txt", ramp(1, 200))};
  if (name == "idx") {
    const std::string images("\0\0\x08\x03\0\0\0\x64\0\0\0\1\0\0\0\1", 16), labels("\0\0\x08\x01\0\0\0\x64", 8);
    config.paths = {folder.write("images", images + ramp(0, 100)), folder.write("labels", labels + ramp(0, 100))};
  }
  if (name == "cifar10" || name == "cifar100") {
    std::string records;
    for (int i = 0; i < 100; ++i) {
      records += (name == "cifar100" ? ramp(7, 1) : "") + ramp(i % 10, 1) + std::string(3072, static_cast<char>(i));
    }
    config.paths = {folder.write("records", records)};
  }
  if (name == "tokens") {
    config.paths = {folder.write("tokens", ramp(0, 200))};
    config.token_bytes = 1;
  }
  if (name == "criteo") {
    std::string lines;
    for (int i = 0; i < 100; ++i) {
      lines += std::to_string(i % 2);
      for (int field = 1; field < 40; ++field) lines += "\t" + std::to_string(i * field);
      lines += "\n";
    }
    config.paths = {folder.write("lines", lines)};
  }
  if (name == "libsvm") {
    std::string lines;
    for (int i = 0; i < 100; ++i) lines += std::to_string(i) + " 1:" + std::to_string(i) + " 3:2.5\n";
    config.paths = {folder.write("lines", lines)};
  }
  return config;
}

template <typename T>
std::vector<T> slice(const std::vector<T>& values, std::size_t part, std::size_t parts) {
  const auto size = static_cast<std::ptrdiff_t>(values.size() / parts);
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(part) * size;
  return {first, first + size};
}

TEST_CASE("every source: a worker's examples do not depend on grouping") {
  const Folder folder;
  for (const DataEntry& entry : data_sources()) {
    if (entry.name == "none") continue;  // it has no examples
    INFO(entry.name);
    const auto source = make_data(small_config(std::string(entry.name), folder));
    CHECK(source->name() == entry.name);
    Batch all, one;
    source->sample(11, {0, 16}, 3, all);
    CHECK(all.rows() == 48);
    CHECK(all.labels.size() == 48);
    CHECK(all.features.size() == static_cast<std::size_t>(48 * source->feature_count()));
    CHECK(all.tokens.size() == static_cast<std::size_t>(48 * source->context()));
    source->lay_out(11, {0, 16}, 3, one);
    CHECK(one.labels.size() == all.labels.size());
    CHECK(one.features.size() == all.features.size());
    CHECK(one.tokens.size() == all.tokens.size());
    for (std::size_t w = 0; w < 16; ++w) {
      source->sample(11, {static_cast<Index>(w), 1}, 3, one);
      CHECK(one.labels == slice(all.labels, w, 16));
      CHECK(one.features == slice(all.features, w, 16));
      CHECK(one.tokens == slice(all.tokens, w, 16));
    }
    source->sample(11, {5, 0}, 3, one);
    CHECK(one.labels.empty());
  }
}

TEST_CASE("every source: samples are a function of seed and step, the split is not") {
  const Folder folder;
  for (const DataEntry& entry : data_sources()) {
    if (entry.name == "none") continue;  // it has no examples
    INFO(entry.name);
    DataConfig config = small_config(std::string(entry.name), folder);
    const auto a = make_data(config), again = make_data(config);
    config.seed = 8;
    const auto other = make_data(config);
    Batch x, y;
    const auto same = [&] { return x.labels == y.labels && x.features == y.features && x.tokens == y.tokens; };
    a->sample(3, {0, 4}, 25, x);
    again->sample(3, {0, 4}, 25, y);
    CHECK(same());
    again->sample(4, {0, 4}, 25, y);
    CHECK_FALSE(same());
    other->sample(3, {0, 4}, 25, y);
    CHECK_FALSE(same());
    a->holdout(0, a->holdout_size(), x);
    other->holdout(0, other->holdout_size(), y);
    CHECK(same());
    CHECK(a->hash() == other->hash());
    CHECK(a->hash() == again->hash());
    CHECK_FALSE(a->provenance().empty());
  }
}

TEST_CASE("every source: buffers are reused and bounds are checked") {
  const Folder folder;
  for (const DataEntry& entry : data_sources()) {
    if (entry.name == "none") continue;  // it has no examples
    INFO(entry.name);
    const auto source = make_data(small_config(std::string(entry.name), folder));
    Batch out;
    source->sample(0, {0, 4}, 8, out);
    const auto* features = out.features.data();
    const auto* tokens = out.tokens.data();
    const auto* labels = out.labels.data();
    source->sample(1, {4, 4}, 8, out);
    CHECK((out.features.data() == features && out.tokens.data() == tokens && out.labels.data() == labels));
    const Index size = source->holdout_size();
    source->holdout(size, 0, out);
    CHECK(out.rows() == 0);
    CHECK_THROWS_AS(source->holdout(size, 1, out), Error);
    CHECK_THROWS_AS(source->holdout(-1, 1, out), Error);
    CHECK_THROWS_AS(source->holdout(1, INT64_MAX, out), Error);
    CHECK_THROWS_AS(source->sample(-1, {0, 1}, 1, out), Error);
    CHECK_THROWS_AS(source->sample(0, {0, -1}, 1, out), Error);
  }
}

TEST_CASE("an unknown source is refused with candidates") {
  DataConfig config{.name = "syntetic"};
  CHECK_THROWS_WITH(make_data(config), Contains("syntetic") && Contains("synthetic"));
  CHECK_THROWS_AS(make_data(config), ConfigError);
}

TEST_CASE("text: splits share no byte and contexts are what precedes the target") {
  const Folder folder;
  DataConfig config = text_config({folder.write("a", ramp(1, 200))});
  config.context = 4;
  config.holdout = 0.25;
  const auto source = make_data(config);
  CHECK(source->classes() == 256);
  CHECK(source->feature_count() == 0);
  REQUIRE(source->train_size() == 150 - 4);
  REQUIRE(source->holdout_size() == 50 - 4);
  Batch out;
  const auto check = [&](int first_label, int last_label) {
    std::set<int> labels(out.labels.begin(), out.labels.end());
    CHECK(*labels.begin() == first_label);
    CHECK(*labels.rbegin() == last_label);
    for (std::size_t i = 0; i < out.tokens.size(); ++i) {
      CHECK(out.tokens[i] == out.labels[i / 4] - 4 + static_cast<int>(i % 4));
    }
  };
  source->sample(0, {0, 4}, 1000, out);
  check(5, 150);
  source->holdout(0, 46, out);
  check(155, 200);
}

TEST_CASE("text: bytes above 127 are classes above 127") {
  const Folder folder;
  DataConfig config = text_config({folder.write("a", std::string(100, '\xff'))});
  config.holdout = 0;
  const auto source = make_data(config);
  CHECK(source->holdout_size() == 0);
  Batch out;
  source->sample(0, {0, 1}, 2, out);
  CHECK(out.labels == std::vector<std::int32_t>{255, 255});
  CHECK(out.tokens == std::vector<std::int32_t>(16, 255));
}

TEST_CASE("text: a folder is read in order, without hidden, linked, binary and repeated files") {
  const Folder folder;
  folder.write("b/z.txt", std::string(30, 'z'));
  folder.write("a.txt", std::string(30, 'a'));
  folder.write(".hidden", std::string(30, 'h'));
  folder.write(".git/x", std::string(30, 'g'));
  folder.write("binary", std::string("x\0y", 3));
  fs::create_symlink(folder.path("a.txt"), folder.path("link.txt"));
  fs::create_directory_symlink(folder.path("b"), folder.path("c"));
  const auto source = make_data(text_config({folder.path(), folder.path("a.txt")}, 2));
  const Folder plain;
  const auto expected = make_data(text_config({plain.write("a", std::string(30, 'a') + std::string(30, 'z'))}, 2));
  CHECK(source->hash() == expected->hash());
  CHECK(source->provenance() == std::vector<std::string>{folder.path("a.txt") + ": 30 bytes",
                                                         folder.path("b/z.txt") + ": 30 bytes",
                                                         folder.path("binary") + ": 3 bytes, skipped: binary",
                                                         folder.path("a.txt") + ": 30 bytes, skipped: already read"});
}

TEST_CASE("text: what cannot be used is refused by name") {
  const Folder folder;
  fs::create_directory(folder.path("empty"));
  folder.write("binary/x", std::string(10, '\0'));
  folder.write("huge/x", std::string(9000, 'a'));
  fs::resize_file(folder.path("huge/x"), (std::uintmax_t{1} << 32) + 1);  // a hole: takes no space
  const std::string few = folder.write("few", "123456789");
  const auto refuses = [](const DataConfig& config, const std::string& name, const std::string& reason) {
    CHECK_THROWS_AS(make_data(config), ConfigError);
    CHECK_THROWS_WITH(make_data(config), Contains(name) && Contains(reason));
  };
  for (const std::string name : {"empty", "binary"})
    refuses(text_config({folder.path(name)}), name, "no readable text");
  refuses(text_config({folder.path("missing")}), "missing", "no such file or folder");
  refuses(text_config({"/dev/null"}), "/dev/null", "neither a file nor a folder");
  refuses(text_config({folder.path("huge")}), "huge", "4294967297 bytes");
  refuses(text_config({few}), "few", "training text has 8 bytes and --model.context is 8");
  DataConfig config = text_config({few});
  config.context = 2;
  refuses(config, "few", "held-out text has 1 bytes and --model.context is 2");
  config.context = INT64_MAX;
  refuses(config, "few", std::to_string(INT64_MAX));
  config.context = -1;
  refuses(config, "--model.context", "at least one token");
  config.context = 0;
  refuses(config, "data text", "the model reads none");
}

TEST_CASE("text: licence texts are the default") {
  ONEBIT_SKIP_UNLESS(fs::exists("/usr/share/common-licenses/GPL-3"), "common-licenses", "no licence texts here");
  const auto source = make_data(text_config({}));
  CHECK(source->train_size() > 100000);
  for (const std::string& line : source->provenance()) CHECK_THAT(line, Contains("/usr/share/common-licenses/"));
}

TEST_CASE("synthetic: pool, splits and labels") {
  const DataConfig config{.name = "synthetic"};
  const auto source = make_data(config);
  CHECK(source->feature_count() == 32);
  CHECK(source->classes() == 10);
  CHECK(source->train_size() == 9000);
  CHECK(source->holdout_size() == 1000);
  Batch out;
  source->holdout(0, 1000, out);
  std::vector<int> count(10);
  for (const std::int32_t label : out.labels) ++count.at(static_cast<std::size_t>(label));
  for (const int n : count) CHECK(n > 10);  // no class is (almost) absent
  double sum = 0, squares = 0;
  for (const float x : out.features) sum += static_cast<double>(x), squares += static_cast<double>(x * x);
  CHECK(sum / 32000 == Approx(0).margin(0.03));
  CHECK(squares / 32000 == Approx(1).margin(0.03));
}

TEST_CASE("synthetic: the features of an image are its pixels") {
  const auto images = make_data({.name = "synthetic", .image = {2, 3, 4}, .examples = 50});
  const auto plain = make_data({.name = "synthetic", .features = 24, .examples = 50});
  CHECK(images->image() == ImageShape{2, 3, 4});
  CHECK(plain->image() == ImageShape{});
  CHECK(images->feature_count() == 24);
  CHECK(images->hash() == plain->hash());
  for (const ImageShape bad : {ImageShape{0, 3, 4}, ImageShape{2, -1, 4}, ImageShape{2, 3, Index{1} << 62}}) {
    CHECK_THROWS_AS(make_data({.name = "synthetic", .image = bad}), ConfigError);
  }
  CHECK_THROWS_WITH(make_data({.name = "synthetic", .image = {1, 0, 4}}), Contains("--data.image"));
}

TEST_CASE("synthetic: sizes are checked") {
  DataConfig config{.name = "synthetic", .paths = {"x"}};
  CHECK_THROWS_WITH(make_data(config), Contains("--data.path"));
  config.paths.clear();
  for (Index DataConfig::*size : {&DataConfig::features, &DataConfig::classes, &DataConfig::examples}) {
    for (const Index bad : {Index{-1}, Index{0}, Index{1} << 62, INT64_MAX}) {
      if (bad == 0 && size == &DataConfig::features) continue;  // the default number
      DataConfig wrong = config;
      wrong.*size = bad;
      CHECK_THROWS_AS(make_data(wrong), ConfigError);
    }
  }
}

}  // namespace
}  // namespace onebit::sim
