// Eigen, single-threaded inside our own fixed tiles. Eigen takes its blocking from the cache sizes that it detects:
// they are fixed here, so that one binary gives one set of bits on every machine it runs on.
#define EIGEN_DONT_PARALLELIZE
#include "device/gemm.hpp"

#include <Eigen/Core>
#include <algorithm>

#include "device/cpu/queue.hpp"

namespace onebit::device::cpu {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using In = Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>;
using Out = Eigen::Map<RowMajor, 0, Eigen::OuterStride<>>;

constexpr Index kTileRows = 64;
static_assert(kTileRows % kGemmRows == 0);

template <class A, class B>
void multiply(const A& a, const B& b, Out& c, bool accumulate) {
  if (accumulate) {
    c.noalias() += a * b;
  } else {
    c.noalias() = a * b;
  }
}

/// Rows [begin, begin + rows) of one product.
void gemm_tile(const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c, Index begin, Index rows) {
  Out out(c.data + begin * c.leading, rows, shape.n, Eigen::OuterStride<>(c.leading));
  const In right = shape.transpose_b ? In(b.data, shape.n, shape.k, Eigen::OuterStride<>(b.leading))
                                     : In(b.data, shape.k, shape.n, Eigen::OuterStride<>(b.leading));
  if (shape.transpose_a) {
    const In left(a.data + begin, shape.k, rows, Eigen::OuterStride<>(a.leading));
    if (shape.transpose_b) {
      multiply(left.transpose(), right.transpose(), out, shape.accumulate);
    } else {
      multiply(left.transpose(), right, out, shape.accumulate);
    }
  } else {
    const In left(a.data + begin * a.leading, rows, shape.k, Eigen::OuterStride<>(a.leading));
    if (shape.transpose_b) {
      multiply(left, right.transpose(), out, shape.accumulate);
    } else {
      multiply(left, right, out, shape.accumulate);
    }
  }
}

void fix_cache_sizes() {
  static const bool done = [] {
    Eigen::setCpuCacheSizes(32 << 10, 1 << 20, 8 << 20);
    return true;
  }();
  (void)done;
}

}  // namespace

void gemm_batched(const Queue& queue, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c, Index batch) {
  fix_cache_sizes();
  queue.check(a);
  queue.check(b);
  queue.check(c);
  const Index tiles = ceil_div(shape.m, kTileRows);
  parallel(queue, batch * tiles, [&](Index unit) {
    const Index matrix = unit / tiles;
    const Index begin = unit % tiles * kTileRows;
    gemm_tile(shape, {a.data + matrix * a.stride, a.leading, 0}, {b.data + matrix * b.stride, b.leading, 0},
              {c.data + matrix * c.stride, c.leading, 0}, begin, std::min(kTileRows, shape.m - begin));
  });
}

}  // namespace onebit::device::cpu
