#pragma once
// The launchers: the ways in which a kernel is run over a problem. A kernel is a functor with a host/device
// operator(); each backend instantiates the launchers for a room's kernels from one list, <room>/kernels.inl.

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

/// Calls kernel(item) for items that are too large to be elements: a row each. A kernel that shares an item out among
/// lanes takes them too, kernel(item, lanes): they have each, sum (kItemLanes interleaved partial sums, halves added to
/// each other), largest, any, once and meet.
template <class Kernel>
void for_each_item(const Device& device, Index n, const Kernel& kernel) {
  device.run([&](const auto& queue) { for_each_item(queue, n, kernel); });
}

/// Calls kernel(item, lanes) for items of up to all parameters: device/launch/thread_group.hpp says what lanes do. The
/// sizes decide how many share an item, and nothing else; `longest` is not below any item's n.
template <class Kernel>
void for_each_large_item(const Device& device, const ItemSizes& sizes, const Kernel& kernel) {
  device.run([&](const auto& queue) { for_each_large_item(queue, sizes, kernel); });
}

/// Calls kernel(row, column) for all rows x columns, each once.
template <class Kernel>
void for_each_row(const Device& device, Index rows, Index columns, const Kernel& kernel) {
  device.run([&](const auto& queue) { for_each_row(queue, rows, columns, kernel); });
}

/// Calls kernel.put(group, column, sums) for all groups x columns, each once, with the sums of the ColumnTerms
/// kernel(group, row, column) over the rows [0, rows) of the group: kColumnLanes interleaved partial sums, halves added
/// to each other.
template <class Kernel>
void sum_columns(const Device& device, Index groups, Index rows, Index columns, const Kernel& kernel) {
  device.run([&](const auto& queue) { sum_columns(queue, groups, rows, columns, kernel); });
}

/// sums[row * chunks.segments() + segment] = sum over i of kernel(row, segment, i), i counted from the segment's start,
/// in double: in each chunk 16 interleaved partial sums, each of runs of 256 elements, which are combined like the
/// chunks by a fixed pairwise tree. The kernel may write to its own element. A kernel may offer bind(row, segment),
/// which looks pointers and scales up once a chunk and yields a function of i; and that function load(i) and store(i,
/// loaded), which together are what it does, so that a GPU can read several elements before it writes the first.
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

/// reduce(kernel.sum), then kernel.scale(i) for every sum i, then pack_bits(kernel.bit): the same bits as those three,
/// which must not read what another row or segment writes. On the CPU a segment is done with before the next is begun,
/// so that what both passes touch is still in a cache.
template <class Kernel>
void reduce_and_pack(const Device& device, Index rows, const Chunks& chunks, const Kernel& kernel, double* sums,
                     const SignRows& out) {
  device.run([&](const auto& queue) { reduce_and_pack(queue, rows, chunks.view(), kernel, sums, out); });
}

/// Calls kernel.bind(segment)(i, mean) for every element, where mean is the average over the rows of sign * scale, in
/// double: each scale is divided by the number of rows; rows are summed in blocks of kSignBlock in row order, two
/// neighbouring blocks are added, and the pairs one after the other.
template <class Kernel>
void for_each_sign_mean(const Device& device, const Chunks& chunks, const ScaledSignRows& rows, const Kernel& kernel) {
  device.run([&](const auto& queue) { for_each_sign_mean(queue, chunks.view(), rows, kernel); });
}

/// The same, and sums[segment] = sum over i of what kernel.bind(segment)(i, mean) yields, in the order of reduce.
template <class Kernel>
void reduce_sign_mean(const Device& device, const Chunks& chunks, const ScaledSignRows& rows, const Kernel& kernel,
                      double* sums) {
  device.run([&](const auto& queue) { reduce_sign_mean(queue, chunks.view(), rows, kernel, sums); });
}

/// reduce of one row for a kernel that takes another number for every element, sign * scale: kernel.bind(0, segment)(i,
/// number), or load(i, number) and store(i, loaded). The sums are those of reduce.
template <class Kernel>
void reduce_signs(const Device& device, const Chunks& chunks, const SignVector& signs, const Kernel& kernel,
                  double* sums) {
  device.run([&](const auto& queue) { reduce_signs(queue, chunks.view(), signs, kernel, sums); });
}

}  // namespace onebit::device
