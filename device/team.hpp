#pragma once
// Several devices in one process, a thread each.

#include <functional>

#include "device/exchange.hpp"

namespace onebit::device {

class Team {
 public:
  /// Shards `workers` over the devices, which are of one backend. Throws ConfigError where a device would hold none.
  Team(std::vector<Device> devices, Index workers);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  Index size() const { return static_cast<Index>(shards_.size()); }
  const Shard& shard(Index rank) const { return shards_[static_cast<std::size_t>(rank)]; }

  /// Calls work(rank) for every rank at the same time, rank 0 on the calling thread, and waits for all. If some throw,
  /// the others leave their exchanges, and the first rank's error is rethrown.
  void run(const std::function<void(Index rank)>& work);

 private:
  class Board;
  class Threads;
  std::shared_ptr<Board> board_;
  std::vector<Shard> shards_;
  std::unique_ptr<Threads> threads_;
};

}  // namespace onebit::device
