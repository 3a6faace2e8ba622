#pragma once

#include "compress/power_sgd_kernels.hpp"
#include "compress/segment_kernels.hpp"
#include "compress/tensor.hpp"

namespace onebit::compress {

/// PowerSGD's approximation of one vector by itself, for exchanges in which vectors are not summed on the wire: the n
/// elements as a matrix M of floor(sqrt(n)) rows, filled up with zeros; P = M Q for random Q, orthonormalised; sent are
/// P and M^T P, rank numbers (float32) for each row and column. Where that is no less than n numbers, they are sent
/// themselves. The projection P P^T M never lengthens, but how much it takes away depends on Q: no delta is declared.
struct LowRank {
  Index rank;

  ONEBIT_HOST_DEVICE static Index rows(Index n) {
    Index a = static_cast<Index>(std::sqrt(static_cast<double>(n)));
    while (a * a > n) --a;
    return a;
  }
  ONEBIT_HOST_DEVICE static Index columns(Index n) { return n == 0 ? 0 : ceil_div(n, rows(n)); }
  ONEBIT_HOST_DEVICE bool whole(Index n) const { return rank * (rows(n) + columns(n)) >= n; }
  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return 4 * (whole(n) ? n : rank * (rows(n) + columns(n))); }

  ONEBIT_HOST_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out) const {
    if (whole(in.n)) {
      for (Index i = 0; i < in.n; ++i) {
        store(out + 4 * i, in.y[i]);
        in.y[i] = 0;
      }
      return bytes(in.n);
    }
    const Index a = rows(in.n), b = columns(in.n);
    const ByteMatrix p{out, rank}, q{out + 4 * rank * a, rank};
    for (Index c = 0; c < rank; ++c) {
      for (Index i = 0; i < a; ++i) {
        double sum = 0;
        for (Index j = 0; j < b && i * b + j < in.n; ++j) {
          sum += static_cast<double>(in.y[i * b + j]) * (2 * static_cast<double>(in.random.uniform(c * b + j)) - 1);
        }
        p.set(i, c, sum);
      }
    }
    orthonormalise(p, a);
    for (Index j = 0; j < b; ++j) {
      for (Index c = 0; c < rank; ++c) {
        double sum = 0;
        for (Index i = 0; i < a && i * b + j < in.n; ++i) sum += static_cast<double>(in.y[i * b + j]) * p.get(i, c);
        q.set(j, c, sum);
      }
    }
    decode(out, in.n, [&in](Index i, float value) { in.y[i] -= value; });
    return bytes(in.n);
  }

  template <class Use>
  ONEBIT_HOST_DEVICE void decode(const std::uint8_t* in, Index n, Use use) const {
    if (whole(n)) {
      for (Index i = 0; i < n; ++i) use(i, load<float>(in + 4 * i));
      return;
    }
    const Index b = columns(n);
    auto* factors = const_cast<std::uint8_t*>(in);  // ByteMatrix writes as well; here it only reads
    const ByteMatrix p{factors, rank}, q{factors + 4 * rank * rows(n), rank};
    for (Index i = 0; i < n; ++i) {
      double sum = 0;
      for (Index c = 0; c < rank; ++c) sum += p.get(i / b, c) * q.get(i % b, c);
      use(i, static_cast<float>(sum));
    }
  }

  /// In an all-reduce, of matrices as they are.
  bool keeps_dense(const Tensor& tensor) const {
    return !tensor.is_matrix() || rank * (tensor.rows + tensor.size / tensor.rows) >= tensor.size;
  }
};

}  // namespace onebit::compress
