// The plugin with the MPI calls that the program makes. MPI's libraries are loaded with the plugin, and only if mpirun
// has started the program.

#include <mpi.h>

#include <algorithm>
#include <vector>

#include "device/comm/mpi/abi.hpp"

namespace {

MPI_Comm processes() {
  return MPI_COMM_WORLD;
}

int rank() {
  int value = 0;
  MPI_Comm_rank(processes(), &value);
  return value;
}

int size() {
  int value = 0;
  MPI_Comm_size(processes(), &value);
  return value;
}

/// Initialises MPI for calls from one thread: the program's other threads do not call MPI.
void start() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
}

void finish() {
  MPI_Finalize();
}

void gather(const void* own, const int* bytes, void* all) {
  const int ranks = size();
  if (std::all_of(bytes, bytes + ranks, [&](int count) { return count == bytes[0]; })) {
    MPI_Allgather(own, bytes[0], MPI_BYTE, all, bytes[0], MPI_BYTE, processes());
    return;
  }
  std::vector<int> offsets(static_cast<std::size_t>(ranks));
  for (int r = 1; r < ranks; ++r) {
    offsets[static_cast<std::size_t>(r)] = offsets[static_cast<std::size_t>(r - 1)] + bytes[r - 1];
  }
  MPI_Allgatherv(own, bytes[rank()], MPI_BYTE, all, bytes, offsets.data(), MPI_BYTE, processes());
}

void broadcast(void* data, int bytes, int root) {
  MPI_Bcast(data, bytes, MPI_BYTE, root, processes());
}

int peer(int rank_or_nobody) {
  return rank_or_nobody < 0 ? MPI_PROC_NULL : rank_or_nobody;
}

void swap(const void* to, int to_bytes, int to_rank, void* from, int from_bytes, int from_rank) {
  constexpr int tag = 0;
  MPI_Sendrecv(to, to_bytes, MPI_BYTE, peer(to_rank), tag, from, from_bytes, MPI_BYTE, peer(from_rank), tag,
               processes(), MPI_STATUS_IGNORE);
}

void all_reduce(float* values, int count) {
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_FLOAT, MPI_SUM, processes());
}

void all_to_all(const void* to, void* from, int bytes) {
  MPI_Alltoall(to, bytes, MPI_BYTE, from, bytes, MPI_BYTE, processes());
}

}  // namespace

extern "C" const OnebitMpi* onebit_mpi() {
  static const OnebitMpi table = {start, finish, rank, size, gather, broadcast, swap, all_reduce, all_to_all};
  return &table;
}
