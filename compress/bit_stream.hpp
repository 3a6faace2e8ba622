#pragma once
// Numbers of any width side by side in bytes, least significant bit first.

#include <cstdint>

#include "device/types.hpp"

namespace onebit::compress {

/// Bits that hold every number up to `value`: 0 for 0.
ONEBIT_HOST_DEVICE inline int bit_width(Index value) {
  int width = 0;
  for (; value > 0; value >>= 1) ++width;
  return width;
}

class BitWriter {
 public:
  ONEBIT_HOST_DEVICE explicit BitWriter(std::uint8_t* out) : begin_(out), out_(out) {}

  /// The lowest `bits` bits of a number that has no others, at most 56.
  ONEBIT_HOST_DEVICE void put(std::uint64_t value, int bits) {
    pending_ |= value << held_;
    for (held_ += bits; held_ >= 8; held_ -= 8) {
      *out_++ = static_cast<std::uint8_t>(pending_);
      pending_ >>= 8;
    }
  }
  /// `count` ones and a zero.
  ONEBIT_HOST_DEVICE void put_unary(Index count) {
    for (; count > 0; --count) put(1, 1);
    put(0, 1);
  }
  /// Fills the last byte with zeros. The bytes written.
  ONEBIT_HOST_DEVICE Index finish() {
    if (held_ > 0) put(0, 8 - held_);
    return out_ - begin_;
  }

 private:
  std::uint8_t* begin_;
  std::uint8_t* out_;
  std::uint64_t pending_ = 0;
  int held_ = 0;
};

/// Reads what a BitWriter wrote, and no byte beyond the last one asked for.
class BitReader {
 public:
  ONEBIT_HOST_DEVICE explicit BitReader(const std::uint8_t* in) : in_(in) {}

  ONEBIT_HOST_DEVICE std::uint64_t get(int bits) {
    for (; held_ < bits; held_ += 8) pending_ |= static_cast<std::uint64_t>(*in_++) << held_;
    const std::uint64_t value = pending_ & ((std::uint64_t{1} << bits) - 1);
    pending_ >>= bits;
    held_ -= bits;
    return value;
  }
  ONEBIT_HOST_DEVICE Index get_unary() {
    Index count = 0;
    while (get(1) != 0) ++count;
    return count;
  }

 private:
  const std::uint8_t* in_;
  std::uint64_t pending_ = 0;
  int held_ = 0;
};

/// Writes n codes of `bits` bits each, that of element i being code(i), which is called once: eight of them, which are
/// whole bytes, by one lane.
template <class Code, class Lanes>
ONEBIT_DEVICE void put_codes(std::uint8_t* out, Index n, int bits, const Code& code, const Lanes& lanes) {
  lanes.each(ceil_div(n, 8), [&](Index eight) {
    BitWriter writer(out + eight * bits);
    for (Index i = 8 * eight; i < n && i < 8 * eight + 8; ++i) writer.put(code(i), bits);
    writer.finish();
  });
}

/// Calls use(i, code) with what put_codes wrote.
template <class Use, class Lanes>
ONEBIT_DEVICE void get_codes(const std::uint8_t* in, Index n, int bits, const Use& use, const Lanes& lanes) {
  lanes.each(ceil_div(n, 8), [&](Index eight) {
    BitReader reader(in + eight * bits);
    for (Index i = 8 * eight; i < n && i < 8 * eight + 8; ++i) use(i, reader.get(bits));
  });
}

}  // namespace onebit::compress
