#pragma once
// Numbers of any width, packed contiguously into bytes, least significant bit first.

#include <cstdint>

#include "device/launch/lanes.hpp"

namespace onebit::compress {

/// Smallest number of bits that can hold any number from 0 to `value`; 0 if `value` is 0.
ONEBIT_HOST_DEVICE inline int bit_width(Index value) {
  int width = 0;
  for (; value > 0; value >>= 1) ++width;
  return width;
}

class BitWriter {
 public:
  ONEBIT_HOST_DEVICE explicit BitWriter(std::uint8_t* out) : begin_(out), out_(out) {}

  /// Writes a number in `bits` bits (at most 56). The number's higher bits must be 0.
  ONEBIT_HOST_DEVICE void put(std::uint64_t value, int bits) {
    pending_ |= value << held_;
    for (held_ += bits; held_ >= 8; held_ -= 8) {
      *out_++ = static_cast<std::uint8_t>(pending_);
      pending_ >>= 8;
    }
  }
  /// Writes `count` ones and a zero.
  ONEBIT_HOST_DEVICE void put_unary(Index count) {
    for (; count > 0; --count) put(1, 1);
    put(0, 1);
  }
  /// Pads the last byte with zeros. Returns the number of bytes written.
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

/// Reads what a BitWriter wrote. It reads no byte beyond the last one that it needs.
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

/// A compile-time number, for loops that the compiler unrolls.
template <int value>
struct Constant {
  ONEBIT_HOST_DEVICE constexpr operator int() const { return value; }
};

/// Writes up to eight codes of at most 16 bits each; eight codes fill whole bytes. Calls code(i) once for every i below
/// `count`.
template <class Count, class Bits, class Code>
ONEBIT_HOST_DEVICE inline void put_eight(std::uint8_t* out, Count count, Bits bits, const Code& code) {
  std::uint64_t codes[8];
#pragma omp simd
  for (Index i = 0; i < 8; ++i) codes[i] = i < count ? static_cast<std::uint64_t>(code(i)) : 0;
  if (bits > 8) {
    BitWriter writer(out);
    for (Index i = 0; i < 8; ++i) {
      if (i < count) writer.put(codes[i], bits);
    }
    writer.finish();
    return;
  }
  std::uint64_t word = 0;
  for (Index i = 0; i < 8; ++i) word |= codes[i] << (i * bits);
  for (Index byte = 0; 8 * byte < count * bits; ++byte) out[byte] = static_cast<std::uint8_t>(word >> (8 * byte));
}

/// Calls use(i, code) for every code that put_eight wrote.
template <class Count, class Bits, class Use>
ONEBIT_HOST_DEVICE inline void get_eight(const std::uint8_t* in, Count count, Bits bits, const Use& use) {
  if (bits > 8) {
    BitReader reader(in);
    for (Index i = 0; i < count; ++i) use(i, reader.get(bits));
    return;
  }
  std::uint64_t word = 0;
  for (Index byte = 0; 8 * byte < count * bits; ++byte) word |= static_cast<std::uint64_t>(in[byte]) << (8 * byte);
#pragma omp simd
  for (Index i = 0; i < count; ++i) use(i, (word >> (i * bits)) & ((std::uint64_t{1} << bits) - 1));
}

/// Calls visit(first, count) for [0, n) in groups of eight; the last one may be smaller.
template <class Visit, class Lanes>
ONEBIT_DEVICE void each_eight(Index n, const Visit& visit, const Lanes& lanes) {
  lanes.each(n / 8, [&visit](Index eight) { visit(8 * eight, Constant<8>{}); });
  if (n % 8 != 0) lanes.once([&visit, n] { visit(n - n % 8, n % 8); });
}

/// Writes n codes of `bits` bits each, at most 16. The code of element i is bind(i / run)(i), which is called once.
template <class Bits, class Bind, class Lanes>
ONEBIT_DEVICE void put_codes(std::uint8_t* out, Index n, Bits bits, Index run, const Bind& bind, const Lanes& lanes) {
  if (bits == 8) {
    lanes.each_in_runs(n, run, [&bind, out](Index r) {
      return [code = bind(r), out](Index i) { out[i] = static_cast<std::uint8_t>(code(i)); };
    });
    return;
  }
  const auto put = [&](Index first, auto count) {
    std::uint8_t* to = out + first / 8 * bits;
    const Index r = device::run_of(first, run);
    if (first + count <= (r + 1) * run) {
      put_eight(to, count, bits, [code = bind(r), first](Index i) { return code(first + i); });
    } else {
      put_eight(to, count, bits, [&](Index i) { return bind(device::run_of(first + i, run))(first + i); });
    }
  };
  each_eight(n, put, lanes);
}

/// Calls bind(i / run)(i, code) for every code that put_codes wrote.
template <class Bits, class Bind, class Lanes>
ONEBIT_DEVICE void get_codes(const std::uint8_t* in, Index n, Bits bits, Index run, const Bind& bind,
                             const Lanes& lanes) {
  if (bits == 8) {
    lanes.each_in_runs(n, run,
                       [&bind, in](Index r) { return [use = bind(r), in](Index i) { use(i, std::uint64_t{in[i]}); }; });
    return;
  }
  const auto get = [&](Index first, auto count) {
    const std::uint8_t* from = in + first / 8 * bits;
    const Index r = device::run_of(first, run);
    if (first + count <= (r + 1) * run) {
      get_eight(from, count, bits, [use = bind(r), first](Index i, std::uint64_t code) { use(first + i, code); });
    } else {
      get_eight(from, count, bits,
                [&](Index i, std::uint64_t code) { bind(device::run_of(first + i, run))(first + i, code); });
    }
  };
  each_eight(n, get, lanes);
}

/// Overloads for codes that need no runs: put_codes writes code(i), and get_codes calls use(i, code).
template <class Bits, class Code, class Lanes>
ONEBIT_DEVICE void put_codes(std::uint8_t* out, Index n, Bits bits, const Code& code, const Lanes& lanes) {
  put_codes(
      out, n, bits, n, [&code](Index) { return code; }, lanes);
}
template <class Bits, class Use, class Lanes>
ONEBIT_DEVICE void get_codes(const std::uint8_t* in, Index n, Bits bits, const Use& use, const Lanes& lanes) {
  get_codes(
      in, n, bits, n, [&use](Index) { return use; }, lanes);
}

}  // namespace onebit::compress
