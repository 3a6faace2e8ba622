#pragma once
// Levels -s .. s of a quantiser as bits: a writer takes them one after the other, a reader gives them back.

#include "compress/bit_stream.hpp"

namespace onebit::compress {

/// Every level + s in the fewest bits that hold 0 .. 2 s.
struct FixedLevels {
  static constexpr bool kVariableSize = false;
  ONEBIT_HOST_DEVICE static Index most_bits(Index n, Index s) { return n * width(s); }
  ONEBIT_HOST_DEVICE static int width(Index s) { return bit_width(2 * s); }

  class Writer {
   public:
    ONEBIT_HOST_DEVICE Writer(std::uint8_t* out, Index s) : bits_(out), s_(s), width_(width(s)) {}
    ONEBIT_HOST_DEVICE void put(Index level) { bits_.put(static_cast<std::uint64_t>(level + s_), width_); }
    /// The bytes written.
    ONEBIT_HOST_DEVICE Index finish() { return bits_.finish(); }

   private:
    BitWriter bits_;
    Index s_;
    int width_;
  };

  class Reader {
   public:
    ONEBIT_HOST_DEVICE Reader(const std::uint8_t* in, Index s) : bits_(in), s_(s), width_(width(s)) {}
    ONEBIT_HOST_DEVICE Index get() { return static_cast<Index>(bits_.get(width_)) - s_; }

   private:
    BitReader bits_;
    Index s_;
    int width_;
  };
};

/// Elias' gamma code of value >= 1: the number of bits below its highest one in unary, then those bits.
ONEBIT_HOST_DEVICE inline void put_gamma(BitWriter& bits, Index value) {
  const int below = bit_width(value) - 1;
  bits.put_unary(below);
  bits.put(static_cast<std::uint64_t>(value - (Index{1} << below)), below);
}

ONEBIT_HOST_DEVICE inline Index get_gamma(BitReader& bits) {
  const auto below = static_cast<int>(bits.get_unary());
  return (Index{1} << below) + static_cast<Index>(bits.get(below));
}

/// Gamma code of the distance to the next level that is not 0, its sign bit, gamma code of its size, and so on; after
/// the last one the distance to the end. At most 1 + 1 + gamma(s) bits an element, and one.
struct EliasLevels {
  static constexpr bool kVariableSize = true;
  ONEBIT_HOST_DEVICE static Index most_bits(Index n, Index s) { return n * (1 + 2 * bit_width(s)) + 1; }

  class Writer {
   public:
    ONEBIT_HOST_DEVICE Writer(std::uint8_t* out, Index) : bits_(out) {}
    ONEBIT_HOST_DEVICE void put(Index level) {
      ++distance_;
      if (level == 0) return;
      put_gamma(bits_, distance_);
      bits_.put(level < 0 ? 1 : 0, 1);
      put_gamma(bits_, level < 0 ? -level : level);
      distance_ = 0;
    }
    /// The bytes written.
    ONEBIT_HOST_DEVICE Index finish() {
      put_gamma(bits_, distance_ + 1);
      return bits_.finish();
    }

   private:
    BitWriter bits_;
    Index distance_ = 0;
  };

  class Reader {
   public:
    ONEBIT_HOST_DEVICE Reader(const std::uint8_t* in, Index) : bits_(in), distance_(get_gamma(bits_)) {}
    ONEBIT_HOST_DEVICE Index get() {
      if (--distance_ > 0) return 0;
      const bool negative = bits_.get(1) != 0;
      const Index size = get_gamma(bits_);
      distance_ = get_gamma(bits_);
      return negative ? -size : size;
    }

   private:
    BitReader bits_;
    Index distance_;
  };
};

}  // namespace onebit::compress
