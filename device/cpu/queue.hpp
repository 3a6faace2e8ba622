#pragma once
// The CPU backend's execution resource: a number of threads. Its type selects the backend in every kernel template.

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <exception>

#include "device/debug/memory.hpp"
#include "device/types.hpp"

namespace onebit::device::cpu {

class Queue {
 public:
  /// Kernels of a debug device run with its memory opened for them.
  explicit Queue(int threads, std::shared_ptr<debug::GuardedMemory> guard = nullptr)
      : threads_(threads), guard_(std::move(guard)) {}
  int threads() const { return threads_; }
  debug::GuardedMemory* guard() const { return guard_.get(); }

  /// On a debug device: throws Error unless every pointer in the kernel is into its memory.
  template <class Kernel>
  void check(const Kernel& kernel) const {
    if (guard_ && debug::kChecksPointers) check_words(kernel);
  }
  void synchronize() const {}

 private:
  template <class Kernel>
  void check_words(Kernel kernel) const {
#if ONEBIT_CLEAR_PADDING
    __builtin_clear_padding(&kernel);
#endif
    guard_->check(&kernel, sizeof kernel, typeid(Kernel));
  }

  int threads_;
  std::shared_ptr<debug::GuardedMemory> guard_;
};

/// While it lives, this thread's floating-point unit takes numbers below the normal range as zero. One denormal operand
/// costs a hundred normal ones, and the tails of GELU and of decaying moments are full of them.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : saved_(_mm_getcsr()) {
    _mm_setcsr(saved_ | 0x8040u);
  }  // flush to zero, denormals are zero
  ~FlushDenormals() {
    _mm_setcsr(saved_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
#endif
};

/// Runs body(unit) for every unit in [0, units), units spread over the queue's threads. The first exception of a body
/// is rethrown here after all threads have stopped.
template <class Body>
void parallel(const Queue& queue, Index units, Body body) {
  const debug::Access access(queue.guard());
  if (queue.threads() == 1 || units <= 1) {
    [[maybe_unused]] const FlushDenormals flush{};
    for (Index unit = 0; unit < units; ++unit) body(unit);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel num_threads(queue.threads())
  {
    [[maybe_unused]] const FlushDenormals flush{};
#pragma omp for schedule(static)
    for (Index unit = 0; unit < units; ++unit) {
      try {
        body(unit);
      } catch (...) {
#pragma omp critical(onebit_parallel_failure)
        if (!failure) failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace onebit::device::cpu
