#pragma once
// A device. Kernels run on it, and buffers live in its memory. device/launch/launch.hpp launches kernels; each backend
// has a queue type.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "device/cpu/queue.hpp"
#include "device/launch/recording.hpp"
#include "device/memory/memory.hpp"
#if defined(ONEBIT_CUDA)
#include "device/cuda/queue.hpp"
#endif

namespace onebit::device {

class Device {
 public:
  /// The CPU with `threads` OpenMP threads. 0 stands for OMP_NUM_THREADS or, if that is not set, one per available
  /// core. Throws ConfigError for threads < 0.
  static Device cpu(int threads);

  /// The CPU with memory that only kernels and copies may access (debug/memory.hpp).
  static Device debug(int threads);

  /// The GPU with this ordinal. Throws NotCompiled in a build without CUDA, and ConfigError if there is no such GPU or
  /// it is too old.
  static Device cuda(int ordinal);

  /// Returns a device like this one that computes and stores nothing, and only counts memory (plan/memory.hpp).
  Device plan() const;
  bool plans() const;

  /// Returns this device with the operands of its matrix products rounded to `precision`. By default, operands are not
  /// rounded.
  Device with_precision(Precision precision) const;
  Precision precision() const;

  /// Returns this device with GraphCache's recording of launches allowed or forbidden. Only GPUs can record. A new
  /// Device allows recording.
  Device with_recordings(bool allowed) const;
  bool records() const { return is_gpu() && records_; }
  /// Records what `work` launches, without running it. GraphCache::run() states what `work` may do. The device's
  /// records() must be true.
  std::shared_ptr<const Recording> record(const std::function<void()>& work) const;

  const std::string& name() const { return name_; }
  /// Whether this is a GPU, which has its own memory and works asynchronously to the host.
  bool is_gpu() const { return name_.starts_with("cuda"); }
  /// Number of OpenMP threads of its kernels; 1 for a GPU.
  int threads() const;
  Memory& memory() const { return *memory_; }
  const std::shared_ptr<Memory>& shared_memory() const { return memory_; }

  /// Calls work(queue) with the queue of this device's backend.
  template <class Work>
  decltype(auto) run(Work&& work) const {
    return std::visit(std::forward<Work>(work), queue_);
  }

  /// Records an event after everything launched so far; null for a device whose launches are complete when they return.
  std::shared_ptr<const Event> record_event() const {
    return run([](const auto& queue) { return queue.record_event(); });
  }

  /// Delays everything that is launched from now on until the event of another device of the same backend has occurred;
  /// the host does not wait. Null has no effect.
  void start_after(const Event* event) const {
    run([&](const auto& queue) { queue.start_after(event); });
  }

  /// Waits until every kernel and copy is done.
  void synchronize() const {
    run([](const auto& queue) { queue.synchronize(); });
  }

 private:
#if defined(ONEBIT_CUDA)
  using Queue = std::variant<cpu::Queue, cuda::Queue>;
#else
  using Queue = std::variant<cpu::Queue>;
#endif
  Device(std::string name, Queue queue, std::shared_ptr<Memory> memory)
      : name_(std::move(name)), queue_(std::move(queue)), memory_(std::move(memory)) {}

  std::string name_;
  Queue queue_;
  std::shared_ptr<Memory> memory_;
  bool records_ = true;
};

/// Returns the devices for an option value: "cpu", "cpu:2" (two logical devices that share the threads), "debug",
/// "debug:2", "cuda" (the first GPU), "cuda:0,1". `threads` is the number of OpenMP threads of all devices together,
/// but each device has at least one; 0 has the same meaning as for Device::cpu. Throws ConfigError for any other value,
/// and NotCompiled for backends that this build lacks.
std::vector<Device> parse_devices(const std::string& text, int threads);

/// Returns the devices of this machine, each as an option value and a one-line description. If there is no GPU, one row
/// gives the reason.
std::vector<std::pair<std::string, std::string>> list_devices();

}  // namespace onebit::device
