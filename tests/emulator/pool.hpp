#pragma once
// The memory of emulated GPUs, which only their kernels and copies can access, and what the parts of the emulated
// runtime share.

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "device/debug/memory.hpp"
#include "tests/emulator/stream.hpp"

namespace onebit::emulator {

inline constexpr int kGpus = 2;

/// The memory of a GPU: pages that are open while the GPU works. ASan also reports accesses between a block's end and
/// the end of its last page.
struct Pool {
  std::mutex mutex;
  std::size_t total = std::size_t{1} << 30, used = 0, peak = 0;
  std::size_t recorded = 0, recorded_peak = 0;  ///< bytes that graphs hold, and the most that they have held
  std::size_t kept = 0, kept_by_graphs = 0;     ///< unused bytes that can be trimmed
  std::size_t code = 0;                         ///< free bytes without which no kernel starts
  std::size_t freed_last = 0;  ///< bytes still counted as used until the next allocation, because CUDA may count late
  std::atomic<cudaError_t> fault = cudaSuccess;
  device::debug::GuardedMemory pages;

  std::size_t free() const { return total - std::min(used + recorded + kept + kept_by_graphs, total); }
  /// Takes memory that holds NaN. The mutex must be held, here and in the next function.
  void* take(std::size_t bytes);
  void release(void* data, bool from_graph);
  /// Whether a block of this GPU contains all of these bytes.
  bool holds(const void* data, std::size_t bytes);

 private:
  std::map<std::uintptr_t, std::size_t> blocks_;  ///< sizes by address
};

Pool& pool_of(int ordinal);
bool exists(int ordinal);

/// Whether these bytes are memory of the host, which no GPU owns.
bool is_host_memory(const void* data, std::size_t bytes);

/// Releases memory of a GPU. from_graph: whether a recording allocated it.
void release(int gpu, void* data, bool from_graph = false);

/// Whether an allocation that begins now has to fail (fail_allocations_after()).
bool allocation_fails();

/// Keeps an error for cudaGetLastError(), and returns it.
cudaError_t report(cudaError_t status);

/// Reports the error that the GPU has, if any.
cudaError_t state_of(int ordinal);

/// Reports an error if this thread records, and makes its recordings invalid; for calls that CUDA forbids during them.
cudaError_t not_while_recording();

/// Adds work to a stream or to its recording. Fails if the GPU is lost.
cudaError_t add(cudaStream_t stream, std::function<void()> work, bool keeps_busy = true);

/// Fills memory that nothing has written to yet with NaN.
void spoil(void* data, std::size_t bytes);

}  // namespace onebit::emulator
