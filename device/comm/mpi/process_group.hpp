#pragma once
// The processes that mpirun has started.

#include <exception>
#include <string>

#include "device/comm/mpi/abi.hpp"
#include "device/comm/process_group.hpp"

namespace onebit::device::mpi {

/// The largest message with blocks of device memory, in bytes: larger ones are sent in pieces, which bounds the host
/// memory that they need.
inline constexpr Index kPiece = Index{1} << 20;

/// The next action of a rank; it must be the same on all ranks.
enum class Act : Index { numbers, blocks, done, failed };

/// A rank's announcement of its next action to the other ranks.
struct Note {
  Act act = Act::done;
  Index length = 0;             ///< number of values that it sends, or of bytes in the reason for its failure
  std::vector<Index> to, from;  ///< fingerprints of the blocks sent to and received from each rank
  Index depth = 0;              ///< number of calls of run() that the rank is in; filled in when the note is shared
};

class MpiProcessGroup final : public ProcessGroup {
 public:
  MpiProcessGroup(const OnebitMpi& mpi, const MpiEnvironment& launch);
  ~MpiProcessGroup() override;
  MpiProcessGroup(const MpiProcessGroup&) = delete;
  MpiProcessGroup& operator=(const MpiProcessGroup&) = delete;

  Index rank() const override { return rank_; }
  Index size() const override { return size_; }
  Index hosts() const override { return hosts_; }
  Index neighbours() const override { return neighbours_; }
  int threads() const override { return threads_; }
  std::shared_ptr<Communicator> communicator() override;
  void run(const std::function<void()>& work) override;
  bool any(bool own) override;
  void all_reduce(std::span<float> values) override;
  void all_to_all(std::span<const float> to, std::span<float> from) override;
  void all_gather(std::span<const float> own, std::span<float> all) override;

  const OnebitMpi& mpi() const { return mpi_; }

  /// Shares this rank's note with the other ranks and returns the notes of all ranks. Throws if a rank has failed, or
  /// if the ranks are about to do different things. The innermost run() call that all ranks share catches the exception
  /// and rethrows it as the reported error.
  std::vector<Note> synchronise(const Note& own);

  /// Returns the numbers of all ranks, in rank order.
  std::vector<double> gather(std::span<const double> own);

 private:
  std::vector<Note> show(const Note& own);
  void meet_failing(const std::exception_ptr& failure);
  void find_places();

  const OnebitMpi& mpi_;
  Index rank_ = 0, size_ = 1, hosts_ = 1, neighbours_ = 1;
  int threads_ = 1;
  Index depth_ = 0;     ///< number of calls of run() that this rank is in
  std::string reason_;  ///< this rank's failure, packed for the other ranks
};

/// Joins the processes. Throws NotCompiled if there is no plugin, and Error if MPI's rank or size differs from
/// `launch`.
std::shared_ptr<ProcessGroup> join(const MpiEnvironment& launch);

}  // namespace onebit::device::mpi
