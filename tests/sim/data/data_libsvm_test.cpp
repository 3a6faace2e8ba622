// LIBSVM's text format: known results, and damage of every kind.

#include "sim/data/features/libsvm.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

namespace onebit::sim {
namespace {

using Catch::Matchers::Contains;
using tests::Folder;

LibsvmExamples parse(const std::string& text) {
  LibsvmExamples examples;
  LibsvmParser parser("FILE", examples);
  parser.feed(text);
  parser.finish();
  return examples;
}

DataConfig libsvm(const std::string& path) {
  return {.name = "libsvm", .paths = {path}, .holdout = 0};
}

/// Every training example once, its class in front, sorted.
std::vector<std::vector<float>> all_rows(const DataSource& source) {
  std::vector<std::vector<float>> rows;
  Batch out;
  source.sample(0, {0, 1}, 40 * source.train_size(), out);
  const auto width = static_cast<std::ptrdiff_t>(source.feature_count());
  for (std::size_t i = 0; i < out.labels.size(); ++i) {
    std::vector<float> row = {static_cast<float>(out.labels[i])};
    const auto first = out.features.begin() + static_cast<std::ptrdiff_t>(i) * width;
    row.insert(row.end(), first, first + width);
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

TEST_CASE("libsvm: a file by hand") {
  const auto read = parse(
      "+1 1:0.5 3:-2e1\n"
      "# a comment\n"
      "\n"
      "-1\t2:1   # another\r\n"
      "  \r\n"
      "1.0 3:1e-300\r\n"
      "-1");
  CHECK(read.labels == std::vector<double>{1, -1, 1, -1});
  CHECK(read.rows.starts == std::vector<Index>{0, 2, 3, 4, 4});
  CHECK(read.rows.columns == std::vector<std::uint32_t>{0, 2, 1, 2});
  CHECK(read.rows.values == std::vector<float>{0.5F, -20.0F, 1.0F, 0.0F});
  CHECK(read.features == 3);
}

TEST_CASE("libsvm: rows are dense, raw, and classes follow the labels' order") {
  const Folder folder;
  DataConfig config = libsvm(folder.write("a", "10 2:4\n-1 1:1 2:3\n2.5\n10 3:-7\n"));
  auto source = make_data(config);
  CHECK(source->classes() == 3);
  CHECK(source->feature_count() == 3);
  const std::vector<std::vector<float>> wanted = {{0, 1, 3, 0}, {1, 0, 0, 0}, {2, 0, 0, -7}, {2, 0, 4, 0}};
  CHECK(all_rows(*source) == wanted);
  config.features = 5;
  source = make_data(config);
  CHECK(source->feature_count() == 5);
  CHECK(all_rows(*source)[0] == std::vector<float>{0, 1, 3, 0, 0, 0});
  config.features = 2;
  CHECK(make_data(config)->feature_count() == 3);
}

TEST_CASE("libsvm: standardised where asked for") {
  const Folder folder;
  DataConfig config = libsvm(folder.write("a", "0 1:4\n1 2:4\n"));
  config.standardise = Switch::yes;  // values 4, 0, 0, 4: mean 2, deviation 2
  const std::vector<std::vector<float>> wanted = {{0, 1, -1}, {1, -1, 1}};
  CHECK(all_rows(*make_data(config)) == wanted);
}

TEST_CASE("libsvm: a test file is what is held out") {
  const Folder folder;
  DataConfig config = libsvm(folder.write("train", "1 1:1\n2 1:2\n"));
  config.holdout = 0.5;
  config.test = {folder.write("test", "0 4:1\n2 1:9\n2 1:8\n")};
  const auto source = make_data(config);
  CHECK(source->train_size() == 2);
  CHECK(source->holdout_size() == 3);
  CHECK(source->feature_count() == 4);
  CHECK(source->classes() == 3);
  CHECK(source->provenance().size() == 2);
  const std::vector<std::vector<float>> wanted = {{1, 1, 0, 0, 0}, {2, 2, 0, 0, 0}};
  CHECK(all_rows(*source) == wanted);
  Batch out;
  source->holdout(0, 3, out);
  CHECK(std::count(out.labels.begin(), out.labels.end(), 0) == 1);
  CHECK(std::count(out.features.begin(), out.features.end(), 9.0F) == 1);
}

TEST_CASE("libsvm: damage is refused with file, offset, line and reason") {
  const struct {
    const char* text;
    const char* reason;
  } damages[] = {
      {"x 1:1", "line 1: expected a finite label, found \"x\" (FILE, offset 0)"},
      {"1 1:1\n+-1 1:1", "line 2: expected a finite label, found \"+-1\" (FILE, offset 6)"},
      {"nan 1:1", "expected a finite label"},
      {"1e39 1:1", "expected a finite label"},
      {"1,2 1:1", "expected a finite label, found \"1,2\""},
      {"1 2", "line 1: expected index:value, found \"2\" (FILE, offset 2)"},
      {"1 qid:3 1:1", "expected index:value, found \"qid\""},
      {"1 0:1", "indices start at 1, found \"0\" (FILE, offset 2)"},
      {"1 -1:1", "indices start at 1, found \"-1\""},
      {"1 1:1 1:2", "indices must increase, found \"1:2\" (FILE, offset 6)"},
      {"1 3:1 2:2", "indices must increase"},
      {"1 16777217:1", "the largest index is 16777216, found \"16777217\""},
      {"1 99999999999999999999:1", "expected index:value, found"},
      {"1 1:", "expected a finite value, found \"\" (FILE, offset 4)"},
      {"1 1:inf", "expected a finite value, found \"inf\""},
      {"1 1:1e39", "expected a finite value"},
      {"1 1:1e-400", "expected a finite value"},  // not even a double
      {"1 1:2x", "expected a finite value, found \"2x\""},
      {"1 1:2\r3", "expected a finite value, found \"2?3\""},
  };
  for (const auto& damage : damages) {
    INFO(damage.text);
    CHECK_THROWS_AS(parse(damage.text), ConfigError);
    CHECK_THROWS_WITH(parse(damage.text), Contains(damage.reason));
  }
}

TEST_CASE("libsvm: files and options that cannot be") {
  const Folder folder;
  const auto refuses = [](const DataConfig& config, const std::string& where, const std::string& reason) {
    CHECK_THROWS_AS(make_data(config), ConfigError);
    CHECK_THROWS_WITH(make_data(config), Contains(where) && Contains(reason));
  };
  refuses(libsvm(folder.write("empty", "# nothing\n\n")), "empty, offset 11", "no examples");
  refuses(libsvm(folder.path("missing")), "missing", "no such file");
  const std::string good = folder.write("good", "1 1:1\n2 2:1\n");
  DataConfig config = libsvm(good);
  config.paths = {};
  refuses(config, "--data.path", "one LIBSVM file");
  config.paths = {good, good};
  refuses(config, "--data.path", "one LIBSVM file");
  config = libsvm(good);
  config.test = {good, good};
  refuses(config, "--data.test", "one LIBSVM test file");
  for (const Index features : {Index{-1}, libsvm_features + 1, INT64_MAX}) {
    config = libsvm(good);
    config.features = features;
    refuses(config, "--data.features", "from 0 to 16777216");
  }
  std::string regression;
  for (int i = 0; i <= 65536; ++i) regression += std::to_string(i) + "\n";
  refuses(libsvm(folder.write("regression", regression)), "regression", "65537 different labels");
}

TEST_CASE("libsvm: a file in pieces of any size gives the same examples and errors") {
  const std::string text = "+1 1:0.5 3:-2e1\r\n# comment 1:x\n\n0 2:1 # more\n2 7:1 \t9:3";
  const LibsvmExamples whole = parse(text);
  CHECK(whole.labels == std::vector<double>{1, 0, 2});
  for (std::size_t size = 1; size <= text.size(); ++size) {
    LibsvmExamples examples;
    LibsvmParser parser("FILE", examples);
    for (std::size_t at = 0; at < text.size(); at += size) parser.feed(text.substr(at, size));
    CHECK(parser.finish() == 3);
    CHECK(examples.labels == whole.labels);
    CHECK(examples.rows.columns == whole.rows.columns);
    CHECK(examples.rows.values == whole.rows.values);
    CHECK(examples.rows.starts == whole.rows.starts);
    CHECK_THROWS_WITH((parser.feed("1 2:"), parser.feed("x\n")),
                      Contains("line 6: expected a finite value, found \"x\" (FILE, offset"));
  }
  LibsvmExamples examples;
  CHECK_THROWS_WITH(LibsvmParser("FILE", examples).feed(std::string(2'000'000, '1')), Contains("more than 1 MiB"));
}

TEST_CASE("libsvm: a9a and mushrooms") {
  const std::string a9a = tests::shared_path("data/libsvm/a9a");
  ONEBIT_SKIP_UNLESS(std::filesystem::exists(a9a), "shared", "no " + a9a);
  DataConfig config = libsvm(a9a);
  config.test = {a9a + ".t"};
  const auto source = make_data(config);
  CHECK(source->feature_count() == 123);
  CHECK(source->classes() == 2);
  CHECK(source->train_size() == 32561);
  CHECK(source->holdout_size() == 16281);
  Batch out;
  source->holdout(0, source->holdout_size(), out);
  CHECK(std::count(out.labels.begin(), out.labels.end(), 1) == 3846);  // UCI Adult's test set: >50K

  const auto mushrooms = make_data(libsvm(tests::shared_path("data/libsvm/mushrooms")));
  CHECK(mushrooms->feature_count() == 112);
  CHECK(mushrooms->train_size() == 8124);
}

}  // namespace
}  // namespace onebit::sim
