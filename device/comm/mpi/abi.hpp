#pragma once
// What the program and the MPI plugin agree on. Plain C types: the plugin is loaded at run time. An error of MPI ends
// the job, as MPI does by default.

extern "C" {

struct OnebitMpi {
  /// Joins the processes that mpirun has started.
  void (*start)();
  void (*finish)();

  int (*rank)();
  int (*size)();

  /// Host memory of all ranks, bytes[r] of rank r, one after the other.
  void (*gather)(const void* own, const int* bytes, void* all);
  void (*broadcast)(void* data, int bytes, int root);
  /// Sends to one rank while it receives from one; a rank of -1 is nobody.
  void (*swap)(const void* to, int to_bytes, int to_rank, void* from, int from_bytes, int from_rank);

  /// Sums over ranks, in place; and bytes for each rank from each rank. For measuring them.
  void (*all_reduce)(float* values, int count);
  void (*all_to_all)(const void* to, void* from, int bytes);
};

using OnebitMpiTable = const OnebitMpi*();
}

inline constexpr const char* kOnebitMpiSymbol = "onebit_mpi";
