#pragma once
// The launchers: the ways to run a kernel over a problem. A kernel is a functor with a host/device operator(); each
// backend instantiates the launchers for a room's kernels from one list, <room>/kernels.inl.

#include "device/launch/chunks.hpp"
#include "device/launch/lanes.hpp"
#include "device/math/sign_bits.hpp"

namespace onebit::device {

namespace cpu {
template <class Kernel>
void for_each(const Queue& queue, Index n, Kernel kernel);
template <class Kernel>
void for_each_item(const Queue& queue, Index n, Kernel kernel);
template <class Kernel>
void for_each_large_item(const Queue& queue, const ItemSizes& sizes, Kernel kernel);
template <class Kernel>
void for_each_row(const Queue& queue, Index rows, Index columns, Kernel kernel);
template <class Kernel>
void sum_columns(const Queue& queue, Index groups, Index rows, Index columns, Kernel kernel);
template <class Kernel>
void reduce(const Queue& queue, Index rows, const ChunkView& chunks, Kernel kernel, double* sums);
template <class Kernel>
void pack_bits(const Queue& queue, const ChunkView& chunks, const SignRows& out, Kernel kernel);
template <class Kernel>
void reduce_and_pack(const Queue& queue, Index rows, const ChunkView& chunks, Kernel kernel, double* sums,
                     const SignRows& out);
template <class Kernel>
void for_each_sign_mean(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Kernel kernel);
template <class Kernel>
void reduce_sign_mean(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Kernel kernel,
                      double* sums);
template <class Kernel>
void reduce_signs(const Queue& queue, const ChunkView& chunks, const SignVector& signs, Kernel kernel, double* sums);
}  // namespace cpu

#if defined(ONEBIT_CUDA)
namespace cuda {
template <class Kernel>
void for_each(const Queue& queue, Index n, Kernel kernel);
template <class Kernel>
void for_each_item(const Queue& queue, Index n, Kernel kernel);
template <class Kernel>
void for_each_large_item(const Queue& queue, const ItemSizes& sizes, Kernel kernel);
template <class Kernel>
void for_each_row(const Queue& queue, Index rows, Index columns, Kernel kernel);
template <class Kernel>
void sum_columns(const Queue& queue, Index groups, Index rows, Index columns, Kernel kernel);
template <class Kernel>
void reduce(const Queue& queue, Index rows, const ChunkView& chunks, Kernel kernel, double* sums);
template <class Kernel>
void pack_bits(const Queue& queue, const ChunkView& chunks, const SignRows& out, Kernel kernel);
template <class Kernel>
void reduce_and_pack(const Queue& queue, Index rows, const ChunkView& chunks, Kernel kernel, double* sums,
                     const SignRows& out);
template <class Kernel>
void for_each_sign_mean(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Kernel kernel);
template <class Kernel>
void reduce_sign_mean(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Kernel kernel,
                      double* sums);
template <class Kernel>
void reduce_signs(const Queue& queue, const ChunkView& chunks, const SignVector& signs, Kernel kernel, double* sums);
}  // namespace cuda
#endif

/// Calls kernel(i) for i in [0, n).
template <class Kernel>
void for_each(const Device& device, Index n, const Kernel& kernel) {
  device.run([&](const auto& queue) { for_each(queue, n, kernel); });
}

/// Calls kernel(item) for items in [0, n) that are larger than an element, e.g. a row. A kernel that divides an item
/// among lanes is called as kernel(item, lanes). The lanes offer the functions `each`, `sum` (kItemLanes interleaved
/// partial sums, which are added by halving), `largest`, `any`, `once` and `barrier`.
template <class Kernel>
void for_each_item(const Device& device, Index n, const Kernel& kernel) {
  device.run([&](const auto& queue) { for_each_item(queue, n, kernel); });
}

/// Calls kernel(item, lanes) for items that may be as large as the whole parameter vector;
/// device/launch/thread_group.hpp describes what the lanes can do. The sizes decide only how many threads or blocks
/// share an item; `longest` must be at least as large as any item's n.
template <class Kernel>
void for_each_large_item(const Device& device, const ItemSizes& sizes, const Kernel& kernel) {
  device.run([&](const auto& queue) { for_each_large_item(queue, sizes, kernel); });
}

/// Calls kernel(row, column) once for every row and column.
template <class Kernel>
void for_each_row(const Device& device, Index rows, Index columns, const Kernel& kernel) {
  device.run([&](const auto& queue) { for_each_row(queue, rows, columns, kernel); });
}

/// Calls kernel.put(group, column, sums) once for every group and column, where `sums` are the sums of the ColumnTerms
/// kernel(group, row, column) over the group's rows [0, rows). They are formed as kColumnLanes interleaved partial
/// sums, which are added by halving.
template <class Kernel>
void sum_columns(const Device& device, Index groups, Index rows, Index columns, const Kernel& kernel) {
  device.run([&](const auto& queue) { sum_columns(queue, groups, rows, columns, kernel); });
}

/// Computes sums[row * chunks.segments() + segment] = sum over i of kernel(row, segment, i), with i counted from the
/// segment's start, in double. A chunk is cut into runs of kSumRun elements. Each run has kSumLanes partial sums: lane
/// l adds elements l, l + kSumLanes, .... Fixed pairwise trees combine the runs of a chunk lane by lane, then the
/// lanes, then the chunks of a segment. The bits therefore do not depend on the number of threads. The kernel may write
/// to its own element. A kernel may offer bind(row, segment), which looks up pointers and scales once per chunk and
/// returns a function of i. The returned function may offer load(i) and store(i, loaded), which together do the same as
/// calling it; a GPU can then read several elements before it writes the first.
template <class Kernel>
void reduce(const Device& device, Index rows, const Chunks& chunks, const Kernel& kernel, double* sums) {
  device.run([&](const auto& queue) { reduce(queue, rows, chunks.view(), kernel, sums); });
}

/// Packs the bits kernel(row, segment, i), or kernel.bind(row, segment)(i), of every segment. The unused bits of a
/// segment's last byte become 1; bytes beyond it are not touched.
template <class Kernel>
void pack_bits(const Device& device, const Chunks& chunks, const SignRows& out, const Kernel& kernel) {
  device.run([&](const auto& queue) { pack_bits(queue, chunks.view(), out, kernel); });
}

/// Does reduce(kernel.sum), then kernel.scale(i) for every sum i, then pack_bits(kernel.bit); the results have the same
/// bits as those of the three calls. None of the three may read what another row or segment writes. If there are enough
/// rows for its threads, the CPU finishes a segment before it begins the next, so that the second pass finds the
/// segment's data in a cache.
template <class Kernel>
void reduce_and_pack(const Device& device, Index rows, const Chunks& chunks, const Kernel& kernel, double* sums,
                     const SignRows& out) {
  device.run([&](const auto& queue) { reduce_and_pack(queue, rows, chunks.view(), kernel, sums, out); });
}

/// Calls kernel.bind(segment)(i, mean) for every element, where mean is the average of sign * scale over the rows. It
/// is computed in double: each scale is divided by the number of rows; the rows of each block of kSignBlock are summed
/// in row order; the sums of neighbouring blocks are added in pairs; and the sums of the pairs are added up in order.
template <class Kernel>
void for_each_sign_mean(const Device& device, const Chunks& chunks, const ScaledSignRows& rows, const Kernel& kernel) {
  device.run([&](const auto& queue) { for_each_sign_mean(queue, chunks.view(), rows, kernel); });
}

/// Does the same as for_each_sign_mean, and also sets sums[segment] to the sum over i of the results of
/// kernel.bind(segment)(i, mean), in the order of reduce.
template <class Kernel>
void reduce_sign_mean(const Device& device, const Chunks& chunks, const ScaledSignRows& rows, const Kernel& kernel,
                      double* sums) {
  device.run([&](const auto& queue) { reduce_sign_mean(queue, chunks.view(), rows, kernel, sums); });
}

/// Reduces one row with a kernel that gets an additional number, sign * scale, for every element. It is called as
/// kernel.bind(0, segment)(i, number), or as load(i, number) and store(i, loaded). Sums are formed in the order of
/// reduce.
template <class Kernel>
void reduce_signs(const Device& device, const Chunks& chunks, const SignVector& signs, const Kernel& kernel,
                  double* sums) {
  device.run([&](const auto& queue) { reduce_signs(queue, chunks.view(), signs, kernel, sums); });
}

}  // namespace onebit::device
