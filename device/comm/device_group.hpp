#pragma once
// The devices of this process: one or several, each with its own thread; only one if there are several processes.

#include <functional>

#include "device/comm/process_group.hpp"

namespace onebit::device {

class DeviceGroup {
 public:
  /// Divides `workers` among the devices, which must be of one backend. If there are several processes, each has one
  /// device, and the workers are divided among the processes. Throws ConfigError if a device would hold no worker, or
  /// if one of several processes has several devices.
  DeviceGroup(std::vector<Device> devices, Index workers, std::shared_ptr<ProcessGroup> processes = single_process());
  ~DeviceGroup();
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  /// Number of devices of this process.
  Index size() const { return static_cast<Index>(shards_.size()); }
  const Shard& shard(Index device) const { return shards_[static_cast<std::size_t>(device)]; }
  ProcessGroup& processes() const { return *processes_; }

  /// Calls work(device) for all devices of this process at the same time, the first on the calling thread, and returns
  /// when the calls of all processes have returned. If calls throw, ranks that wait in an exchange give up, and every
  /// process rethrows the error of the lowest rank that threw. Throws Error if the ranks do not make the same
  /// exchanges.
  void run(const std::function<void(Index device)>& work);

 private:
  class Rendezvous;
  class Threads;
  std::shared_ptr<ProcessGroup> processes_;
  std::shared_ptr<Rendezvous> rendezvous_;
  std::vector<Shard> shards_;
  std::unique_ptr<Threads> threads_;
};

}  // namespace onebit::device
