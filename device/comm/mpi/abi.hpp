#pragma once
// The interface between the program and the MPI plugin. Plain C types, because the plugin is loaded at run time. An
// error of MPI ends the job, as MPI does by default.

extern "C" {

struct OnebitMpi {
  /// Joins the processes that mpirun has started.
  void (*start)();
  void (*finish)();

  int (*rank)();
  int (*size)();

  /// Gathers host memory of all ranks in rank order, bytes[r] bytes of rank r.
  void (*gather)(const void* own, const int* bytes, void* all);
  void (*broadcast)(void* data, int bytes, int root);
  /// Sends to one rank while it receives from another; rank -1 means nobody.
  void (*swap)(const void* to, int to_bytes, int to_rank, void* from, int from_bytes, int from_rank);

  /// Sum over ranks, in place, and exchange of `bytes` bytes between every two ranks: for measuring MPI.
  void (*all_reduce)(float* values, int count);
  void (*all_to_all)(const void* to, void* from, int bytes);
};

using OnebitMpiTable = const OnebitMpi*();
}

inline constexpr const char* kOnebitMpiSymbol = "onebit_mpi";
