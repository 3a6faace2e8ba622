#pragma once
// The maths of PowerSGD apart from matrix products.

#include <cmath>

#include "compress/codecs/bytes.hpp"

namespace onebit::compress {

/// A row-major matrix of floats in memory.
struct FloatMatrix {
  float* data;
  Index columns;
  ONEBIT_HOST_DEVICE double get(Index i, Index c) const { return static_cast<double>(data[i * columns + c]); }
  ONEBIT_HOST_DEVICE void set(Index i, Index c, double value) const {
    data[i * columns + c] = static_cast<float>(value);
  }
};

/// A row-major matrix of floats at any address, aligned or not.
struct ByteMatrix {
  std::uint8_t* data;
  Index columns;
  ONEBIT_HOST_DEVICE double get(Index i, Index c) const {
    return static_cast<double>(load<float>(data + 4 * (i * columns + c)));
  }
  ONEBIT_HOST_DEVICE void set(Index i, Index c, double value) const {
    store(data + 4 * (i * columns + c), static_cast<float>(value));
  }
};

template <class Matrix, class Lanes>
ONEBIT_DEVICE double column_product(const Matrix& p, Index rows, Index c, Index d, const Lanes& lanes) {
  return lanes.sum(rows, [&p, c, d](Index i) { return p.get(i, c) * p.get(i, d); });
}

/// Makes the columns of a matrix orthonormal by modified Gram-Schmidt in double. A column that depends on earlier
/// columns becomes 0.
template <class Matrix, class Lanes>
ONEBIT_DEVICE void orthonormalise(const Matrix& p, Index rows, const Lanes& lanes) {
  for (Index c = 0; c < p.columns; ++c) {
    const double before = column_product(p, rows, c, c, lanes);
    for (Index d = 0; d < c; ++d) {
      const double along = column_product(p, rows, c, d, lanes);
      lanes.each(rows, [&p, c, d, along](Index i) { p.set(i, c, p.get(i, c) - along * p.get(i, d)); });
      lanes.barrier();
    }
    const double square = column_product(p, rows, c, c, lanes);
    const double scale = square > 1e-12 * before ? 1 / std::sqrt(square) : 0.0;
    lanes.each(rows, [&p, c, scale](Index i) { p.set(i, c, p.get(i, c) * scale); });
    lanes.barrier();
  }
}

/// A factor of a matrix, row-major.
struct FactorShape {
  Index rows = 0, rank = 0, offset = 0;
};

/// Orthonormalises the columns of each factor. A factor is an item.
struct OrthonormalKernel {
  const FactorShape* shapes;
  float* factors;
  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index item, const Lanes& lanes) const {
    const FactorShape s = shapes[item];
    orthonormalise(FloatMatrix{factors + s.offset, s.rank}, s.rows, lanes);
  }
};

/// Replaces every column of zeros by the same column of `fresh`. A factor is an item.
struct ReviveKernel {
  const FactorShape* shapes;
  const float* fresh;
  float* factors;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index item, const Lanes& lanes) const {
    const FactorShape s = shapes[item];
    for (Index c = 0; c < s.rank; ++c) {
      const auto at = [s, c](Index i) { return s.offset + i * s.rank + c; };
      if (lanes.any(s.rows, [&](Index i) { return factors[at(i)] != 0.0f; })) continue;
      lanes.each(s.rows, [&, this](Index i) { factors[at(i)] = fresh[at(i)]; });
    }
  }
};

/// Computes errors[row][i] -= decoded[i].
struct SubtractKernel {
  float* errors;
  Index stride;
  const float* decoded;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const { errors[row * stride + i] -= decoded[i]; }
};

struct CopyKernel {
  const float* from;
  float* to;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { to[i] = from[i]; }
};

}  // namespace onebit::compress
