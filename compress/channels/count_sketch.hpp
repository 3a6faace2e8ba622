#pragma once

#include "compress/channels/sketch_kernels.hpp"
#include "compress/codecs/sparse/sent_count.hpp"

namespace onebit::compress {

/// Encodes one vector as a count sketch of rows x columns numbers (float32). Decoding gives the k largest estimates and
/// sets the other elements to 0. Estimates carry the noise of collisions, so no delta is declared. In an all-reduce,
/// sketches are summed instead (SketchMean).
struct CountSketch {
  SentCount count;
  Index rows;
  Index columns;  ///< 0: enough for 10 * k numbers in all rows together, rounded up
  std::uint32_t seed = 1;

  ONEBIT_HOST_DEVICE Index chosen(Index n) const { return count.of(n); }
  ONEBIT_HOST_DEVICE SketchShape shape(Index n) const {
    return {seed, rows, columns > 0 ? columns : ceil_div(10 * chosen(n), rows)};
  }
  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return n == 0 ? 0 : 4 * rows * shape(n).columns; }

  /// Returns the costs. Each element is added at one scattered place in every row of the sketch, and these places are
  /// read again for its estimate. Candidates are then selected by their estimates.
  netmodel::CodecPasses passes() const {
    const auto lookups = static_cast<double>(rows) * netmodel::kScatteredBytes / 2;
    const double select = lookups + 4 + 4 * kSelectionPasses;
    return {.encode = 12 + 2 * lookups, .serve = 8 + 2 * lookups, .decode = select + 12};
  }

  /// Encodes a vector. The last bits of a sum depend on the order of its terms, so one lane handles a whole group of
  /// rows.
  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    const SketchShape s = shape(in.n);
    lanes.each(bytes(in.n) / 4, [out](Index i) { store(out + 4 * i, 0.0f); });
    lanes.barrier();
    lanes.each(s.groups(), [&](Index group) {
      for (Index i = 0; i < in.n; ++i) {
        s.each_place(group, i, [&](Index row, const SketchShape::Place& p) {
          std::uint8_t* cell = out + 4 * (row * s.columns + p.column);
          store(cell, load<float>(cell) + p.sign * in.y[i]);
        });
      }
    });
    lanes.barrier();
    decode(
        out, in.n, [&in](Index i, float value) { in.y[i] -= value; }, lanes);
    return bytes(in.n);
  }

  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    if (n == 0) return;
    const Estimates at{shape(n), in};
    const Cut cut = largest(at, n, chosen(n), lanes);
    lanes.each(n, [&](Index i) {
      const float value = at(i);
      if (cut.sends(i, value)) use(i, value);
    });
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
