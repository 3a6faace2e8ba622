#pragma once
// The CPU launchers. device/launch/launch.hpp describes each of them. The launchers' threads come from parallel()
// (cpu/queue.hpp), and those for large items from cpu/thread_groups.hpp.

#include <algorithm>
#include <array>
#include <vector>

#include "device/cpu/lanes.hpp"
#include "device/cpu/thread_groups.hpp"
#include "device/launch/launch.hpp"

namespace onebit::device::cpu {

template <class Kernel>
void for_each(const Queue& queue, Index n, Kernel kernel) {
  constexpr Index block = 16384;
  queue.check(kernel);
  parallel(queue, ceil_div(n, block), [&](Index unit) {
    const Index end = std::min((unit + 1) * block, n);
#pragma omp simd
    for (Index i = unit * block; i < end; ++i) kernel(i);
  });
}

template <class Kernel>
void for_each_item(const Queue& queue, Index n, Kernel kernel) {
  queue.check(kernel);
  parallel(queue, n, [&](Index item) {
    if constexpr (requires(const Lanes& lanes) { kernel(item, lanes); }) {
      kernel(item, Lanes{});
    } else {
      kernel(item);
    }
  });
}

/// The lambda is flattened, because loops that call lambdas vectorise only if everything in them is inlined.
template <class Kernel>
void for_each_large_item(const Queue& queue, const ItemSizes& sizes, Kernel kernel) {
  queue.check(kernel);
  for_each_group(
      queue, sizes, [&](Index first, Index step, const GroupLanes<GroupMember>& lanes) __attribute__((flatten)) {
        for (Index item = first; item < sizes.count; item += step) kernel(item, lanes);
      });
}

/// A kernel that strides through memory from column to column may offer columns<count>(row, first), which is called for
/// a cache line of columns at a time.
template <class Kernel>
void for_each_row(const Queue& queue, Index rows, Index columns, Kernel kernel) {
  constexpr Index line = 16;
  queue.check(kernel);
  if constexpr (requires { kernel.template columns<line>(rows, columns); }) {
    const Index lines = ceil_div(columns, line);
    parallel(queue, rows * lines, [&](Index unit) {
      const Index row = unit / lines, first = unit % lines * line;
      if (first + line <= columns) return kernel.template columns<line>(row, first);
      for (Index column = first; column < columns; ++column) kernel(row, column);
    });
  } else {
    parallel(queue, rows, [&](Index row) {
#pragma omp simd
      for (Index column = 0; column < columns; ++column) kernel(row, column);
    });
  }
}

namespace detail {

/// Computes the sums of `count` adjacent columns.
template <Index count, class Kernel>
void sum_columns_at(Index group, Index rows, Index first, const Kernel& kernel) {
  using Terms = decltype(kernel(group, rows, first));
  static_assert(Terms::kCount == 1 || Terms::kCount == 2);
  constexpr Index lane_sums = Terms::kCount * count;
  double sums[static_cast<std::size_t>(kColumnLanes * lane_sums)] = {};
  for (Index row = 0; row < rows; ++row) {
    double* one = sums + row % kColumnLanes * lane_sums;
    double* two = one + count;
#pragma omp simd
    for (Index c = 0; c < count; ++c) {
      const Terms terms = kernel(group, row, first + c);
      one[c] += terms.term[0];
      if constexpr (Terms::kCount == 2) two[c] += terms.term[1];
    }
  }
  for (Index half = kColumnLanes / 2; half > 0; half /= 2) {
    for (Index i = 0; i < half * lane_sums; ++i) sums[i] += sums[half * lane_sums + i];
  }
  for (Index c = 0; c < count; ++c) {
    Terms sum;
    for (Index k = 0; k < Terms::kCount; ++k) sum.term[k] = sums[k * count + c];
    kernel.put(group, first + c, sum);
  }
}

}  // namespace detail

/// Sums a cache line of columns at a time.
template <class Kernel>
void sum_columns(const Queue& queue, Index groups, Index rows, Index columns, Kernel kernel) {
  constexpr Index line = 16;
  queue.check(kernel);
  const Index lines = ceil_div(columns, line);
  parallel(queue, groups * lines, [&](Index unit) {
    const Index group = unit / lines, first = unit % lines * line;
    if (first + line <= columns) return detail::sum_columns_at<line>(group, rows, first, kernel);
    for (Index column = first; column < columns; ++column) detail::sum_columns_at<1>(group, rows, column, kernel);
  });
}

/// Returns a segmented kernel at one row and segment, as a function of the element.
template <class Kernel>
auto at(const Kernel& kernel, Index row, Index segment) {
  if constexpr (requires { kernel.bind(row, segment); }) {
    return kernel.bind(row, segment);
  } else {
    return [kernel, row, segment](Index i) { return kernel(row, segment, i); };
  }
}

/// Sums values in place by a fixed pairwise tree and returns the total.
inline double tree_sum(double* values, Index n) {
  if (n == 0) return 0;
  for (; n > 1; n = (n + 1) / 2) {
    for (Index i = 0; i < n / 2; ++i) values[i] = values[2 * i] + values[2 * i + 1];
    if (n % 2 != 0) values[n / 2] = values[n - 1];
  }
  return values[0];
}

namespace detail {

/// A sum formed from interleaved partial sums, which vectorise. The elements of a run are added in order; then the
/// runs, and finally the lanes, are combined by a pairwise tree.
class LaneSum {
 public:
  /// Adds term(i) for i in [0, n). In every call but the last, n must be a multiple of kSumRun.
  template <class Term>
  void add(Index n, Term term) {
    for (Index first = 0; first < n; first += kSumRun) push(run(first, std::min(first + kSumRun, n), term));
  }
  double total() {
    if (depth_ == 0) return 0;
    Sums sums = stack_[--depth_];
    while (depth_ > 0) sums = plus(stack_[--depth_], sums);
    return tree_sum(sums.data(), kSumLanes);
  }

 private:
  using Sums = std::array<double, static_cast<std::size_t>(kSumLanes)>;

  template <class Term>
  static Sums run(Index first, Index end, const Term& term) {
    Sums sums{};
    Index i = first;
    for (; i + kSumLanes <= end; i += kSumLanes) {
#pragma omp simd
      for (Index lane = 0; lane < kSumLanes; ++lane) sums[static_cast<std::size_t>(lane)] += term(i + lane);
    }
    for (Index lane = 0; i < end; ++i, ++lane) sums[static_cast<std::size_t>(lane)] += term(i);
    return sums;
  }
  static Sums plus(const Sums& a, const Sums& b) {
    Sums sums;
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] = a[lane] + b[lane];
    return sums;
  }
  /// Pushes the sums of a run. The stack holds the sums of pairs of neighbours, of pairs of pairs and so on; the sum
  /// that covers the most runs is at the bottom.
  void push(Sums sums) {
    for (Index left = runs_++; left % 2 != 0; left /= 2) sums = plus(stack_[--depth_], sums);
    stack_[depth_++] = sums;
  }

  static constexpr std::size_t kMostDepth = 8;  // a chunk's 16 runs need 4
  static_assert(kChunk / kSumRun < (1 << (kMostDepth - 1)));
  std::array<Sums, kMostDepth> stack_;
  std::size_t depth_ = 0;
  Index runs_ = 0;
};

/// Sum of term(i) over [begin, end).
template <class Term>
double lane_sum(Index begin, Index end, Term term) {
  LaneSum sum;
  sum.add(end - begin, [&](Index i) { return term(begin + i); });
  return sum.total();
}

/// A kernel's sum over a chunk.
template <class Kernel>
double sum_chunk(const Kernel& kernel, Index row, const Chunk& chunk) {
  return lane_sum(chunk.begin, chunk.end, at(kernel, row, chunk.segment));
}

/// Computes sums[row][segment] from the chunks' partial sums, which it overwrites.
inline void sum_chunks(const Queue& queue, Index rows, const ChunkView& chunks, double* partial, double* sums) {
  parallel(queue, rows, [&](Index row) {
    for (Index segment = 0; segment < chunks.segments; ++segment) {
      const Index first = chunks.first(segment);
      sums[row * chunks.segments + segment] =
          tree_sum(partial + row * chunks.count + first, chunks.first(segment + 1) - first);
    }
  });
}

}  // namespace detail

template <class Kernel>
void reduce(const Queue& queue, Index rows, const ChunkView& chunks, Kernel kernel, double* sums) {
  queue.check(kernel);
  queue.check(chunks);
  queue.check(sums);
  double* const partial = queue.workspace(rows * chunks.count);
  parallel(queue, rows * chunks.count, [&](Index unit) {
    partial[unit] = detail::sum_chunk(kernel, unit / chunks.count, chunks[unit % chunks.count]);
  });
  detail::sum_chunks(queue, rows, chunks, partial, sums);
}

}  // namespace onebit::device::cpu
