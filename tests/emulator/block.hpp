#pragma once
// Runs a block of CUDA threads on one processor: one thread after the other, each until it has to wait for others. Also
// defines the keywords and intrinsics of device code.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

namespace onebit::emulator {

/// Runs a kernel's threads, block by block. Every other launch begins with the last thread of a block, so that missing
/// synchronisation gives different results. Aborts with a message if threads of a block wait for others that never
/// arrive. together: runs all blocks at once, each in its own thread of this process; if they wait for each other in
/// vain, they wait forever.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& kernel, bool together);

/// The place of a thread in its grid.
struct Place {
  dim3 grid, block, block_index, thread_index;
};
const Place& place();

/// Called where a kernel declares shared memory. Fills all shared memory of the block with NaN if this thread is the
/// block's first to get there.
void use_shared_memory();

/// Waits for all threads of the block that have not returned.
void wait_for_block();
/// Waits for the threads of this warp that the mask names, and returns to each the 32 values that they passed in.
const std::uint64_t* meet_in_warp(std::uint32_t mask, std::uint64_t value);
/// Returns this thread's index in its warp.
unsigned lane();

template <class T>
std::uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace onebit::emulator

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__                       \
  onebit::emulator::use_shared_memory(); \
  static thread_local __attribute__((section("onebit_shared")))
#define threadIdx (onebit::emulator::place().thread_index)
#define blockIdx (onebit::emulator::place().block_index)
#define blockDim (onebit::emulator::place().block)
#define gridDim (onebit::emulator::place().grid)

inline void __syncthreads() {
  onebit::emulator::wait_for_block();
}
inline int __syncthreads_or(int predicate) {
  static thread_local int any = 0;
  __syncthreads();  // all threads have read and reset the previous answer
  if (predicate != 0) any = 1;
  __syncthreads();
  const int answer = any;
  __syncthreads();
  any = 0;
  return answer;
}
inline void __syncwarp(std::uint32_t mask = 0xFFFFFFFFu) {
  onebit::emulator::meet_in_warp(mask, 0);
}
inline std::uint32_t __ballot_sync(std::uint32_t mask, int predicate) {
  const std::uint64_t* brought = onebit::emulator::meet_in_warp(mask, predicate != 0 ? 1 : 0);
  std::uint32_t ballot = 0;
  for (unsigned l = 0; l < 32; ++l) {
    if ((mask >> l & 1u) != 0 && brought[l] != 0) ballot |= 1u << l;
  }
  return ballot;
}
template <class T>
T __shfl_xor_sync(std::uint32_t mask, T value, int other, int = 32) {
  const std::uint64_t* brought = onebit::emulator::meet_in_warp(mask, onebit::emulator::to_bits(value));
  return onebit::emulator::from_bits<T>(brought[onebit::emulator::lane() ^ static_cast<unsigned>(other)]);
}
template <class T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned distance) {
  const std::uint64_t* brought = onebit::emulator::meet_in_warp(mask, onebit::emulator::to_bits(value));
  const unsigned lane = onebit::emulator::lane();
  return lane < distance ? value : onebit::emulator::from_bits<T>(brought[lane - distance]);
}
template <class T>
std::uint32_t __match_any_sync(std::uint32_t mask, T value) {
  const std::uint64_t* brought = onebit::emulator::meet_in_warp(mask, onebit::emulator::to_bits(value));
  std::uint32_t same = 0;
  for (unsigned l = 0; l < 32; ++l) {
    if ((mask >> l & 1u) != 0 && brought[l] == onebit::emulator::to_bits(value)) same |= 1u << l;
  }
  return same;
}
template <class T>
T atomicAdd(T* sum, T value) {
  return std::atomic_ref(*sum).fetch_add(value);
}
inline void __threadfence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void __nanosleep(unsigned) {
  std::this_thread::yield();
}
inline int __popc(std::uint32_t word) {
  return __builtin_popcount(word);
}
inline std::uint32_t __brev(std::uint32_t word) {
  std::uint32_t reversed = 0;
  for (unsigned bit = 0; bit < 32; ++bit) reversed |= (word >> bit & 1u) << (31 - bit);
  return reversed;
}
