#pragma once
// The interface between the program and the MPI plugin. It uses plain C types, because the plugin is loaded at run
// time. An MPI error ends the job, which is MPI's default.

extern "C" {

struct OnebitMpi {
  /// Joins the processes that mpirun has started.
  void (*start)();
  void (*finish)();

  int (*rank)();
  int (*size)();

  /// Gathers host memory of all ranks in rank order, bytes[r] bytes from rank r.
  void (*gather)(const void* own, const int* bytes, void* all);
  void (*broadcast)(void* data, int bytes, int root);
  /// Sends to one rank while receiving from another; rank -1 means no rank.
  void (*swap)(const void* to, int to_bytes, int to_rank, void* from, int from_bytes, int from_rank);

  /// For benchmarks: all_reduce sums over the ranks, in place; all_to_all sends `bytes` bytes from every rank to every
  /// rank.
  void (*all_reduce)(float* values, int count);
  void (*all_to_all)(const void* to, void* from, int bytes);
};

using OnebitMpiTable = const OnebitMpi*();
}

inline constexpr const char* kOnebitMpiSymbol = "onebit_mpi";
