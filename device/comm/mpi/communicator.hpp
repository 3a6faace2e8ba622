#pragma once

#include "device/comm/deferred.hpp"
#include "device/comm/mpi/process_group.hpp"

namespace onebit::device::mpi {

/// Copies blocks between the devices of processes through host memory, `piece` bytes at a time.
class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MpiProcessGroup& processes, Index piece = kPiece) : processes_(processes), piece_(piece) {}

  Index rank() const override { return processes_.rank(); }
  Index size() const override { return processes_.size(); }
  Index bytes_received() const override { return bytes_received_; }
  void all_to_all(const Device& device, std::span<const Blocks> to, std::span<const Blocks> from) override;
  std::vector<double> all_gather(std::span<const double> own) override;

 private:
  void synchronise(std::span<const Blocks> to, std::span<const Blocks> from);
  void swap(const Device& device, const Blocks& to, Index to_rank, const Blocks& from, Index from_rank,
            Deferred& failure);

  MpiProcessGroup& processes_;
  Index piece_;
  Index bytes_received_ = 0;
  std::vector<std::byte> sent_, received_;  ///< host buffers for one piece each
};

}  // namespace onebit::device::mpi
