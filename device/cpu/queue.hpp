#pragma once
// The CPU backend's execution resource: a number of threads. Its type selects the backend in every kernel template.

#include <exception>

#include "device/types.hpp"

namespace onebit::device::cpu {

class Queue {
 public:
  explicit Queue(int threads) : threads_(threads) {}
  int threads() const { return threads_; }

 private:
  int threads_;
};

/// Runs body(unit) for every unit in [0, units), units spread over the queue's threads. The first exception of a body
/// is rethrown here after all threads have stopped.
template <class Body>
void parallel(const Queue& queue, Index units, Body body) {
  if (queue.threads() == 1 || units <= 1) {
    for (Index unit = 0; unit < units; ++unit) body(unit);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel for num_threads(queue.threads()) schedule(static)
  for (Index unit = 0; unit < units; ++unit) {
    try {
      body(unit);
    } catch (...) {
#pragma omp critical(onebit_parallel_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace onebit::device::cpu
