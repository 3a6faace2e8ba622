// One kernel for all products: a block of rows x columns of C is summed in registers, from elements of A and packets of
// B. Every element of C is summed in the order of k, 128 terms at a time, so its bits depend on its row of A and its
// column of B alone. The division into blocks, panels and units may therefore depend on the number of threads.
#include "device/math/gemm.hpp"

#include <algorithm>
#include <type_traits>

#include "device/cpu/packet.hpp"
#include "device/cpu/queue.hpp"
#include "device/cpu/rounding.hpp"

namespace onebit::device::cpu {
namespace {

constexpr Index kPanel = 2 * kLanes;  ///< columns of B that are used together
/// Rows of a block, each with two packets of sums. Two packets of B and one of A need registers too.
constexpr Index kBlockRows = kRegisters >= 32 ? 8 : 6;
constexpr Index kTerms = 128;     ///< terms of k at a time, so that their panel stays in the first-level cache
constexpr Index kUnitRows = 256;  ///< approximate number of rows of a unit
constexpr Index kManyRows = 128;  ///< smallest number of rows for which packing B's panels pays off

constexpr std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Rows of op(A): element (i, p) is data[i * row + p * term].
struct Left {
  const float* data;
  Index row, term;
  Left from(Index i, Index p) const { return {data + i * row + p * term, row, term}; }
};

/// Some adjacent columns of op(B).
struct Panel {
  const float* data;
  Index leading;
};

/// Computes a block of C: C = A B over k terms, or C += A B.
template <Index rows, Index packets>
void multiply_block(Index k, Left a, Panel b, float* c, Index leading, bool add) {
  using Eigen::internal::padd, Eigen::internal::ploadu, Eigen::internal::pmadd, Eigen::internal::pset1;
  Packet sums[at(rows)][at(packets)];
#pragma GCC unroll 16
  for (Index i = 0; i < rows; ++i) {
#pragma GCC unroll 2
    for (Index v = 0; v < packets; ++v) sums[i][v] = pset1<Packet>(0.0f);
  }
  for (Index p = 0; p < k; ++p, b.data += b.leading, a.data += a.term) {
    Packet columns[at(packets)];
#pragma GCC unroll 2
    for (Index v = 0; v < packets; ++v) columns[v] = ploadu<Packet>(b.data + v * kLanes);
#pragma GCC unroll 16
    for (Index i = 0; i < rows; ++i) {
      const Packet factor = pset1<Packet>(a.data[i * a.row]);
#pragma GCC unroll 2
      for (Index v = 0; v < packets; ++v) sums[i][v] = pmadd(columns[v], factor, sums[i][v]);
    }
  }
#pragma GCC unroll 16
  for (Index i = 0; i < rows; ++i, c += leading) {
#pragma GCC unroll 2
    for (Index v = 0; v < packets; ++v) {
      float* to = c + v * kLanes;
      Eigen::internal::pstoreu(to, add ? padd(ploadu<Packet>(to), sums[i][v]) : sums[i][v]);
    }
  }
}

/// Like multiply_block, for a C that may be narrower than the panel.
template <Index rows, Index packets>
void multiply_columns(Index k, const Left& a, const Panel& b, float* c, Index leading, Index columns, bool add) {
  constexpr Index width = packets * kLanes;
  if (columns == width) return multiply_block<rows, packets>(k, a, b, c, leading, add);
  alignas(Packet) float block[at(rows * width)];
  for (Index i = 0; i < rows && add; ++i) {
    for (Index j = 0; j < width; ++j) block[i * width + j] = j < columns ? c[i * leading + j] : 0.0f;
  }
  multiply_block<rows, packets>(k, a, b, block, width, add);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) c[i * leading + j] = block[i * width + j];
  }
}

/// Multiplies m rows by one panel.
template <Index packets>
void multiply_panel(Index m, Index k, const Left& a, const Panel& b, MatrixOut c, Index columns, bool add) {
  Index i = 0;
  const auto rows = [&]<Index count>(std::integral_constant<Index, count>) {
    multiply_columns<count, packets>(k, a.from(i, 0), b, c.data + i * c.leading, c.leading, columns, add);
    i += count;
  };
  while (m - i >= kBlockRows) rows(std::integral_constant<Index, kBlockRows>{});
  [&]<Index... fewer>(std::integer_sequence<Index, fewer...>) {
    ((m - i == fewer + 1 ? rows(std::integral_constant<Index, fewer + 1>{}) : void()), ...);
  }
  (std::make_integer_sequence<Index, kBlockRows - 1>{});
}

/// Transposes kLanes x kLanes numbers.
void transpose(const float* from, Index from_leading, float* to, Index to_leading) {
  Eigen::internal::PacketBlock<Packet, kLanes> rows;
#pragma GCC unroll 16
  for (Index i = 0; i < kLanes; ++i) rows.packet[i] = Eigen::internal::ploadu<Packet>(from + i * from_leading);
  Eigen::internal::ptranspose(rows);
#pragma GCC unroll 16
  for (Index i = 0; i < kLanes; ++i) Eigen::internal::pstoreu(to + i * to_leading, rows.packet[i]);
}

/// Some columns of op(B) to be packed next to each other: term p of column j is data[p * term + j * column].
struct Columns {
  const float* data;
  Index term, column, count;

  /// Packs k terms into rows of packets * kLanes numbers, padded with zeros.
  template <Index packets>
  void pack(Index k, float* to) const {
    constexpr Index width = packets * kLanes;
    Index p = 0;
    if (term == 1 && count == width) {
      for (; p + kLanes <= k; p += kLanes) {
        for (Index j = 0; j < width; j += kLanes) transpose(data + j * column + p, column, to + p * width + j, width);
      }
    } else if (column == 1 && count == width) {
      for (; p < k; ++p) std::copy_n(data + p * term, width, to + p * width);
    }
    for (; p < k; ++p) {
      for (Index j = 0; j < width; ++j) to[p * width + j] = j < count ? data[p * term + j * column] : 0.0f;
    }
  }
};

/// Rows [begin, begin + rows) of one product.
class RowsOfProduct {
 public:
  RowsOfProduct(const GemmShape& shape, const MatrixIn& a, const MatrixIn& b, const MatrixOut& c, Index begin,
                Index rows)
      : shape_(shape),
        rows_(rows),
        left_(Left{a.data, shape.transpose_a ? 1 : a.leading, shape.transpose_a ? a.leading : 1}.from(begin, 0)),
        right_(b),
        result_{c.data + begin * c.leading, c.leading, 0} {}

  void compute() const {
    for (Index p = 0; p == 0 || p < shape_.k; p += kTerms) {
      for (Index j = 0; j < shape_.n; j += kPanel) {
        if (shape_.n - j <= kLanes) {
          multiply<1>(p, j);
        } else {
          multiply<2>(p, j);
        }
      }
    }
  }

 private:
  /// Multiplies up to kTerms terms of k, starting at the p-th, by the panel that begins at column j.
  template <Index packets>
  void multiply(Index p, Index j) const {
    constexpr Index width = packets * kLanes;
    alignas(Packet) float packed[at(kTerms * width)];
    const Index k = std::min(kTerms, shape_.k - p), columns = std::min(width, shape_.n - j);
    Panel panel{right_.data + p * right_.leading + j, right_.leading};
    if (shape_.transpose_b) {
      Columns{right_.data + j * right_.leading + p, 1, right_.leading, columns}.pack<packets>(k, packed);
      panel = {packed, width};
    } else if (columns < width || (rows_ >= kManyRows && right_.leading > width)) {
      Columns{panel.data, right_.leading, 1, columns}.pack<packets>(k, packed);
      panel = {packed, width};
    }
    const MatrixOut c{result_.data + j, result_.leading, 0};
    multiply_panel<packets>(rows_, k, left_.from(0, p), panel, c, columns, shape_.accumulate || p > 0);
  }

  const GemmShape& shape_;
  Index rows_;
  Left left_;
  MatrixIn right_;
  MatrixOut result_;
};

/// Returns the numbers of distinct matrices in a batch.
Batch different(const MatrixIn& matrix, const Batch& batch) {
  return {matrix.stride == 0 ? std::min<Index>(batch.outer, 1) : batch.outer,
          matrix.inner == 0 ? std::min<Index>(batch.inner, 1) : batch.inner};
}

/// Returns the number of rows of a unit, such that units have about equal size: about kUnitRows, or fewer if threads
/// would otherwise be idle.
Index unit_rows(const Queue& queue, Index m, Index products) {
  Index units = ceil_div(m, kUnitRows);
  while (m > units * kBlockRows && !fills(queue, products * units)) ++units;
  return round_up(ceil_div(m, units), kBlockRows);
}

}  // namespace

void gemm_batched(const Queue& queue, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c, Batch batch) {
  queue.check(a);
  queue.check(b);
  queue.check(c);
  if (shape.m == 0) return;
  const auto& [m, n, k, a_turned, b_turned, accumulate] = shape;
  round_operands(queue, {{a, a_turned ? k : m, a_turned ? m : k, different(a, batch)},
                         {b, b_turned ? n : k, b_turned ? k : n, different(b, batch)}});
  const Index rows = unit_rows(queue, shape.m, batch.count());
  const Index units = ceil_div(shape.m, rows);
  parallel(queue, batch.count() * units, [&](Index unit) {
    const Index product = unit / units;
    const Index begin = unit % units * rows;
    RowsOfProduct(shape, {a.of(product, batch.inner), a.leading}, {b.of(product, batch.inner), b.leading},
                  {c.of(product, batch.inner), c.leading}, begin, std::min(rows, shape.m - begin))
        .compute();
  });
}

}  // namespace onebit::device::cpu
