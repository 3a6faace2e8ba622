// IDX files: known results, and damage of every kind.

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
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

std::string word(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>((value >> shift) & 255U);
  return text;
}

/// n images of 2 x 3 pixels; all pixels of image i are i, and so is its label.
std::string images_file(int n) {
  std::string text = word(0x803) + word(static_cast<std::uint32_t>(n)) + word(2) + word(3);
  for (int i = 0; i < n; ++i) text += std::string(6, static_cast<char>(i));
  return text;
}

std::string labels_file(int n) {
  std::string text = word(0x801) + word(static_cast<std::uint32_t>(n));
  for (int i = 0; i < n; ++i) text += static_cast<char>(i);
  return text;
}

std::string gzip(const std::string& plain, const Folder& folder) {
  const std::string path = folder.path("gzip.tmp");
  gzFile file = gzopen(path.c_str(), "wb");
  CHECK(gzwrite(file, plain.data(), static_cast<unsigned>(plain.size())) == static_cast<int>(plain.size()));
  CHECK(gzclose(file) == Z_OK);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

DataConfig idx(std::vector<std::string> paths) {
  return {.name = "idx", .paths = std::move(paths), .holdout = 0.25};
}

void refuses(const DataConfig& config, const std::string& name, const std::string& reason) {
  CHECK_THROWS_AS(make_data(config), ConfigError);
  CHECK_THROWS_WITH(make_data(config), Contains(name) && Contains(reason));
}

TEST_CASE("idx: splits partition the examples, features are standardised by the training split") {
  const Folder folder;
  const auto source = make_data(idx({folder.write("i", images_file(200)), folder.write("l", labels_file(200))}));
  CHECK(source->feature_count() == 6);
  CHECK(source->classes() == 200);
  REQUIRE(source->train_size() == 150);
  REQUIRE(source->holdout_size() == 50);
  Batch held, train;
  source->holdout(0, 50, held);
  source->sample(0, {0, 10}, 1000, train);
  std::set<int> all(held.labels.begin(), held.labels.end());
  CHECK(all.size() == 50);
  const std::set<int> trained(train.labels.begin(), train.labels.end());
  CHECK(trained.size() == 150);
  all.insert(trained.begin(), trained.end());
  CHECK(all.size() == 200);

  double sum = 0, squares = 0;
  for (const int label : trained) sum += label / 255.0, squares += label / 255.0 * label / 255.0;
  const double mean = sum / 150, deviation = std::sqrt(squares / 150 - mean * mean);
  for (std::size_t i = 0; i < held.features.size(); ++i) {
    CHECK(held.features[i] == Approx((held.labels[i / 6] / 255.0 - mean) / deviation).margin(1e-5));
  }
}

TEST_CASE("idx: packing changes nothing") {
  const Folder folder;
  const auto plain = make_data(idx({folder.write("i", images_file(40)), folder.write("l", labels_file(40))}));
  const auto packed = make_data(idx({folder.write("i.gz", gzip(images_file(40), folder)), folder.path("l")}));
  CHECK(plain->hash() == packed->hash());
  Batch a, b;
  plain->holdout(0, 10, a);
  packed->holdout(0, 10, b);
  CHECK(a.features == b.features);
}

TEST_CASE("idx: constant images give zeros") {
  const Folder folder;
  const std::string images = word(0x803) + word(4) + word(1) + word(1) + "aaaa";
  const auto source = make_data(idx({folder.write("i", images), folder.write("l", labels_file(4))}));
  Batch out;
  source->holdout(0, 1, out);
  CHECK(std::abs(out.features[0]) < 1e-6F);
}

TEST_CASE("idx: damage is refused with file name and reason") {
  const Folder folder;
  const std::string good = images_file(40), labels = folder.write("labels", labels_file(40));
  const std::string packed = gzip(good, folder);
  std::string broken = packed, checksum = packed, header = packed;
  std::fill(broken.begin() + 12, broken.begin() + 30, '\xff');
  checksum[checksum.size() - 6] = static_cast<char>(checksum[checksum.size() - 6] ^ 1);  // a byte of the CRC
  header[2] = 9;                                                                         // not "deflate"
  const std::string pixels = good.substr(16);
  const struct {
    const char* name;
    std::string content;
    const char* reason;
  } damages[] = {
      {"empty", "", "truncated: 0 of 4 bytes (FILE, offset 0)"},
      {"three-bytes", good.substr(0, 3), "truncated: 3 of 4 bytes (FILE, offset 3)"},
      {"no-dimensions", good.substr(0, 9), "truncated: 9 of 16 bytes (FILE, offset 9)"},
      {"wrong-magic", labels_file(40), "bad magic 0x00000801, expected 0x00000803 (FILE, offset 0)"},
      {"huge-count", word(0x803) + word(0xffffffff) + good.substr(8), "exceed the limit"},
      {"huge-product", word(0x803) + std::string(12, '\xff') + pixels, "4294967295 x 4294967295 x 4294967295 values"},
      {"wrapping", word(0x803) + word(0x80000000) + word(0x80000000) + word(4) + pixels, "exceed the limit"},
      {"within-limit", word(0x803) + word(1U << 31) + word(1) + word(1) + pixels, "truncated: 256 of 2147483664"},
      {"zero", word(0x803) + word(40) + word(0) + word(6), "dimension 1 is zero (FILE, offset 8)"},
      {"truncated", good.substr(0, good.size() - 1), "truncated: 255 of 256 bytes (FILE, offset 255)"},
      {"trailing", good + "x", "trailing bytes: the header promises 256 (FILE, offset 256)"},
      {"fewer", images_file(39), "39 images but 40 labels (FILE, "},
      {"broken.gz", broken, "corrupted gzip"},
      {"checksum.gz", checksum, "corrupted gzip"},
      {"header.gz", header, "corrupted gzip"},
      {"cut.gz", packed.substr(0, packed.size() / 2), "corrupted gzip"},
      {"no-checksum.gz", packed.substr(0, packed.size() - 8), "corrupted gzip"},
      {"trailing.gz", gzip(good + "x", folder), "trailing bytes: the header promises 256 (FILE, offset 256)"},
  };
  for (const auto& damage : damages) {
    INFO(damage.name);
    const std::string path = folder.write(damage.name, damage.content);
    std::string reason = damage.reason;
    if (const auto at = reason.find("FILE"); at != std::string::npos) reason.replace(at, 4, path);
    refuses(idx({path, labels}), path, reason);
  }
  const std::string images = folder.write("images", good);
  refuses(idx({images, folder.write("l", labels_file(40) + "x")}), folder.path("l"), "trailing bytes");
  refuses(idx({images, folder.write("l", word(0x801) + word(0))}), folder.path("l"), "dimension 0 is zero");
  refuses(idx({labels, images}), labels, "bad magic");
}

TEST_CASE("idx: a file cut at any length is refused, packed or not") {
  const Folder folder;
  const std::string labels = folder.write("labels", labels_file(9));
  for (const std::string& whole : {images_file(9), gzip(images_file(9), folder)}) {
    CHECK_NOTHROW(make_data(idx({folder.write("images", whole), labels})));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      INFO(size);
      CHECK_THROWS_AS(make_data(idx({folder.write("images", whole.substr(0, size)), labels})), ConfigError);
    }
  }
}

TEST_CASE("idx: a changed bit is refused by name or read, never a crash") {
  const Folder folder;
  const std::string labels = folder.write("labels", labels_file(9));
  int refused = 0;
  for (const std::string& whole : {images_file(9), gzip(images_file(9), folder)}) {
    for (std::size_t place = 0; place < whole.size() * 8; ++place) {
      std::string changed = whole;
      changed[place / 8] = static_cast<char>(changed[place / 8] ^ (1 << (place % 8)));
      try {
        make_data(idx({folder.write("images", changed), labels}));  // pixels may change, and fields that gzip ignores
      } catch (const ConfigError& error) {
        ++refused;
        CHECK_THAT(error.what(), Contains(folder.path("images")));
      }
    }
  }
  CHECK(refused > 300);
}

TEST_CASE("idx: the pair of a folder") {
  const Folder folder;
  refuses(idx({folder.path()}), folder.path(), "no IDX images");
  folder.write("t10k-images-idx3-ubyte", images_file(20));
  refuses(idx({folder.path()}), folder.path("t10k-labels-idx1-ubyte"), "no label file");
  folder.write("t10k-labels-idx1-ubyte.gz", gzip(labels_file(20), folder));
  CHECK(make_data(idx({folder.path()}))->provenance().size() == 2);
  folder.write("other.images.idx3-ubyte", images_file(20));
  refuses(idx({folder.path()}), folder.path(),
          "several sets of images: other.images.idx3-ubyte, t10k-images-idx3-ubyte");
  folder.write("train-images-idx3-ubyte", images_file(40));
  folder.write("train-images-idx3-ubyte.gz", gzip(images_file(40), folder));
  folder.write("train-labels-idx1-ubyte", labels_file(40));
  const auto source = make_data(idx({folder.path()}));
  CHECK(source->train_size() == 30);
  CHECK_THAT(source->provenance().at(2), Contains("used train-images-idx3-ubyte"));
}

TEST_CASE("idx: without paths ONEBIT_DATA is read") {
  const Folder folder;
  const char* before = std::getenv("ONEBIT_DATA");
  const std::string saved = before ? before : "";
  unsetenv("ONEBIT_DATA");
  refuses(idx({}), "--data.path", "ONEBIT_DATA");
  setenv("ONEBIT_DATA", folder.path("missing").c_str(), 1);
  refuses(idx({}), "missing", "not a folder");
  setenv("ONEBIT_DATA", folder.path().c_str(), 1);
  refuses(idx({}), folder.path(), "no IDX images");
  fs::create_directory(folder.path("mnist"));
  folder.write("mnist/images-idx3-ubyte", images_file(8));
  folder.write("mnist/labels-idx1-ubyte", labels_file(8));
  CHECK(make_data(idx({}))->train_size() == 6);
  unsetenv("ONEBIT_DATA");
  if (before) setenv("ONEBIT_DATA", saved.c_str(), 1);

  refuses(idx({folder.path("missing"), folder.path("missing")}), "missing", "no such file");
  refuses(idx({folder.path(), folder.path()}), folder.path(), "not a regular file but a folder");
  refuses(idx({folder.path("mnist/images-idx3-ubyte")}), "images", "only one file");
  refuses(idx({"a", "b", "c"}), "--data.path", "more than two");
}

TEST_CASE("idx: MNIST") {
  const std::string folder = tests::shared_path("data/mnist");
  ONEBIT_SKIP_UNLESS(fs::exists(folder + "/t10k-images-idx3-ubyte.gz"), "shared", "no MNIST in " + folder);
  DataConfig config = idx({folder});
  config.holdout = 0.1;
  const auto source = make_data(config);
  CHECK(source->feature_count() == 784);
  CHECK(source->classes() == 10);
  CHECK(source->train_size() == 9000);
  CHECK(source->holdout_size() == 1000);
  config.holdout = 0.9999;  // all but one
  Batch out;
  make_data(config)->holdout(0, 9999, out);
  const std::vector<int> known = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};  // digits of the test set
  std::vector<int> count(10);
  for (const std::int32_t label : out.labels) ++count.at(static_cast<std::size_t>(label));
  int missing = 0;
  for (std::size_t digit = 0; digit < 10; ++digit) missing += std::abs(known[digit] - count[digit]);
  CHECK(missing == 1);
}

}  // namespace
}  // namespace onebit::sim
