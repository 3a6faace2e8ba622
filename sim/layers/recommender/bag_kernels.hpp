#pragma once
// Kernels of embedding bags.

#include <cmath>

#include "device/base/types.hpp"
#include "device/launch/lanes.hpp"
#include "device/math/philox.hpp"

namespace onebit::sim {

/// Where a table's rows and bags are stored.
struct TablePlace {
  Index first_row = 0;   ///< number of its first row among the rows of all tables
  Index rows = 0;        ///< rows of the table
  Index first_slot = 0;  ///< number of its first slot among the slots of an example
  Index slots = 0;       ///< slots of its bags
};

/// Returns the range of part `part` of `count` items; the first (count mod parts) parts have one more item.
ONEBIT_HOST_DEVICE constexpr Range share_of(Index count, Index parts, Index part) {
  const Index each = count / parts, more = count % parts;
  return {part * each + (part < more ? part : more), each + (part < more ? 1 : 0)};
}

/// Draws a table's elements from the uniform distribution on (-1/sqrt(n), 1/sqrt(n)), n = rows of the table.
struct DrawTableKernel {
  device::RandomKey key;
  Index table;
  float bound;
  float* elements;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    elements[i] = (2.0f * device::uniform(key, {.step = table + 1, .element = i}) - 1.0f) * bound;
  }
};

/// Draws a table's elements from N(0, deviation^2), except for the first columns, which are 0.
struct DrawNormalTableKernel {
  device::RandomKey key;
  Index table, width, zeros;
  float deviation;
  float* elements;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    elements[i] = i % width < zeros ? 0.0f : deviation * device::normal(key, {.step = table + 1, .element = i});
  }
};

/// Returns the part of a table of n rows that contains a row. Part p starts at row ceil(n p / parts).
ONEBIT_HOST_DEVICE inline Index part_of(Index row, Index n, Index parts) {
  return row * parts / n;
}

/// Computes output[example][part][table] = sum of the bag's rows that the part contains.
struct PoolKernel {
  Index tables, parts, width, slots;
  const TablePlace* places;
  const std::int32_t* bags;
  const float* weights;
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const { columns<1>(row, column); }

  template <Index lines>
  ONEBIT_HOST_DEVICE void columns(Index row, Index column) const {
    const TablePlace& place = places[row % tables];
    const Index part = row / tables % parts, example = row / tables / parts;
    const std::int32_t* bag = bags + example * slots + place.first_slot;
    double sums[static_cast<std::size_t>(lines)] = {};
    for (Index s = 0; s < place.slots; ++s) {
      const Index id = bag[s];
      if (id < 0 || (parts > 1 && part_of(id, place.rows, parts) != part)) continue;
      const float* from = weights + (place.first_row + id) * width + column;
      for (Index c = 0; c < lines; ++c) sums[c] += static_cast<double>(from[c]);
    }
    for (Index c = 0; c < lines; ++c) output[row * width + column + c] = static_cast<float>(sums[c]);
  }
};

/// A row of a table that a step has touched, and the examples whose bags contain it.
struct TouchedRow {
  Index row = 0;     ///< number among the rows of all tables
  Index column = 0;  ///< its first column in the pooled vector
  Index first = 0;   ///< its first entry in the list of examples
  Index count = 0;   ///< its number of entries, one for every time that a bag contains the row
};

/// Computes gradient[touched row] = factor * sum of its examples' deltas, in the order of the entries.
struct RowGradientKernel {
  Index width, pooled;  ///< columns of a row; columns of all tables together
  double factor;
  const TouchedRow* rows;
  const std::int32_t* examples;
  const float* deltas;
  float* gradients;
  ONEBIT_HOST_DEVICE void operator()(Index item, Index column) const { columns<1>(item, column); }

  template <Index lines>
  ONEBIT_HOST_DEVICE void columns(Index item, Index column) const {
    const TouchedRow& row = rows[item];
    double sums[static_cast<std::size_t>(lines)] = {};
    for (Index k = 0; k < row.count; ++k) {
      const float* from = deltas + examples[row.first + k] * pooled + row.column + column;
      for (Index c = 0; c < lines; ++c) sums[c] += static_cast<double>(from[c]);
    }
    for (Index c = 0; c < lines; ++c) gradients[item * width + column + c] = static_cast<float>(factor * sums[c]);
  }
};

/// SGD on touched rows: W_j -= lr * g_j.
struct RowSgdKernel {
  Index width;
  float lr;
  const TouchedRow* rows;
  const float* gradients;
  float* weights;
  ONEBIT_HOST_DEVICE void operator()(Index item, Index column) const {
    weights[rows[item].row * width + column] -= lr * gradients[item * width + column];
  }
};

/// Row-wise Adagrad on touched rows: s_j += mean over columns of g_j^2, W_j -= lr * g_j / (sqrt(s_j) + eps).
struct RowAdagradKernel {
  Index width;
  float lr, eps;
  const TouchedRow* rows;
  const float* gradients;
  float* squares;  ///< s, one number for every row of every table
  float* weights;
  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index item, const Lanes& lanes) const {
    const Index row = rows[item].row;
    const float* g = gradients + item * width;
    const double sum = lanes.sum(width, [g](Index c) { return static_cast<double>(g[c]) * static_cast<double>(g[c]); });
    const auto s = static_cast<float>(static_cast<double>(squares[row]) + sum / static_cast<double>(width));
    const float rate = lr / (std::sqrt(s) + eps);
    lanes.barrier();
    lanes.once([&] { squares[row] = s; });
    float* w = weights + row * width;
    lanes.each(width, [=](Index c) { w[c] -= rate * g[c]; });
  }
};

/// Copies row numbers.
struct CopyBagsKernel {
  const std::int32_t* input;
  std::int32_t* output;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { output[i] = input[i]; }
};

/// Computes output[example] = the sum of its parts.
struct SumPartsKernel {
  Index parts, columns;
  const float* input;
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index example, Index column) const {
    const float* from = input + example * parts * columns + column;
    double sum = 0;
    for (Index part = 0; part < parts; ++part) sum += static_cast<double>(from[part * columns]);
    output[example * columns + column] = static_cast<float>(sum);
  }
};

/// Copies the gradient of a sum to each of its parts.
struct SpreadPartsKernel {
  Index parts, columns;
  const float* sum_delta;
  float* delta;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const {
    delta[row * columns + column] = sum_delta[row / parts * columns + column];
  }
};

}  // namespace onebit::sim
