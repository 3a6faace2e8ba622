#pragma once
// How the devices of a run reach each other. A rank is one device: a thread of this process (device_group.hpp), or a
// process of its own (process_group.hpp); peer copies and NCCL fit behind the same interface. The calls are collective:
// every rank makes the same ones in the same order.

#include <span>
#include <vector>

#include "device/device.hpp"

namespace onebit::device {

using Blocks = std::vector<Block>;

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual Index rank() const = 0;
  virtual Index size() const = 0;

  /// Copies the blocks to[r] to rank r, whose from[rank()] must list blocks of the same shapes. Both have size()
  /// entries; the own entry is copied too. Sees the results of every kernel launched before, on every rank; what is
  /// launched next, on any, comes after the copies. Throws Error where shapes do not fit.
  virtual void all_to_all(const Device& device, std::span<const Blocks> to, std::span<const Blocks> from) = 0;

  /// Numbers in host memory, those of all ranks one after the other.
  virtual std::vector<double> all_gather(std::span<const double> own) = 0;

  /// Bytes of device memory that all_to_all brought here from other ranks so far.
  virtual Index bytes_received() const = 0;
};

/// Which workers a device holds, and how it reaches those that hold the others.
struct Shard {
  Device device;
  std::vector<Range> ranges;  ///< workers held by each rank: contiguous, whole blocks (DenseSum::kBlock)
  std::shared_ptr<Communicator> communicator;

  Index rank() const { return communicator->rank(); }
  Index ranks() const { return communicator->size(); }
  Index workers() const { return ranges.back().end(); }
  Range own() const { return ranges[static_cast<std::size_t>(rank())]; }
};

/// Of the only rank there is.
std::shared_ptr<Communicator> solo_communicator();

/// The only device of a run.
Shard whole(const Device& device, Index workers);

/// Cuts workers into `ranks` contiguous shards of whole blocks. Throws ConfigError where a rank would hold none.
std::vector<Range> shard_ranges(Index workers, Index ranks);

}  // namespace onebit::device
