#pragma once
// Count sketches (Charikar et al. 2002): in each of a few rows, every element is added with a random sign to one random
// column. The estimate of an element is the median, over the rows, of its sign times the number in its column.

#include "compress/codecs/segment_kernels.hpp"
#include "compress/codecs/sparse/selection.hpp"
#include "device/math/philox.hpp"

namespace onebit::compress {

struct SketchShape {
  std::uint32_t seed = 1;
  Index rows = 5;  ///< at most kMost
  Index columns = 1;
  static constexpr Index kMost = 31;
  static constexpr Index kGroup = 4;  ///< rows whose places are drawn together

  /// The column of an element in a row, and its sign.
  struct Place {
    Index column;
    float sign;
  };
  /// Calls visit(row, place of element i) for the rows of a group. The upper bits of a random word give the column, its
  /// lowest bit the sign.
  template <class Visit>
  ONEBIT_HOST_DEVICE void each_place(Index group, Index i, const Visit& visit) const {
    const auto words = device::philox({seed, device::Purpose::sketch}, {0, group, i});
    for (Index k = 0; k < kGroup && group * kGroup + k < rows; ++k) {
      const std::uint32_t word = words[static_cast<std::size_t>(k)];
      const std::uint64_t column = (std::uint64_t{word} * static_cast<std::uint64_t>(columns)) >> 32;
      visit(group * kGroup + k, Place{static_cast<Index>(column), (word & 1u) != 0 ? 1.0f : -1.0f});
    }
  }
  ONEBIT_HOST_DEVICE Index groups() const { return ceil_div(rows, kGroup); }

  /// Estimate of element i: the median over the rows of a sketch, which table(row, column) reads.
  template <class Table>
  ONEBIT_HOST_DEVICE float estimate(const Table& table, Index i) const {
    float sorted[kMost];
    for (Index group = 0; group < groups(); ++group) {
      each_place(group, i, [&sorted, &table](Index row, const Place& p) {
        const float value = p.sign * table(row, p.column);
        Index at = row;
        for (; at > 0 && sorted[at - 1] > value; --at) sorted[at] = sorted[at - 1];
        sorted[at] = value;
      });
    }
    return rows % 2 != 0 ? sorted[rows / 2] : 0.5f * (sorted[rows / 2 - 1] + sorted[rows / 2]);
  }
};

/// Computes a group of rows in the sketches of several vectors; the vectors start `stride` elements apart. Item: a
/// group of rows.
struct SketchKernel {
  SketchShape shape;
  const float* vectors;
  Index stride, elements, count;
  float* sketches;  ///< [count][rows][columns]

  ONEBIT_HOST_DEVICE void operator()(Index group) const {
    const Index size = shape.rows * shape.columns;
    const Index first = group * SketchShape::kGroup, left = shape.rows - first;
    const Index own = (left < SketchShape::kGroup ? left : SketchShape::kGroup) * shape.columns;
    for (Index v = 0; v < count; ++v) {
      for (Index c = 0; c < own; ++c) sketches[v * size + first * shape.columns + c] = 0;
    }
    for (Index i = 0; i < elements; ++i) {
      shape.each_place(group, i, [this, i, size](Index row, const SketchShape::Place& p) {
        float* cell = sketches + row * shape.columns + p.column;
        for (Index v = 0; v < count; ++v) cell[v * size] += p.sign * vectors[v * stride + i];
      });
    }
  }
};

/// A sketch in memory.
struct FloatTable {
  const float* data;
  Index columns;
  ONEBIT_HOST_DEVICE float operator()(Index row, Index column) const { return data[row * columns + column]; }
};

struct EstimateKernel {
  SketchShape shape;
  const float* sketch;
  float* estimates;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    estimates[i] = shape.estimate(FloatTable{sketch, shape.columns}, i);
  }
};

/// Writes the indices of the k largest of n values, in ascending order. The launch has a single item.
struct LargestIndicesKernel {
  const float* values;
  Index n, k;
  Index* indices;
  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index, const Lanes& lanes) const {
    const Cut cut = largest_of(values, n, k, lanes);
    lanes.select(
        n, [&, this](Index i) { return cut.sends(i, values[i]); },
        [this](Index rank, const Index* found, Index count) {
          for (Index j = 0; j < count; ++j) indices[rank + j] = found[j];
        });
  }
};

/// Computes rows[row][t] = vectors[row][indices[t]].
struct PickKernel {
  const float* vectors;
  Index stride;
  const Index* indices;
  Index count;
  float* rows;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index t) const {
    rows[row * count + t] = vectors[row * stride + indices[t]];
  }
};

/// Sets vectors[row][indices[picks[t]]] = 0.
struct ZeroPickedKernel {
  float* vectors;
  Index stride;
  const Index* indices;
  const Index* picks;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index t) const { vectors[row * stride + indices[picks[t]]] = 0; }
};

/// Sets result[places[indices[picks[t]]]] = values[picks[t]].
struct PlaceKernel {
  const Index* places;  ///< parameter of every element
  const Index* indices;
  const Index* picks;
  const float* values;
  float* result;
  ONEBIT_HOST_DEVICE void operator()(Index t) const { result[places[indices[picks[t]]]] = values[picks[t]]; }
};

}  // namespace onebit::compress
