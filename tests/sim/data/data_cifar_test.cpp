// CIFAR's binary files: known results, and damage.

#include "sim/data/features/cifar.hpp"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

namespace onebit::sim {
namespace {

using Catch::Matchers::Contains;
using tests::Folder;

/// Returns an image each of whose three colors is constant.
std::string image(int red, int green, int blue) {
  std::string pixels;
  for (const int value : {red, green, blue}) pixels += std::string(1024, static_cast<char>(value));
  return pixels;
}

std::string record10(int label, int red, int green, int blue) {
  return static_cast<char>(label) + image(red, green, blue);
}

std::vector<std::int32_t> parse(const std::string& content, const CifarFormat& format) {
  return parse_cifar(Bytes("FILE", {content.begin(), content.end()}), format);
}

DataConfig cifar(const std::string& name, std::vector<std::string> paths) {
  return {.name = name, .paths = std::move(paths), .holdout = 0};
}

TEST_CASE("cifar: every colour is standardised by itself") {
  const Folder folder;
  const std::string content = record10(3, 0, 10, 255) + record10(9, 40, 10, 0);
  const auto source = make_data(cifar("cifar10", {folder.write("a", content)}));
  CHECK(source->image() == ImageShape{3, 32, 32});
  CHECK(source->feature_count() == 3072);
  CHECK(source->classes() == 10);
  CHECK(source->train_size() == 2);
  Batch out;
  source->sample(0, {0, 1}, 50, out);
  std::set<std::int32_t> labels(out.labels.begin(), out.labels.end());
  CHECK(labels == std::set<std::int32_t>{3, 9});
  for (std::size_t b = 0; b < 50; ++b) {
    const float sign = out.labels[b] == 3 ? 1.0F : -1.0F;
    CHECK(out.features[b * 3072] == Approx(-sign));
    CHECK(out.features[b * 3072 + 1023] == Approx(-sign));
    CHECK(out.features[b * 3072 + 1024] == Approx(0).margin(1e-6));
    CHECK(out.features[b * 3072 + 3071] == Approx(sign));
  }
}

TEST_CASE("cifar: raw pixels where asked for") {
  const Folder folder;
  DataConfig config = cifar("cifar10", {folder.write("a", record10(1, 51, 102, 255))});
  config.standardise = Switch::no;
  Batch out;
  make_data(config)->sample(0, {0, 1}, 1, out);
  CHECK(out.features[0] == 51.0F / 255.0F);
  CHECK(out.features[1024] == 102.0F / 255.0F);
  CHECK(out.features[3071] == 1.0F);
}

TEST_CASE("cifar: a folder has its own test set, another can be named") {
  const Folder folder;
  for (const char batch : {'2', '1', '3'}) {
    folder.write(std::string("data_batch_") + batch + ".bin", record10(batch - '0', 1, 2, 3));
  }
  folder.write("test_batch.bin", record10(7, 1, 2, 3) + record10(8, 1, 2, 3));
  folder.write("readme.html", "x");
  DataConfig config = cifar("cifar10", {folder.path()});
  auto source = make_data(config);
  CHECK(source->train_size() == 3);
  CHECK(source->holdout_size() == 2);
  REQUIRE(source->provenance().size() == 4);
  CHECK(source->provenance()[0] == folder.path("data_batch_1.bin") + ": 1 images");
  Batch out;
  source->holdout(0, 2, out);
  CHECK(std::set<std::int32_t>(out.labels.begin(), out.labels.end()) == std::set<std::int32_t>{7, 8});
  config.test = {folder.write("mine", record10(5, 1, 2, 3))};
  source = make_data(config);
  CHECK(source->holdout_size() == 1);

  const char* before = std::getenv("ONEBIT_DATA");
  const std::string saved = before ? before : "";
  const Folder data;
  std::filesystem::rename(folder.path(), data.path("cifar-10-batches-bin"));
  std::filesystem::create_directory(folder.path());
  setenv("ONEBIT_DATA", data.path().c_str(), 1);
  CHECK(make_data(cifar("cifar10", {}))->train_size() == 3);
  CHECK_THROWS_WITH(make_data(cifar("cifar100", {})), Contains(data.path()) && Contains("no files train*.bin"));
  unsetenv("ONEBIT_DATA");
  CHECK_THROWS_WITH(make_data(cifar("cifar10", {})), Contains("--data.path"));
  if (before) setenv("ONEBIT_DATA", saved.c_str(), 1);
}

TEST_CASE("cifar: fine labels of CIFAR-100") {
  const Folder folder;
  folder.write("train.bin", std::string("\x13") + record10(99, 1, 2, 3));
  folder.write("test.bin", std::string("\x01") + record10(42, 1, 2, 3));
  const auto source = make_data(cifar("cifar100", {folder.path()}));
  CHECK(source->classes() == 100);
  Batch out;
  source->sample(0, {0, 1}, 1, out);
  CHECK(out.labels[0] == 99);
  source->holdout(0, 1, out);
  CHECK(out.labels[0] == 42);
}

TEST_CASE("cifar: damage is refused with file, offset and reason") {
  const std::string good = record10(0, 1, 2, 3) + record10(9, 1, 2, 3);
  CHECK(parse(good, cifar10) == std::vector<std::int32_t>{0, 9});
  const auto refuses = [](const std::string& content, const CifarFormat& format, const std::string& reason) {
    CHECK_THROWS_AS(parse(content, format), ConfigError);
    CHECK_THROWS_WITH(parse(content, format), Contains(reason));
  };
  refuses("", cifar10, "no records (FILE, offset 0)");
  for (const std::size_t size : {std::size_t{1}, std::size_t{3072}, std::size_t{3074}, std::size_t{6145}}) {
    const std::string text = std::to_string(size);
    refuses(good.substr(0, size), cifar10,
            "truncated: " + text + " of " + (size < 3073 ? "3073" : "6146") + " bytes (FILE, offset " + text + ")");
  }
  refuses(good + record10(10, 1, 2, 3), cifar10, "label 10 is out of range: there are 10 classes (FILE, offset 6146)");
  refuses("x" + record10(100, 1, 2, 3), cifar100, "label 100 is out of range: there are 100 classes (FILE, offset 1)");
  const Folder folder;
  CHECK_THROWS_WITH(make_data(cifar("cifar10", {folder.path()})), Contains("no files data_batch_*.bin in this folder"));
  CHECK_THROWS_WITH(make_data(cifar("cifar10", {folder.path("x")})), Contains("no such file"));
}

}  // namespace
}  // namespace onebit::sim
