#pragma once

#include "device/comm/deferred.hpp"
#include "device/comm/mpi/world.hpp"

namespace onebit::device::mpi {

/// Copies blocks between the devices of processes by way of host memory, `piece` bytes at a time.
class MpiExchange final : public Exchange {
 public:
  explicit MpiExchange(MpiWorld& world, Index piece = kPiece) : world_(world), piece_(piece) {}

  Index rank() const override { return world_.rank(); }
  Index size() const override { return world_.size(); }
  Index bytes_received() const override { return bytes_received_; }
  void all_to_all(const Device& device, std::span<const Blocks> to, std::span<const Blocks> from) override;
  std::vector<double> all_gather(std::span<const double> own) override;

 private:
  void meet(std::span<const Blocks> to, std::span<const Blocks> from);
  void swap(const Device& device, const Blocks& to, Index to_rank, const Blocks& from, Index from_rank,
            Deferred& failure);

  MpiWorld& world_;
  Index piece_;
  Index bytes_received_ = 0;
  std::vector<std::byte> sent_, received_;  ///< a piece each
};

}  // namespace onebit::device::mpi
