#pragma once
// The processes of a run: one, or as many as mpirun has started.

#include <functional>

#include "device/comm/communicator.hpp"

namespace onebit::device {

/// The rank and size that mpirun has given this process. They are read from the environment, without starting MPI.
struct MpiEnvironment {
  Index rank = 0;
  Index size = 1;
};
MpiEnvironment mpi_environment();

/// The processes of a run, each of which runs the same program on its own workers. All processes must make the calls
/// that are marked as collective, in the same order.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual Index rank() const = 0;
  virtual Index size() const = 0;
  virtual Index hosts() const = 0;       ///< number of machines
  virtual Index neighbours() const = 0;  ///< number of processes on this machine, including this one
  virtual int threads() const = 0;       ///< threads for this process: OMP_NUM_THREADS, or its share of the cores

  /// The communicator between the processes' devices, of which each process has one.
  virtual std::shared_ptr<Communicator> communicator() = 0;

  /// Calls `work` in every process and waits for all of them. If `work` throws in some processes, every process throws
  /// the error of the lowest of these ranks, even from within an exchange. Collective; calls may be nested.
  virtual void run(const std::function<void()>& work) = 0;

  /// Whether `own` is true in at least one process. Collective.
  virtual bool any(bool own) = 0;

  /// MPI_Allreduce on host memory, for benchmarks: sums `values` over all processes, in place.
  virtual void all_reduce(std::span<float> values) = 0;
  /// MPI_Alltoall on host memory, for benchmarks: sends the p-th equal part of `to` to process p and stores the part
  /// that came from process p as the p-th part of `from`.
  virtual void all_to_all(std::span<const float> to, std::span<float> from) = 0;
  /// MPI_Allgather on host memory, for benchmarks: stores every process's `own` in `all`, in rank order.
  virtual void all_gather(std::span<const float> own, std::span<float> all) = 0;
};

/// The group of this process alone.
std::shared_ptr<ProcessGroup> single_process();

/// The processes of this program, joined at the first call. Throws NotCompiled if mpirun has started several processes
/// and this build has no MPI plugin.
const std::shared_ptr<ProcessGroup>& processes();

}  // namespace onebit::device
