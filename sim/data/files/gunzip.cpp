#include "sim/data/files/gunzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>

#include "device/base/error.hpp"
#include "device/base/system.hpp"
#include "device/base/text.hpp"

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
    if (!is_gzip(rest())) packed_.refuse("corrupted gzip: the data is followed by bytes that are not gzip", before);
    inflateReset(&stream_);
  }

  const Bytes& packed_;
  z_stream stream_ = {};
  std::size_t used_ = 0;
  bool at_end_ = false;
};

/// Unpacks until `take` returns false.
void inflate_while(const Bytes& packed, const std::function<bool(std::span<const std::uint8_t>)>& take) {
  std::vector<std::uint8_t> piece(std::size_t{1} << 16);
  Inflater inflater(packed);
  Index count = 0;
  while (!inflater.done()) {
    const Index more = inflater.unpack(piece, count);
    count += more;
    if (!take(std::span(piece).first(static_cast<std::size_t>(more)))) return;
  }
}

void check_limit(const Bytes& packed, Index count, Index limit) {
  if (count <= limit) return;
  packed.refuse("the unpacked data exceed the limit of " + std::to_string(limit) + " bytes", limit);
}

/// Returns the number of bytes that a file unpacks to; if that is more than `enough`, any number above `enough`.
Index unpacked_size(const Bytes& packed, Index limit, Index enough) {
  Index count = 0;
  inflate_while(packed, [&](std::span<const std::uint8_t> piece) {
    count += static_cast<Index>(piece.size());
    check_limit(packed, count, limit);
    return count <= enough;
  });
  return count;
}

}  // namespace

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

void gunzip_pieces(const Bytes& packed, Index limit, const TakePiece& take) {
  Index count = 0;
  inflate_while(packed, [&](std::span<const std::uint8_t> piece) {
    count += static_cast<Index>(piece.size());
    check_limit(packed, count, limit);
    take(piece);
    return true;
  });
}

std::vector<std::uint8_t> gunzip(const Bytes& packed, Index limit, Index enough) {
  const Index size = std::min(enough, unpacked_size(packed, limit, enough));
  if (size > device::available_memory()) {
    packed.refuse("the unpacked data take " + bytes_text(static_cast<double>(size)) + ", more memory than is available",
                  0);
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  Inflater inflater(packed);
  for (Index count = 0; count < size;) {
    count += inflater.unpack(std::span(bytes).subspan(static_cast<std::size_t>(count)), count);
  }
  return bytes;
}

std::vector<std::uint8_t> gunzip_head(const Bytes& packed) {
  std::vector<std::uint8_t> bytes(8192);
  bytes.resize(static_cast<std::size_t>(Inflater(packed).unpack(bytes, 0)));
  return bytes;
}

}  // namespace onebit::sim
