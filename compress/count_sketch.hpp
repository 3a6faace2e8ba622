#pragma once

#include "compress/sent_count.hpp"
#include "compress/sketch_kernels.hpp"

namespace onebit::compress {

/// A count sketch as the code of one vector: rows x columns numbers (float32); decoded are the k largest estimates, the
/// other elements are 0. Estimates carry the noise of collisions, so no delta is declared. In an all-reduce sketches
/// are summed instead (SketchMean).
struct CountSketch {
  SentCount count;
  Index rows;
  Index columns;  ///< 0: 10 k numbers in all rows together
  std::uint32_t seed = 1;

  ONEBIT_HOST_DEVICE Index chosen(Index n) const { return count.of(n); }
  ONEBIT_HOST_DEVICE SketchShape shape(Index n) const {
    return {seed, rows, columns > 0 ? columns : ceil_div(10 * chosen(n), rows)};
  }
  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return n == 0 ? 0 : 4 * rows * shape(n).columns; }

  ONEBIT_HOST_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out) const {
    const SketchShape s = shape(in.n);
    for (Index i = 0; i < bytes(in.n); i += 4) store(out + i, 0.0f);
    for (Index row = 0; row < rows; ++row) {
      for (Index i = 0; i < in.n; ++i) {
        const SketchShape::Place p = s.place(row, i);
        std::uint8_t* cell = out + 4 * (row * s.columns + p.column);
        store(cell, load<float>(cell) + p.sign * in.y[i]);
      }
    }
    decode(out, in.n, [&in](Index i, float value) { in.y[i] -= value; });
    return bytes(in.n);
  }

  template <class Use>
  ONEBIT_HOST_DEVICE void decode(const std::uint8_t* in, Index n, Use use) const {
    if (n == 0) return;
    const Estimates at{shape(n), in};
    const Cut cut = largest(at, n, chosen(n));
    Index ties = 0;
    for (Index i = 0; i < n; ++i) {
      const float value = at(i);
      const bool tie = magnitude(value) == cut.magnitude && ties < cut.ties;
      if (tie) ++ties;
      if (magnitude(value) > cut.magnitude || tie) use(i, value);
    }
  }

 private:
  struct ByteTable {
    const std::uint8_t* data;
    Index columns;
    ONEBIT_HOST_DEVICE float operator()(Index row, Index column) const {
      return load<float>(data + 4 * (row * columns + column));
    }
  };
  struct Estimates {
    SketchShape shape;
    const std::uint8_t* data;
    ONEBIT_HOST_DEVICE float operator()(Index i) const { return shape.estimate(ByteTable{data, shape.columns}, i); }
  };
};

}  // namespace onebit::compress
