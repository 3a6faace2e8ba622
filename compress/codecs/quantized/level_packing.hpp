#pragma once
// Packs the levels -s .. s of a quantiser into bits. put writes bind(i / run)(i), which it calls once for every i in
// [0, n), and returns the number of bytes written (for some packings, only one lane returns the right number). get
// calls bind(i / run)(i, level).

#include "compress/codecs/bit_stream.hpp"

namespace onebit::compress {

/// Every level is stored as level + s, in the fewest bits that hold 0 .. 2 s.
struct FixedLevels {
  static constexpr bool kVariableSize = false;
  ONEBIT_HOST_DEVICE static Index most_bits(Index n, Index s) { return n * width(s); }
  ONEBIT_HOST_DEVICE static int width(Index s) { return bit_width(2 * s); }

  template <class Bind, class Lanes>
  ONEBIT_DEVICE static Index put(std::uint8_t* out, Index n, Index s, Index run, const Bind& bind, const Lanes& lanes) {
    const auto code_of = [&bind, s](Index r) {
      return [level = bind(r), s](Index i) { return static_cast<std::uint64_t>(level(i) + s); };
    };
    put_codes(out, n, width(s), run, code_of, lanes);
    return ceil_div(most_bits(n, s), 8);
  }

  template <class Bind, class Lanes>
  ONEBIT_DEVICE static void get(const std::uint8_t* in, Index n, Index s, Index run, const Bind& bind,
                                const Lanes& lanes) {
    const auto use_code = [&bind, s](Index r) {
      return [use = bind(r), s](Index i, std::uint64_t code) { use(i, static_cast<Index>(code) - s); };
    };
    get_codes(in, n, width(s), run, use_code, lanes);
  }
};

/// Writes Elias' gamma code of value >= 1: the number of bits below its highest 1 bit in unary, then those bits.
ONEBIT_HOST_DEVICE inline void put_gamma(BitWriter& bits, Index value) {
  const int below = bit_width(value) - 1;
  bits.put_unary(below);
  bits.put(static_cast<std::uint64_t>(value - (Index{1} << below)), below);
}

ONEBIT_HOST_DEVICE inline Index get_gamma(BitReader& bits) {
  const auto below = static_cast<int>(bits.get_unary());
  return (Index{1} << below) + static_cast<Index>(bits.get(below));
}

/// Stores every nonzero level as the gamma code of its distance from the previous one, its sign bit, and the gamma code
/// of its size. The last code is the gamma code of the distance from the last level to the end. This takes at most 1 +
/// 1 + gamma(s) bits per element, plus one bit at the end. One lane writes and reads all levels, because the start of a
/// level's bits depends on all levels before it.
struct EliasLevels {
  static constexpr bool kVariableSize = true;
  ONEBIT_HOST_DEVICE static Index most_bits(Index n, Index s) { return n * (1 + 2 * bit_width(s)) + 1; }

  template <class Bind, class Lanes>
  ONEBIT_DEVICE static Index put(std::uint8_t* out, Index n, Index, Index run, const Bind& bind, const Lanes& lanes) {
    Index written = 0;
    lanes.once([&] {
      Writer writer(out);
      for (Index i = 0; i < n; ++i) writer.put(bind(device::run_of(i, run))(i));
      written = writer.finish();
    });
    return written;
  }

  template <class Bind, class Lanes>
  ONEBIT_DEVICE static void get(const std::uint8_t* in, Index n, Index, Index run, const Bind& bind,
                                const Lanes& lanes) {
    lanes.once([&] {
      Reader reader(in);
      for (Index i = 0; i < n; ++i) bind(device::run_of(i, run))(i, reader.get());
    });
  }

 private:
  class Writer {
   public:
    ONEBIT_HOST_DEVICE explicit Writer(std::uint8_t* out) : bits_(out) {}
    ONEBIT_HOST_DEVICE void put(Index level) {
      ++distance_;
      if (level == 0) return;
      put_gamma(bits_, distance_);
      bits_.put(level < 0 ? 1 : 0, 1);
      put_gamma(bits_, level < 0 ? -level : level);
      distance_ = 0;
    }
    /// Returns the number of bytes written.
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
    ONEBIT_HOST_DEVICE explicit Reader(const std::uint8_t* in) : bits_(in), distance_(get_gamma(bits_)) {}
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
