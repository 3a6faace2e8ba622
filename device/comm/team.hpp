#pragma once
// The devices of this process: several, a thread each, or one of those that several processes have.

#include <functional>

#include "device/comm/world.hpp"

namespace onebit::device {

class Team {
 public:
  /// Shards `workers` over the devices, which are of one backend; where the world has several processes, over their
  /// devices, one each. Throws ConfigError where a device would hold none, or a process several.
  Team(std::vector<Device> devices, Index workers, std::shared_ptr<World> world = alone());
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Devices of this process.
  Index size() const { return static_cast<Index>(shards_.size()); }
  const Shard& shard(Index device) const { return shards_[static_cast<std::size_t>(device)]; }
  World& world() const { return *world_; }

  /// Calls work(device) for every device at the same time, the first on the calling thread, and waits for those of all
  /// processes. If some throw, the others leave their exchanges, and the first rank's error is rethrown, in every
  /// process.
  void run(const std::function<void(Index device)>& work);

 private:
  class Board;
  class Threads;
  std::shared_ptr<World> world_;
  std::shared_ptr<Board> board_;
  std::vector<Shard> shards_;
  std::unique_ptr<Threads> threads_;
};

}  // namespace onebit::device
