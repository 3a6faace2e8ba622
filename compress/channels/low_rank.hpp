#pragma once

#include <algorithm>

#include "compress/channels/power_sgd_kernels.hpp"
#include "compress/codecs/quantized/float_codecs.hpp"
#include "compress/codecs/segment_kernels.hpp"
#include "compress/layout/tensor.hpp"

namespace onebit::compress {

/// PowerSGD's approximation of a single vector, for exchanges that do not sum vectors on the wire. The n elements form
/// a matrix M of floor(sqrt(n)) rows, padded with zeros. P is the orthonormalised product M Q, where Q is random. P and
/// M^T P are sent: `rank` float32 numbers for each row and for each column of M. If that is at least n numbers, the
/// elements themselves are sent. The norm of the projection P P^T M is never larger than that of M, but how much the
/// projection removes depends on Q, so no delta is declared.
struct LowRank {
  Index rank;
  double min_rate = 1;  ///< in an all-reduce: matrices that shrink by at most this factor stay dense

  /// The rank of a matrix's factors in an all-reduce.
  static Index rank_of(Index most, Index matrix_rows, Index matrix_columns) {
    return std::min({most, matrix_rows, matrix_columns});
  }

  ONEBIT_HOST_DEVICE static Index rows(Index n) {
    Index a = static_cast<Index>(std::sqrt(static_cast<double>(n)));
    while (a * a > n) --a;
    return a;
  }
  ONEBIT_HOST_DEVICE static Index columns(Index n) { return n == 0 ? 0 : ceil_div(n, rows(n)); }
  ONEBIT_HOST_DEVICE bool whole(Index n) const { return rank * (rows(n) + columns(n)) >= n; }
  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return 4 * (whole(n) ? n : rank * (rows(n) + columns(n))); }

  /// Returns the costs. Two matrix products read the vector; then its approximation is written and subtracted from it.
  /// The arithmetic, 6 r operations per element at rank r, is left out.
  static netmodel::CodecPasses passes() { return {.encode = 12 + 2 * 4 + 12, .serve = 8 + 2 * 4 + 12, .decode = 4}; }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    if (whole(in.n)) return Fp32{}.encode(in, out, lanes);
    const Index a = rows(in.n), b = columns(in.n);
    const ByteMatrix p{out, rank}, q{out + 4 * rank * a, rank};
    for (Index c = 0; c < rank; ++c) {
      lanes.each(b, [&](Index j) { q.set(j, c, 2 * static_cast<double>(in.random.uniform(c * b + j)) - 1); });
    }
    lanes.barrier();
    for (Index c = 0; c < rank; ++c) {
      lanes.each_piece(a, b, [&](Index i, const auto& own) {
        const float* y = in.y + i * b;
        const Index count = in.n - i * b < b ? in.n - i * b : b;
        const double sum = own.sum(count, [&](Index j) { return static_cast<double>(y[j]) * q.get(j, c); });
        own.once([&] { p.set(i, c, sum); });
      });
    }
    lanes.barrier();
    orthonormalise(p, a, lanes);
    for (Index c = 0; c < rank; ++c) {
      lanes.each(b, [&](Index j) {
        double sum = 0;
        for (Index i = 0; i < a && i * b + j < in.n; ++i) sum += static_cast<double>(in.y[i * b + j]) * p.get(i, c);
        q.set(j, c, sum);
      });
    }
    lanes.barrier();
    decode(
        out, in.n, [&in](Index i, float value) { in.y[i] -= value; }, lanes);
    return bytes(in.n);
  }

  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    if (whole(n)) return Fp32{}.decode(in, n, use, lanes);
    const Index b = columns(n);
    auto* factors = const_cast<std::uint8_t*>(in);  // ByteMatrix can write; here it only reads
    const ByteMatrix p{factors, rank}, q{factors + 4 * rank * rows(n), rank};
    lanes.each(n, [&, this](Index i) {
      double sum = 0;
      for (Index c = 0; c < rank; ++c) sum += p.get(i / b, c) * q.get(i % b, c);
      use(i, static_cast<float>(sum));
    });
  }

  /// Whether an all-reduce, which uses the tensors' own shapes, leaves the tensor dense.
  bool keeps_dense(const Tensor& tensor) const {
    if (!tensor.is_matrix()) return true;
    const Index columns = tensor.size / tensor.rows;
    const auto sent = static_cast<double>(rank_of(rank, tensor.rows, columns) * (tensor.rows + columns));
    return sent * min_rate >= static_cast<double>(tensor.size);
  }
};

}  // namespace onebit::compress
