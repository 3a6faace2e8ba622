#pragma once
// The maths of PowerSGD that is no matrix product.

#include <cmath>

#include "compress/bytes.hpp"

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

/// The same at any address.
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

template <class Matrix>
ONEBIT_HOST_DEVICE double column_product(const Matrix& p, Index rows, Index c, Index d) {
  double sum = 0;
  for (Index i = 0; i < rows; ++i) sum += p.get(i, c) * p.get(i, d);
  return sum;
}

/// Makes the columns of a matrix orthonormal by modified Gram-Schmidt in double; one of which nothing is left becomes
/// 0.
template <class Matrix>
ONEBIT_HOST_DEVICE void orthonormalise(const Matrix& p, Index rows) {
  for (Index c = 0; c < p.columns; ++c) {
    const double before = column_product(p, rows, c, c);
    for (Index d = 0; d < c; ++d) {
      const double along = column_product(p, rows, c, d);
      for (Index i = 0; i < rows; ++i) p.set(i, c, p.get(i, c) - along * p.get(i, d));
    }
    const double square = column_product(p, rows, c, c);
    const double scale = square > 1e-12 * before ? 1 / std::sqrt(square) : 0.0;
    for (Index i = 0; i < rows; ++i) p.set(i, c, p.get(i, c) * scale);
  }
}

/// Item: a matrix [rows x rank], by its rows and its offset.
struct OrthonormalKernel {
  const Index* shapes;
  Index rank;
  float* factors;
  ONEBIT_HOST_DEVICE void operator()(Index item) const {
    orthonormalise(FloatMatrix{factors + shapes[2 * item + 1], rank}, shapes[2 * item]);
  }
};

/// A column [rows x rank] of zeros becomes that of `fresh`. Item: a matrix.
struct ReviveKernel {
  const Index* shapes;
  Index rank;
  const float* fresh;
  float* factors;

  ONEBIT_HOST_DEVICE void operator()(Index item) const {
    const Index rows = shapes[2 * item], first = shapes[2 * item + 1];
    for (Index c = 0; c < rank; ++c) {
      bool zero = true;
      for (Index i = 0; i < rows; ++i) zero = zero && factors[first + i * rank + c] == 0.0f;
      if (!zero) continue;
      for (Index i = 0; i < rows; ++i) factors[first + i * rank + c] = fresh[first + i * rank + c];
    }
  }
};

/// errors[row][i] -= decoded[i].
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
