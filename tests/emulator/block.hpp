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

/// Runs a kernel's blocks in random order; under TSan, several threads of this process share them. Every other launch
/// begins with the last thread of a block, so that missing synchronisation gives different results. Aborts with a
/// message if threads of a block wait for others that never arrive. together: runs all blocks at once, each in its own
/// thread of this process; if they wait for each other in vain, they wait forever.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& kernel, bool together);

/// The place of a thread in its grid.
struct Place {
  dim3 grid, block, block_index, thread_index;
};
const Place& place();

/// Orders this thread's accesses before it and after it, for all threads.
void fence();

/// Called where a kernel declares shared memory: all variables that this line of code declares are in [begin, end).
/// Fills them with NaN if this thread is the block's first to get there.
void use_shared_memory(char* begin, const char* end);

/// A call in a kernel at which threads meet.
struct Call {
  const char* name = "";
  const char* file = "";
  unsigned line = 0;
  static constexpr Call at(const char* name, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {name, file, line};
  }
};

/// Waits for all threads of the block that have not returned. Returns whether any of them passed in true. Here and in
/// meet_in_warp(), threads that meet must do so in the same call, or this aborts with a message that names both.
bool wait_for_block(bool any, const Call& call);
/// Waits for the threads of this warp that the mask names, and returns to each the 32 values that they passed in.
/// Aborts if the mask does not name this thread.
const std::uint64_t* meet_in_warp(std::uint32_t mask, std::uint64_t value, const Call& call);
/// Returns the value that another lane has passed in. Aborts if the mask does not name the lane.
std::uint64_t brought_by(unsigned lane, std::uint32_t mask, std::uint64_t value, const Call& call);
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
/// Shared memory belongs to the thread of this process that runs the block. Each line of code has a section of its own,
/// because filling all shared memory for every block would take longer than most kernels. The linker defines the names
/// of a section's ends. gcc ignores the attribute in a template; then both names are 0, and nothing is filled.
#define __shared__ ONEBIT_SHARED_AT(__LINE__)
#define ONEBIT_SHARED_AT(line) ONEBIT_SHARED(line)
#define ONEBIT_SHARED(line)                                                                        \
  onebit::emulator::use_shared_memory(ONEBIT_THREAD_LOCAL_ADDRESS("__start_onebit_shared_" #line), \
                                      ONEBIT_THREAD_LOCAL_ADDRESS("__stop_onebit_shared_" #line)); \
  static thread_local __attribute__((section("onebit_shared_" #line)))
#define ONEBIT_THREAD_LOCAL_ADDRESS(name)                                                                \
  [] {                                                                                                   \
    char* address = nullptr;                                                                             \
    asm(".weak " name "\n\tmovq " name "@gottpoff(%%rip), %0\n\taddq %%fs:0, %0" : "=r"(address)::"cc"); \
    return address;                                                                                      \
  }()
#define threadIdx (onebit::emulator::place().thread_index)
#define blockIdx (onebit::emulator::place().block_index)
#define blockDim (onebit::emulator::place().block)
#define gridDim (onebit::emulator::place().grid)

using EmulatedCall = onebit::emulator::Call;

inline void __syncthreads(EmulatedCall call = EmulatedCall::at("__syncthreads")) {
  onebit::emulator::wait_for_block(false, call);
}
inline int __syncthreads_or(int predicate, EmulatedCall call = EmulatedCall::at("__syncthreads_or")) {
  return onebit::emulator::wait_for_block(predicate != 0, call) ? 1 : 0;
}
inline void __syncwarp(std::uint32_t mask = 0xFFFFFFFFu, EmulatedCall call = EmulatedCall::at("__syncwarp")) {
  onebit::emulator::meet_in_warp(mask, 0, call);
}
inline std::uint32_t __ballot_sync(std::uint32_t mask, int predicate,
                                   EmulatedCall call = EmulatedCall::at("__ballot_sync")) {
  const std::uint64_t* brought = onebit::emulator::meet_in_warp(mask, predicate != 0 ? 1 : 0, call);
  std::uint32_t ballot = 0;
  for (unsigned l = 0; l < 32; ++l) {
    if ((mask >> l & 1u) != 0 && brought[l] != 0) ballot |= 1u << l;
  }
  return ballot;
}
template <class T>
T __shfl_xor_sync(std::uint32_t mask, T value, int other, EmulatedCall call = EmulatedCall::at("__shfl_xor_sync")) {
  const unsigned from = onebit::emulator::lane() ^ static_cast<unsigned>(other);
  return onebit::emulator::from_bits<T>(
      onebit::emulator::brought_by(from, mask, onebit::emulator::to_bits(value), call));
}
template <class T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned distance,
                 EmulatedCall call = EmulatedCall::at("__shfl_up_sync")) {
  const unsigned lane = onebit::emulator::lane(), from = lane < distance ? lane : lane - distance;
  return onebit::emulator::from_bits<T>(
      onebit::emulator::brought_by(from, mask, onebit::emulator::to_bits(value), call));
}
template <class T>
std::uint32_t __match_any_sync(std::uint32_t mask, T value, EmulatedCall call = EmulatedCall::at("__match_any_sync")) {
  const std::uint64_t* brought = onebit::emulator::meet_in_warp(mask, onebit::emulator::to_bits(value), call);
  std::uint32_t same = 0;
  for (unsigned l = 0; l < 32; ++l) {
    if ((mask >> l & 1u) != 0 && brought[l] == onebit::emulator::to_bits(value)) same |= 1u << l;
  }
  return same;
}
template <class T>
T atomicAdd(T* sum, T value) {
  return std::atomic_ref(*sum).fetch_add(value, std::memory_order_relaxed);  // as on a GPU, it orders nothing else
}
inline void __threadfence() {
  onebit::emulator::fence();
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
