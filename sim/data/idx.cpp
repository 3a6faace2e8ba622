#include "sim/data/idx.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "device/error.hpp"
#include "sim/data/dense.hpp"
#include "sim/data/hash.hpp"
#include "sim/data/idx_files.hpp"

namespace onebit::sim {
namespace {

/// Reads a plain or gzipped file to its end; every failure names the file and the offset after unpacking.
class Unpacker {
 public:
  explicit Unpacker(std::string path) : path_(std::move(path)) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path_, ignored)) {  // a pipe would block, a folder reads as an I/O error
      throw ConfigError("no such file", path_, "give images,labels by --data.path");
    }
    file_.reset(gzopen(path_.c_str(), "rb"));
    if (!file_) throw ConfigError("cannot open the file", path_, "check its permissions");
  }

  [[noreturn]] void fail(const std::string& reason, Index offset, const std::string& hint = "") const {
    throw ConfigError(reason, path_ + ", offset " + std::to_string(offset), hint);
  }

  std::vector<std::uint8_t> take() { return std::move(bytes_); }

  /// Reads on until `size` bytes are there. Takes memory as data arrives, at most about twice of what is there.
  void read_to(Index size) {
    while (count() < size) {
      const Index start = count();
      const Index wanted = std::min<Index>(size - start, 1 << 20);
      bytes_.resize(static_cast<std::size_t>(start + wanted));
      const Index got = read(bytes_.data() + start, wanted);
      bytes_.resize(static_cast<std::size_t>(start + got));
      if (got == 0) fail("truncated: " + std::to_string(start) + " of " + std::to_string(size) + " bytes", start);
    }
  }

  /// Fails unless all has been read. zlib compares the checksum only when it is asked for what follows the last byte.
  void expect_end() {
    std::uint8_t extra = 0;
    if (read(&extra, 1) != 0) fail("trailing bytes: the header promises " + std::to_string(count()), count());
  }

  std::uint32_t word(Index offset) const {
    std::uint32_t value = 0;
    for (Index i = 0; i < 4; ++i) value = (value << 8) | bytes_[static_cast<std::size_t>(offset + i)];
    return value;
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose_r(file); }
  };

  Index count() const { return static_cast<Index>(bytes_.size()); }

  Index read(std::uint8_t* to, Index wanted) {
    const int got = gzread(file_.get(), to, static_cast<unsigned>(wanted));
    if (got > 0) return got;
    int status = Z_OK;
    std::string reason = gzerror(file_.get(), &status);
    if (reason.starts_with(path_ + ": ")) reason.erase(0, path_.size() + 2);
    if (status == Z_ERRNO) throw IoError("cannot read: " + reason, path_);
    if (status == Z_MEM_ERROR) throw IoError("out of memory", path_);
    if (got < 0 || status == Z_BUF_ERROR) fail("corrupted gzip: " + reason, count());
    return 0;
  }

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::vector<std::uint8_t> bytes_;
};

std::string hex(std::uint32_t word) {
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(word >> shift) & 15U];
  return text;
}

struct IdxFile {
  std::vector<Index> sizes;
  Index header = 0;                 // bytes before the values
  std::vector<std::uint8_t> bytes;  // header and values
};

IdxFile read_idx(const std::string& path, Index dimensions) {
  Unpacker file(path);
  IdxFile idx{.sizes = {}, .header = 4 + 4 * dimensions, .bytes = {}};
  file.read_to(4);
  const std::uint32_t magic = 0x800U + static_cast<std::uint32_t>(dimensions);  // 0x08: unsigned bytes
  if (file.word(0) != magic) {
    file.fail("bad magic " + hex(file.word(0)) + ", wanted " + hex(magic), 0, "--data.path is images,labels");
  }
  file.read_to(idx.header);
  for (Index offset = 4; offset < idx.header; offset += 4) {
    idx.sizes.push_back(file.word(offset));
    if (idx.sizes.back() == 0) file.fail("dimension " + std::to_string(offset / 4 - 1) + " is zero", offset);
  }
  file.read_to(idx.header + dense_volume(idx.sizes, path + ", offset 4"));
  file.expect_end();
  idx.bytes = file.take();
  return idx;
}

std::string describe(const std::string& path, const IdxFile& idx) {
  std::string text = path + ": " + std::to_string(idx.bytes.size()) + " bytes unpacked,";
  for (std::size_t i = 0; i < idx.sizes.size(); ++i) text += (i ? " x " : " ") + std::to_string(idx.sizes[i]);
  return text;
}

}  // namespace

std::unique_ptr<DataSource> make_idx(const DataConfig& config) {
  const IdxPair pair = find_idx_pair(config.paths);
  const IdxFile images = read_idx(pair.images, 3);
  const IdxFile labels = read_idx(pair.labels, 1);
  if (images.sizes[0] != labels.sizes[0]) {
    throw ConfigError(std::to_string(images.sizes[0]) + " images but " + std::to_string(labels.sizes[0]) + " labels",
                      pair.images + ", " + pair.labels, "the two files belong to different sets");
  }
  DenseExamples examples;
  Fnv1a hash;
  hash.add(images.bytes.data(), images.bytes.size());
  hash.add(labels.bytes.data(), labels.bytes.size());
  examples.labels.assign(labels.bytes.begin() + labels.header, labels.bytes.end());
  examples.features.resize(images.bytes.size() - static_cast<std::size_t>(images.header));
  std::transform(images.bytes.begin() + images.header, images.bytes.end(), examples.features.begin(),
                 [](std::uint8_t pixel) { return static_cast<float>(pixel) / 255.0F; });
  examples.facts = {.name = "idx",
                    .features = images.sizes[1] * images.sizes[2],
                    .image = {1, images.sizes[1], images.sizes[2]},
                    .classes = 1 + *std::max_element(examples.labels.begin(), examples.labels.end()),
                    .hash = hash.hex(),
                    .provenance = {describe(pair.images, images), describe(pair.labels, labels)}};
  if (!pair.note.empty()) examples.facts.provenance.push_back(pair.note);
  return make_dense(std::move(examples), config);
}

}  // namespace onebit::sim
