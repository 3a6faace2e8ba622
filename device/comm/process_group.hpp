#pragma once
// The processes of a run: one, or as many as mpirun has started.

#include <functional>

#include "device/comm/communicator.hpp"

namespace onebit::device {

/// The place that mpirun has given this process, by its environment: nothing is joined yet.
struct MpiEnvironment {
  Index rank = 0;
  Index size = 1;
};
MpiEnvironment mpi_environment();

/// Every process runs the same program on its own workers. What is called collective all processes call, in the same
/// order.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual Index rank() const = 0;
  virtual Index size() const = 0;
  virtual Index hosts() const = 0;       ///< machines
  virtual Index neighbours() const = 0;  ///< processes on this machine, with this one
  virtual int threads() const = 0;       ///< of this process: the cores that it may use, shared with those that may too

  /// Between the devices of the processes, of which each has one.
  virtual std::shared_ptr<Communicator> communicator() = 0;

  /// Calls work in every process and waits for all. Where it throws in some, what it threw in the lowest rank is thrown
  /// in all of them, whatever exchanges those were in. Collective; calls may be nested.
  virtual void run(const std::function<void()>& work) = 0;

  /// Whether one process says so. Collective.
  virtual bool any(bool own) = 0;

  /// MPI's own collectives on host memory, for measuring them: sums in place; a part of equal size for and from each;
  /// what each has.
  virtual void all_reduce(std::span<float> values) = 0;
  virtual void all_to_all(std::span<const float> to, std::span<float> from) = 0;
  virtual void all_gather(std::span<const float> own, std::span<float> all) = 0;
};

/// The group of this process alone.
std::shared_ptr<ProcessGroup> single_process();

/// The processes of this program, joined at the first call. Throws NotCompiled where mpirun has started several and
/// this build has no MPI.
const std::shared_ptr<ProcessGroup>& processes();

}  // namespace onebit::device
