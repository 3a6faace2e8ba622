#include "sim/data/files/gunzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>

#include "device/base/error.hpp"

namespace onebit::sim {
namespace {

/// zlib's state for gzip members.
class Inflater {
 public:
  explicit Inflater(const Bytes& packed) : packed_(packed) {
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool done() const { return at_end_ && rest().empty(); }

  /// Unpacks into `target`, which must not be empty, as far as possible. Returns the number of bytes written. before:
  /// bytes unpacked so far.
  Index unpack(std::span<std::uint8_t> target, Index before) {
    if (at_end_) next_member(before);
    const std::span<const std::uint8_t> input = rest().first(std::min(rest().size(), part));
    const std::size_t room = std::min(target.size(), part);
    stream_.next_in = const_cast<std::uint8_t*>(input.data());
    stream_.avail_in = static_cast<unsigned>(input.size());
    stream_.next_out = target.data();
    stream_.avail_out = static_cast<unsigned>(room);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    used_ += input.size() - stream_.avail_in;
    const auto written = static_cast<Index>(room - stream_.avail_out);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END) {
      const char* reason = status == Z_BUF_ERROR ? "unexpected end of file" : stream_.msg;
      packed_.refuse(std::string("corrupted gzip: ") + (reason ? reason : "invalid data"), before + written);
    }
    at_end_ = status == Z_STREAM_END;
    return written;
  }

 private:
  static constexpr std::size_t part = std::size_t{1} << 30;  // zlib has counters of 32 bits

  std::span<const std::uint8_t> rest() const { return packed_.view().subspan(used_); }

  void next_member(Index before) {
    if (!is_gzip(rest())) packed_.refuse("corrupted gzip: bytes follow that are not gzip", before);
    inflateReset(&stream_);
  }

  const Bytes& packed_;
  z_stream stream_ = {};
  std::size_t used_ = 0;
  bool at_end_ = false;
};

}  // namespace

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

std::vector<std::uint8_t> gunzip(const Bytes& packed, Index limit) {
  std::vector<std::uint8_t> bytes(std::min<std::size_t>(packed.view().size() * 4, 1 << 20) + 64);
  Inflater inflater(packed);
  Index count = 0;
  while (!inflater.done()) {
    if (count == static_cast<Index>(bytes.size())) bytes.resize(bytes.size() * 2);
    count += inflater.unpack(std::span(bytes).subspan(static_cast<std::size_t>(count)), count);
    if (count > limit)
      packed.refuse("the unpacked data exceed the limit of " + std::to_string(limit) + " bytes", limit);
  }
  bytes.resize(static_cast<std::size_t>(count));
  bytes.shrink_to_fit();
  return bytes;
}

std::vector<std::uint8_t> gunzip_head(const Bytes& packed) {
  std::vector<std::uint8_t> bytes(8192);
  bytes.resize(static_cast<std::size_t>(Inflater(packed).unpack(bytes, 0)));
  return bytes;
}

}  // namespace onebit::sim
