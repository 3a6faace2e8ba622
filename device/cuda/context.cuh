#pragma once
// The resources of a queue of the CUDA backend: a GPU, a stream, a cuBLAS handle and scratch memory.

#include <vector>

#include "device/cuda/blas.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/owned.cuh"
#include "device/cuda/pinned_pool.cuh"
#include "device/cuda/queue.hpp"
#include "device/cuda/staging.cuh"

namespace onebit::device::cuda {

inline cublasStatus_t destroy_blas(cublasHandle_t handle) {
  return blas().destroy(handle);
}

/// A pool of events that record the time. Events given back are reused; a step needs about twenty.
class TimedEvents {
 public:
  TimedEvents() = default;
  ~TimedEvents();
  TimedEvents(const TimedEvents&) = delete;
  TimedEvents& operator=(const TimedEvents&) = delete;

  /// Takes an event of the current GPU.
  cudaEvent_t take();
  void give_back(cudaEvent_t event) noexcept { free_.push_back(event); }

 private:
  std::vector<cudaEvent_t> free_;  ///< events given back; has capacity for all events made
  std::size_t made_ = 0;
};

/// The resources of a queue, used by one thread at a time. Each stream has its own cuBLAS handle, because cuBLAS does
/// not promise the same bits in every run if streams share one.
struct Context {
  explicit Context(int gpu);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int ordinal() const { return ordinal_; }
  cudaStream_t stream() const { return stream_.get(); }
  cublasHandle_t blas();
  Staging& staging() { return staging_; }
  PinnedPool& pinned() { return pinned_; }
  TimedEvents& events() { return events_; }

  /// Makes the GPU current in this thread. Must precede every other CUDA call, because each thread has its own current
  /// GPU. The previous GPU is not restored: this program might not use it at all, and making it current would take
  /// memory on it.
  void make_current() const;

  /// Makes a call to CUDA or cuBLAS that may need memory; the first launch of a kernel does, to load its code. If there
  /// is too little memory, waits for the stream, returns unused memory of the pool and of finished graphs to the
  /// system, and repeats the call, except while launches are recorded, when this is not allowed. Throws like check(),
  /// with the name of the call or the kernel's type.
  template <class Name, class Call>
  void with_memory(const Name& name, const Call& call) const {
    auto status = call();
    if (lacks_memory(status) && !recording_) {
      ignore(status);
      return_unused_memory();
      status = call();
    }
    check(status, name);
  }
  /// Allocates memory in the order of the stream.
  void* allocate(Index bytes) const;

  /// Returns memory of `bytes` bytes for the kernels launched next. The next call may return the same memory, for
  /// kernels that follow these in the stream.
  void* workspace(Index bytes);
  /// Number of times that the workspace has moved.
  Index workspaces() const { return workspaces_; }

  /// Whether launches are recorded instead of run.
  bool recording() const { return recording_; }
  void set_recording(bool recording) { recording_ = recording; }

 private:
  void require_memory() const;
  void return_unused_memory() const;
  void release_workspace() noexcept;

  int ordinal_;
  Owned<cudaStream_t, &cudaStreamDestroy> stream_;
  Owned<cublasHandle_t, &destroy_blas> blas_;
  Staging staging_;
  PinnedPool pinned_;
  TimedEvents events_;
  void* blas_workspace_ = nullptr;
  void* workspace_ = nullptr;
  Index workspace_bytes_ = 0;
  Index workspaces_ = 0;
  bool recording_ = false;
};

}  // namespace onebit::device::cuda
