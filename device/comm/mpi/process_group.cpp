#include "device/comm/mpi/process_group.hpp"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <set>

#include "device/base/error.hpp"
#include "device/comm/mpi/communicator.hpp"
#include "device/comm/mpi/library.hpp"

namespace onebit::device::mpi {
namespace {

/// Thrown to abort the calls of run() that only some ranks have entered. The innermost call that all ranks have entered
/// then throws `error`.
struct Unwind {
  Index depth;
  std::exception_ptr error;
};

/// Kinds of errors that keep their type when they are sent to other ranks.
enum class Kind : char { other, config, not_compiled, io, numeric, worker, stop, device, memory };

template <class T>
bool is(const std::exception& error) {
  return dynamic_cast<const T*>(&error) != nullptr;
}

Kind kind_of(const std::exception& error) {
  if (is<NotCompiled>(error)) return Kind::not_compiled;
  if (is<ConfigError>(error)) return Kind::config;
  if (is<IoError>(error)) return Kind::io;
  if (is<NumericError>(error)) return Kind::numeric;
  if (is<WorkerError>(error)) return Kind::worker;
  if (is<StopError>(error)) return Kind::stop;
  if (is<DeviceError>(error)) return Kind::device;
  return is<std::bad_alloc>(error) ? Kind::memory : Kind::other;
}

/// Packs the kind and text of an error, to be sent to the other ranks.
std::string packed(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return static_cast<char>(kind_of(error)) + std::string(error.what());
  }
}

std::exception_ptr unpacked(const std::string& reason) {
  const std::string text = reason.substr(1);
  switch (static_cast<Kind>(reason[0])) {
    case Kind::config:
      return std::make_exception_ptr(ConfigError(text, ""));
    case Kind::not_compiled:
      return std::make_exception_ptr(NotCompiled(text, ""));
    case Kind::io:
      return std::make_exception_ptr(IoError(text, ""));
    case Kind::numeric:
      return std::make_exception_ptr(NumericError(text, ""));
    case Kind::worker:
      return std::make_exception_ptr(WorkerError(text, ""));
    case Kind::stop:
      return std::make_exception_ptr(StopError(text, ""));
    case Kind::device:
      return std::make_exception_ptr(DeviceError(text, ""));
    case Kind::memory:
      return std::make_exception_ptr(std::bad_alloc());
    default:
      return std::make_exception_ptr(Error(text, ""));
  }
}

/// Converts a size to MPI's int. Throws Error above 2^30.
int count(Index bytes) {
  if (bytes > Index{1} << 30) throw Error("too much data for one exchange between processes", "mpi");
  return static_cast<int>(bytes);
}

}  // namespace

MpiProcessGroup::MpiProcessGroup(const OnebitMpi& mpi, const MpiEnvironment& launch) : mpi_(mpi) {
  mpi_.start();
  rank_ = mpi_.rank();
  size_ = mpi_.size();
  if (rank_ != launch.rank || size_ != launch.size) {
    throw Error("MPI does not see the processes that mpirun started",
                std::to_string(size_) + " processes instead of " + std::to_string(launch.size),
                "use the mpirun of the MPI that onebit was built with");
  }
  find_places();
}

MpiProcessGroup::~MpiProcessGroup() {
  mpi_.finish();
}

/// Counts the machines and the processes on this machine, and finds out how many threads this process may use.
void MpiProcessGroup::find_places() {
  struct Place {
    char host[64];
    cpu_set_t cores;
  };
  Place own;
  std::memset(&own, 0, sizeof own);
  gethostname(own.host, sizeof own.host - 1);
  sched_getaffinity(0, sizeof own.cores, &own.cores);
  std::vector<Place> places(static_cast<std::size_t>(size_));
  const std::vector<int> bytes(places.size(), static_cast<int>(sizeof own));
  mpi_.gather(&own, bytes.data(), places.data());
  std::set<std::string> hosts;
  int sharing = 0;
  neighbours_ = 0;
  for (const Place& place : places) {
    hosts.insert(place.host);
    if (std::strcmp(place.host, own.host) != 0) continue;
    ++neighbours_;
    sharing += CPU_EQUAL(&place.cores, &own.cores) ? 1 : 0;
  }
  hosts_ = static_cast<Index>(hosts.size());
  const bool chosen = std::getenv("OMP_NUM_THREADS") != nullptr;
  threads_ = chosen ? omp_get_max_threads() : std::max(1, CPU_COUNT(&own.cores) / sharing);
}

std::shared_ptr<Communicator> MpiProcessGroup::communicator() {
  return std::make_shared<MpiCommunicator>(*this);
}

void MpiProcessGroup::run(const std::function<void()>& work) {
  ++depth_;
  try {
    try {
      work();
    } catch (const Unwind&) {
      throw;
    } catch (...) {
      meet_failing(std::current_exception());
    }
    synchronise({});
    --depth_;
  } catch (const Unwind& unwind) {
    if (unwind.depth < depth_--) throw;
    std::rethrow_exception(unwind.error);
  }
}

void MpiProcessGroup::meet_failing(const std::exception_ptr& failure) {
  reason_ = packed(failure);
  synchronise({Act::failed, static_cast<Index>(reason_.size()), {}, {}});
}

std::vector<Note> MpiProcessGroup::synchronise(const Note& own) {
  const std::vector<Note> notes = show(own);
  const auto lowest = std::ranges::min(notes, {}, &Note::depth);
  const auto failed = std::ranges::find(notes, Act::failed, &Note::act);
  if (failed != notes.end()) {
    std::string reason =
        failed - notes.begin() == rank_ ? reason_ : std::string(static_cast<std::size_t>(failed->length), ' ');
    mpi_.broadcast(reason.data(), static_cast<int>(reason.size()), static_cast<int>(failed - notes.begin()));
    throw Unwind{lowest.depth, unpacked(reason)};
  }
  const bool alike =
      std::ranges::all_of(notes, [&](const Note& note) { return note.act == own.act && note.depth == depth_; });
  if (!alike) {
    throw Unwind{lowest.depth,
                 std::make_exception_ptr(Error("processes do not take part in the same exchanges", "mpi"))};
  }
  return notes;
}

std::vector<Note> MpiProcessGroup::show(const Note& own) {
  const auto ranks = static_cast<std::size_t>(size_), words = 3 + 2 * ranks;
  std::vector<Index> shown = {static_cast<Index>(own.act), depth_, own.length};
  shown.insert(shown.end(), own.to.begin(), own.to.end());
  shown.insert(shown.end(), own.from.begin(), own.from.end());
  shown.resize(words);
  std::vector<Index> all(ranks * words);
  const std::vector<int> bytes(ranks, static_cast<int>(words * sizeof(Index)));
  mpi_.gather(shown.data(), bytes.data(), all.data());
  std::vector<Note> notes;
  for (const Index* note = all.data(); note < all.data() + all.size(); note += words) {
    const Index* blocks = note + 3;
    notes.push_back(
        {static_cast<Act>(note[0]), note[2], {blocks, blocks + ranks}, {blocks + ranks, note + words}, note[1]});
  }
  return notes;
}

std::vector<double> MpiProcessGroup::gather(std::span<const double> own) {
  Index sum = 0;
  std::vector<int> bytes;
  for (const Note& note : synchronise({Act::numbers, static_cast<Index>(own.size()), {}, {}})) {
    sum += note.length;
    bytes.push_back(count(note.length * Index{sizeof(double)}));
  }
  count(sum * Index{sizeof(double)});
  std::vector<double> all(static_cast<std::size_t>(sum));
  mpi_.gather(own.data(), bytes.data(), all.data());
  return all;
}

bool MpiProcessGroup::any(bool own) {
  const double number = own ? 1 : 0;
  const std::vector<double> all = gather({&number, 1});
  return std::accumulate(all.begin(), all.end(), 0.0) > 0;
}

void MpiProcessGroup::all_reduce(std::span<float> values) {
  mpi_.all_reduce(values.data(), count(std::ssize(values)));
}

void MpiProcessGroup::all_to_all(std::span<const float> to, std::span<float> from) {
  mpi_.all_to_all(to.data(), from.data(), count(std::ssize(to) / size_ * Index{sizeof(float)}));
}

void MpiProcessGroup::all_gather(std::span<const float> own, std::span<float> all) {
  const std::vector<int> bytes(static_cast<std::size_t>(size_), count(std::ssize(own) * Index{sizeof(float)}));
  mpi_.gather(own.data(), bytes.data(), all.data());
}

std::shared_ptr<ProcessGroup> join(const MpiEnvironment& launch) {
  return std::make_shared<MpiProcessGroup>(load(), launch);
}

}  // namespace onebit::device::mpi
