#pragma once
// How the devices of a run communicate. A rank is one device: a thread of this process (device_group.hpp), or a
// separate process (process_group.hpp); the interface also suits peer copies and NCCL. The calls are collective: every
// rank must make the same calls in the same order.

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

  /// Copies the blocks listed in to[r] to those that rank r lists in its from[q], where q is this rank; both lists must
  /// have blocks of the same shapes. `to` and `from` have size() entries each; a rank's own entry is copied too. The
  /// copies include the results of every kernel that any rank has launched before; everything that any rank launches
  /// later runs after the copies. With several ranks, throws Error if shapes do not match.
  virtual void all_to_all(const Device& device, std::span<const Blocks> to, std::span<const Blocks> from) = 0;

  /// Returns the numbers of all ranks, in host memory and in rank order.
  virtual std::vector<double> all_gather(std::span<const double> own) = 0;

  /// Whether the calling program sends the blocks to the other ranks over its own network. If so, sending fewer bytes
  /// is preferable, even if that takes more blocks.
  virtual bool is_network() const { return false; }

  /// Bytes of device memory that all_to_all has received from other ranks so far.
  virtual Index bytes_received() const = 0;
};

/// The workers that a device holds, and its communicator with the devices that hold the others.
struct Shard {
  Device device;
  std::vector<Range> ranges;  ///< workers of each rank, contiguous and in order; in a run, each device holds whole
                              ///< blocks (DenseSum::kBlock)
  std::shared_ptr<Communicator> communicator;

  Index rank() const { return communicator->rank(); }
  Index ranks() const { return communicator->size(); }
  Index workers() const { return ranges.back().end(); }
  Range own() const { return ranges[static_cast<std::size_t>(rank())]; }
};

/// The communicator of a single rank.
std::shared_ptr<Communicator> solo_communicator();

/// The shard of a run's only device, which holds all workers.
Shard whole(const Device& device, Index workers);

/// Divides the workers into `ranks` contiguous shards of whole blocks. Throws ConfigError if a rank would hold no
/// worker.
std::vector<Range> shard_ranges(Index workers, Index ranks);

}  // namespace onebit::device
