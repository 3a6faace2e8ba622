#pragma once
// Packed signs on a GPU.

#include "device/cuda/chunk_sum.cuh"
#include "device/math/sign_bits.hpp"

namespace onebit::device::cuda::detail {

/// Elements that a warp packs at a time: 16 bytes, 4 elements for each thread.
inline constexpr Index kPackRun = 128;

/// Byte `lane` of the 16 bytes that hold the bits of a warp's 4 x 32 elements.
__device__ inline std::uint8_t packed_byte(const bool* plus, Index lane) {
  std::uint32_t own = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const std::uint32_t word = __brev(__ballot_sync(0xFFFFFFFFu, plus[k]));  // the first element is the highest bit
    if (lane / 4 == k) own = word;
  }
  return static_cast<std::uint8_t>(own >> (24 - 8 * (lane % 4)));
}

/// Byte `lane` of the bits predicate(i) of a run; elements beyond `end` are plus.
template <class Predicate>
__device__ std::uint8_t pack_run(const Predicate& predicate, Index run, Index end, Index lane) {
  bool plus[4];
  if (run + kPackRun <= end) {
    int next = 0;
    visit_together<4>(predicate, run + lane, 32, [&](bool bit) { plus[next++] = bit; });
  } else {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const Index i = run + 32 * k + lane;
      plus[k] = i >= end || predicate(i);
    }
  }
  return packed_byte(plus, lane);
}

/// A block packs a chunk. The unused bits of its last byte become 1.
template <class Kernel>
__global__ void __launch_bounds__(kThreads)
    pack_chunks(const __grid_constant__ ChunkView chunks, const __grid_constant__ SignRows out,
                const __grid_constant__ Kernel kernel) {
  const Index lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (Index k = blockIdx.y; k < chunks.count; k += gridDim.y) {
    for (Index row = blockIdx.x; row < out.rows; row += gridDim.x) {
      const Chunk chunk = chunks[k];
      const auto predicate = at(kernel, row, chunk);
      std::uint8_t* bytes = out.bits + row * out.row_bytes + out.byte_offset[chunk.segment];
      for (Index run = chunk.begin + warp * kPackRun; run < chunk.end; run += kThreads / 32 * kPackRun) {
        const std::uint8_t byte = pack_run(predicate, run, chunk.end, lane);
        if (lane < 16 && run + 8 * lane < chunk.end) bytes[run / 8 + lane] = byte;
      }
    }
  }
}

/// Computes weights[row * scale_count + k] = scales[row * scale_count + k] / rows, once for all elements.
void weigh_rows(const Queue& queue, const ScaledSignRows& rows, double* weights);

/// The averages of sign * scale over the rows for a chunk, in shared memory. A thread handles 8 elements at a time, a
/// byte of each row. Elements are grouped by their position in the byte, so that neither writes nor reads have bank
/// conflicts.
class ChunkMeans {
 public:
  static constexpr Index kPitch = kChunk / 8 + 2;
  static constexpr Index kSize = 8 * kPitch;

  __device__ explicit ChunkMeans(double* means) : means_(means) {}

  /// bits and weights: those of the first row, at the chunk's first element.
  __device__ void fill(const ScaledSignRows& rows, const std::uint8_t* bits, const double* weights, Index elements) {
    for (Index byte = threadIdx.x; byte < ceil_div(elements, 8); byte += blockDim.x) {
      double sums[8];
      pair_of_blocks(rows, bits + byte, weights, 0, sums);
      for (Index row = 2 * kSignBlock; row < rows.signs.rows; row += 2 * kSignBlock) {
        double pair[8];
        pair_of_blocks(rows, bits + byte, weights, row, pair);
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[j] += pair[j];
      }
#pragma unroll
      for (int j = 0; j < 8; ++j) means_[j * kPitch + byte] = sums[j];
    }
  }
  __device__ double operator[](Index i) const {
    return means_[i % 8 * kPitch + i / 8];
  }

 private:
  /// Computes the sums over a block of rows and the next one.
  __device__ static void pair_of_blocks(const ScaledSignRows& rows, const std::uint8_t* bits, const double* weights,
                                        Index row, double* sums) {
    double second[8];
    block(rows, bits, weights, row, sums);
    block(rows, bits, weights, row + kSignBlock, second);
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[j] += second[j];
  }

  __device__ static void block(const ScaledSignRows& rows, const std::uint8_t* bits, const double* weights, Index row,
                               double* sums) {
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[j] = 0;
    if (row + kSignBlock <= rows.signs.rows) {
      unsigned bytes[static_cast<std::size_t>(kSignBlock)];
#pragma unroll
      for (Index r = 0; r < kSignBlock; ++r) bytes[r] = bits[(row + r) * rows.signs.row_bytes];
#pragma unroll
      for (Index r = 0; r < kSignBlock; ++r) add(bytes[r], weights[(row + r) * rows.scale_count], sums);
    } else {
      for (; row < rows.signs.rows; ++row) {
        add(bits[row * rows.signs.row_bytes], weights[row * rows.scale_count], sums);
      }
    }
  }

  __device__ static void add(unsigned byte, double weight, double* sums) {
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[j] += (byte >> (7 - j) & 1u) != 0 ? weight : -weight;
  }

  double* means_;
};

/// Turns a kernel of means, bound to a segment, into a kernel of elements.
template <class Element>
struct MeanElement {
  Element element;
  ChunkMeans means;
  Index begin;  ///< first element of the chunk
  __device__ auto load(Index i) const requires requires(const Element& other) { other.load(i); }
  { return element.load(i); }
  template <class Loaded>
  __device__ auto store(Index i, const Loaded& loaded) const {
    return element.store(i, loaded, means[i - begin]);
  }
  __device__ auto operator()(Index i) const { return element(i, means[i - begin]); }
};

/// Calls use(chunk index, chunk, element) for every chunk of this block; element(i) calls the kernel with element i's
/// mean.
template <class Kernel, class Use>
__device__ void for_each_mean(const ChunkView& chunks, const ScaledSignRows& rows, const double* weights,
                              const Kernel& kernel, const Use& use) {
  __shared__ double shared[static_cast<std::size_t>(ChunkMeans::kSize)];
  for (Index unit = blockIdx.x; unit < chunks.count; unit += gridDim.x) {
    const Chunk chunk = chunks[unit];
    const std::uint8_t* bits = rows.signs.bits + rows.signs.byte_offset[chunk.segment];
    const double* own = weights + chunk.segment / rows.segments_per_scale;
    const auto element = kernel.bind(chunk.segment);
    ChunkMeans means(shared);
    __syncthreads();  // all threads are done with the previous chunk
    means.fill(rows, bits + chunk.begin / 8, own, chunk.end - chunk.begin);
    __syncthreads();
    use(unit, chunk, MeanElement<decltype(kernel.bind(0))>{element, means, chunk.begin});
  }
}

template <class Kernel>
__global__ void __launch_bounds__(kThreads)
    average_signs(const __grid_constant__ ChunkView chunks, const __grid_constant__ ScaledSignRows rows,
                  const double* weights, const __grid_constant__ Kernel kernel) {
  for_each_mean(chunks, rows, weights, kernel, [](Index, const Chunk& chunk, const auto& element) {
    for (Index i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) element(i);
  });
}

/// Like average_signs, for a single row.
template <class Kernel>
__global__ void __launch_bounds__(kThreads)
    decode_signs(const __grid_constant__ ChunkView chunks, const __grid_constant__ ScaledSignRows rows,
                 const double* weights, const __grid_constant__ Kernel kernel) {
  for (Index unit = blockIdx.x; unit < chunks.count; unit += gridDim.x) {
    const Chunk chunk = chunks[unit];
    const std::uint8_t* bits = rows.signs.bits + rows.signs.byte_offset[chunk.segment];
    const double weight = weights[chunk.segment / rows.segments_per_scale];
    const auto element = kernel.bind(chunk.segment);
    for (Index i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) {
      element(i, sign_at(bits, i) > 0.0f ? weight : -weight);
    }
  }
}

template <class Kernel>
__global__ void __launch_bounds__(kSumThreads)
    sum_signs(const __grid_constant__ ChunkView chunks, const __grid_constant__ ScaledSignRows rows,
              const double* weights, const __grid_constant__ Kernel kernel, double* partial) {
  __shared__ double sums[2][kSumThreads / 32 * kLanes];
  unsigned turn = 0;
  for_each_mean(chunks, rows, weights, kernel, [&](Index unit, const Chunk& chunk, const auto& element) {
    // lane_sum_alone suffices, because computing the means takes longer than reading memory.
    const double sum = block_sum(lane_sum_alone(element, chunk), sums[turn]);
    turn ^= 1;
    if (threadIdx.x == 0) partial[unit] = sum;
  });
}

/// The packed signs of a chunk with their scales, as a function of the element in the segment. Wherever the chunk
/// begins, 32-bit counters suffice, because a chunk has few elements.
class ChunkSigns {
 public:
  __device__ ChunkSigns(const SignVector& signs, const SignPlace& place, const Chunk& chunk) {
    const Index first = place.first + chunk.begin;
    const Index run = first / place.per_scale;
    bits_ = signs.bits + place.byte + first / 8;
    scales_ = signs.scales + place.scale + run;
    const std::uint32_t begin = static_cast<std::uint32_t>(chunk.begin), per_scale = up_to_chunk(place.per_scale);
    to_bit_ = static_cast<std::uint32_t>(first % 8) - begin;
    to_run_ = per_scale - up_to_chunk((run + 1) * place.per_scale - first) - begin;
    reciprocal_ = 0xFFFFFFFFu / per_scale + 1;
  }
  __device__ float operator[](Index element) const {
    const auto i = static_cast<std::uint32_t>(element);
    const std::uint32_t bit = to_bit_ + i;
    // Counted from the start of the run in which the chunk begins, as if that run were no longer than a chunk.
    const std::uint64_t in_runs = to_run_ + i;
    const float scale = scales_[in_runs * reciprocal_ >> 32];
    return (bits_[bit / 8] >> (7 - bit % 8) & 1u) != 0 ? scale : -scale;
  }

 private:
  /// Limits a length to that of a chunk; the exact length of longer runs makes no difference.
  static __device__ std::uint32_t up_to_chunk(Index elements) {
    return static_cast<std::uint32_t>(elements < kChunk ? elements : kChunk);
  }

  const std::uint8_t* bits_;  ///< the byte with the chunk's first sign
  const float* scales_;       ///< scale of the chunk's first element, followed by the next ones
  std::uint32_t to_bit_;      ///< offset from an element's index to the index of its bit
  /// Offset from an element's index to its place in the runs that share a scale. A run longer than a chunk is treated
  /// as if it were as long as one.
  std::uint32_t to_run_;
  /// 2^32 divided by a run's length, rounded up. Gives exact quotients for numbers as small as these.
  std::uint32_t reciprocal_;
};

/// Turns a kernel that takes packed signs, bound to a chunk, into a kernel of elements.
template <class Element>
struct SignElement {
  Element element;
  ChunkSigns signs;
  __device__ auto load(Index i) const requires requires(const Element& other) { other.load(i, 0.0f); }
  { return element.load(i, signs[i]); }
  template <class Loaded>
  __device__ auto store(Index i, const Loaded& loaded) const {
    return element.store(i, loaded);
  }
  __device__ auto operator()(Index i) const { return element(i, signs[i]); }
};

/// A kernel together with the signs that it takes.
template <class Kernel>
struct WithSigns {
  Kernel kernel;
  SignVector signs;
  __device__ auto bind(Index row, const Chunk& chunk) const {
    return SignElement<decltype(kernel.bind(row, chunk.segment))>{
        kernel.bind(row, chunk.segment), ChunkSigns(signs, signs.places[chunk.segment], chunk)};
  }
};

}  // namespace onebit::device::cuda::detail
