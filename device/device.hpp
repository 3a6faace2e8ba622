#pragma once
// Where kernels run and buffers live. Kernels are templates on a queue type; Device::run hands them the right one.

#include <string>
#include <utility>

#include "device/cpu/queue.hpp"

namespace onebit::device {

class Device {
 public:
  /// The CPU with `threads` OpenMP threads; 0 means one per available core. Throws ConfigError for threads < 0.
  static Device cpu(int threads);

  /// A device by its option value: "cpu". Throws ConfigError for unknown names, NotCompiled for backends that this
  /// build lacks.
  static Device parse(const std::string& name, int threads);

  std::string name() const { return "cpu"; }
  int threads() const { return queue_.threads(); }

  /// Calls work(queue) with the queue of this device's backend.
  template <class Work>
  decltype(auto) run(Work&& work) const {
    return std::forward<Work>(work)(queue_);
  }

 private:
  explicit Device(int threads) : queue_(threads) {}
  cpu::Queue queue_;
};

}  // namespace onebit::device
