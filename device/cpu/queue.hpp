#pragma once
// The CPU backend's execution resource: a number of threads. Its type selects the backend in every kernel template.

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <exception>
#include <functional>

#include "device/base/types.hpp"
#include "device/debug/memory.hpp"
#include "device/launch/event.hpp"
#include "device/launch/recording.hpp"
#include "device/math/precision.hpp"
#include "device/plan/memory.hpp"

namespace onebit::device::cpu {

/// Memory for the intermediate results of a launch. It grows as needed, and is kept for the next launch.
class Workspace {
 public:
  explicit Workspace(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
  ~Workspace() { release(); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  double* reserve(Index count) {
    if (count <= count_) return data_;
    release();
    data_ = static_cast<double*>(memory_->allocate(count * static_cast<Index>(sizeof(double))));
    count_ = count;
    return data_;
  }

 private:
  void release() {
    if (data_ != nullptr) memory_->release(data_);
    data_ = nullptr;
    count_ = 0;
  }

  std::shared_ptr<Memory> memory_;
  double* data_ = nullptr;
  Index count_ = 0;
};

class Queue {
 public:
  /// Makes a queue. If `memory` belongs to a debug device, it is made accessible while kernels run; if it belongs to a
  /// plan, kernels do not run. Without `memory` there is no workspace.
  explicit Queue(int threads, const std::shared_ptr<Memory>& memory = nullptr)
      : threads_(threads),
        plans_(dynamic_cast<plan::PlanMemory*>(memory.get()) != nullptr),
        guard_(std::dynamic_pointer_cast<debug::GuardedMemory>(memory)),
        workspace_(std::make_shared<Workspace>(memory)) {}
  int threads() const { return threads_; }
  bool plans() const { return plans_; }
  debug::GuardedMemory* guard() const { return guard_.get(); }
  Precision precision() const { return precision_; }
  void set_precision(Precision precision) { precision_ = precision; }

  /// Returns memory for `count` numbers, for the current launch.
  double* workspace(Index count) const { return workspace_->reserve(count); }

  /// On a debug device, throws Error if a pointer in the kernel points to memory outside the device.
  template <class Kernel>
  void check(const Kernel& kernel) const {
    if (guard_ && debug::kChecksPointers) check_words(kernel);
  }
  void synchronize() const {}
  std::shared_ptr<const Event> record_event() const { return nullptr; }
  void start_after(const Event*) const {}
  /// Returns null, because a CPU gains nothing from recordings.
  std::shared_ptr<const Recording> record(const std::function<void()>&) const { return nullptr; }

 private:
  template <class Kernel>
  void check_words(Kernel kernel) const {
#if ONEBIT_CLEAR_PADDING
    __builtin_clear_padding(&kernel);
#endif
    guard_->check(&kernel, sizeof kernel, typeid(Kernel));
  }

  int threads_;
  Precision precision_ = Precision::fp32;
  bool plans_;
  std::shared_ptr<debug::GuardedMemory> guard_;
  std::shared_ptr<Workspace> workspace_;
};

/// Makes this thread's floating-point unit treat denormal numbers as zero during this object's lifetime. One denormal
/// operand costs as much as a hundred normal ones, and the tails of GELU and of decaying moments contain many of them.
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

/// Whether threads that share `units` units of equal size are idle for at most an eighth of their time.
inline bool fills(const Queue& queue, Index units) {
  return 8 * units >= 7 * round_up(units, queue.threads());
}

/// Runs body(unit) for every unit in [0, units), spread over the queue's threads; does nothing if the queue is a
/// plan's. The first exception of a body is rethrown here after all threads have stopped.
template <class Body>
void parallel(const Queue& queue, Index units, Body body) {
  if (queue.plans()) return;
  if (queue.threads() == 1 || units <= 1) {
    const debug::Access access(queue.guard());
    [[maybe_unused]] const FlushDenormals flush{};
    for (Index unit = 0; unit < units; ++unit) body(unit);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel num_threads(queue.threads())
  {
    const debug::Access access(queue.guard());
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
