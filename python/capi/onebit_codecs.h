/* The codecs, channels and optimizers of onebit for programs whose workers are real processes ("ranks"): each rank
 * passes in its own vector, and the library encodes it, exchanges it through a function of the caller, and decodes what
 * it receives.
 *
 * The library is the simulator's own code for CPUs: results have the same bits as those of a simulated run with one
 * worker per rank. All options have the names and the values of the program ("codec", "codec.k", "feedback",
 * "channel", "seed", ...; see 'onebit run --help-all').
 *
 * Functions that can fail return 0 on success. On failure they return a different number (those that return a pointer
 * return null) and write one line to *error. No exception leaves the library, and it has no global state: workers are
 * independent of each other. A worker may be used by one thread at a time. */
#ifndef ONEBIT_CODECS_H
#define ONEBIT_CODECS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. It changes whenever a caller has to change. */
#define ONEBIT_CODECS_VERSION 1
int onebit_codecs_version(void);

typedef struct onebit_error {
  char text[1024]; /* what (where); hint, with a terminating zero */
} onebit_error;

/* What an exchange carries: payloads, which the traffic counts, or a few numbers that the ranks agree on. */
enum { ONEBIT_PAYLOAD = 0, ONEBIT_CONTROL = 1 };

/* The ranks, and how they communicate. All ranks must make the same calls in the same order, with equal options,
 * tensors and steps. */
typedef struct onebit_ranks {
  int64_t rank, size;
  /* Sends send_bytes[r] bytes to rank r and receives receive_bytes[r] bytes from it, for all r. The bytes for rank 0
   * come first, those for rank 1 follow, and so on; nothing is sent to the rank itself. Returns 0 if all went well. */
  int (*exchange)(void* context, int kind, const void* send, const int64_t* send_bytes, void* receive,
                  const int64_t* receive_bytes);
  void* context;
} onebit_ranks;

/* A tensor of the parameter vector: [rows x size / rows] in row-major order; rows = 1: a vector. */
typedef struct onebit_tensor {
  const char* name;
  int64_t size, rows;
} onebit_tensor;

typedef struct onebit_option {
  const char* name;
  const char* value;
} onebit_option;

/* The problem that a worker solves. The arrays and texts are copied. */
typedef struct onebit_problem {
  onebit_ranks ranks;
  const onebit_tensor* tensors;
  int64_t tensor_count;
  const onebit_option* options;
  int64_t option_count;
  int64_t steps;  /* optimizers: steps of the whole run, which some freeze policies need */
  int64_t warmup; /* optimizers: steps of learning-rate warm-up */
  int threads;    /* OpenMP threads; 0: OMP_NUM_THREADS or, without it, one per core */
} onebit_problem;

typedef struct onebit_worker onebit_worker;

/* Makes a worker that computes compressed means (option "codec"), or one that runs an optimizer (option "optimizer").
 * onebit_worker_free accepts null. */
onebit_worker* onebit_mean_create(const onebit_problem* problem, onebit_error* error);
onebit_worker* onebit_optimizer_create(const onebit_problem* problem, onebit_error* error);
void onebit_worker_free(onebit_worker* worker);

/* Writes the compressed mean of all ranks' vectors [parameters] to `mean` [parameters]. Steps count from 1. Errors of
 * error feedback stay in the worker. Collective. A vector that is not finite is an error on every rank. */
int onebit_mean(onebit_worker* worker, int64_t step, const float* vector, float* mean, onebit_error* error);

/* Takes the rank's own gradient [parameters], exchanges with the other ranks, and updates `parameters` [parameters],
 * which must be the same on every rank. Collective. */
int onebit_step(onebit_worker* worker, int64_t step, double lr, const float* gradient, float* parameters,
                onebit_error* error);

/* What the last step sent, counted like the log's columns bytes_up, bytes_down and messages. */
typedef struct onebit_report {
  double bytes_up, bytes_down;
  int64_t messages;
  const char* phase;  /* as 'onebit inspect' names it */
  const char* events; /* events of the step, one per line; valid until the next step of this worker */
} onebit_report;
onebit_report onebit_last_report(const onebit_worker* worker);

/* Save and load this rank's part of the state: everything that the next step depends on, except the parameters. The
 * caller's function is called once for each item, in a fixed order; type is float32, float64, int64, uint16, uint8 or
 * int8. `take` reads data [count]. `give` sets *data to an array of the saved item and *count to its length; the array
 * must remain valid until onebit_load returns. Both return 0 if all went well. */
typedef int (*onebit_take)(void* context, const char* name, const char* type, const void* data, int64_t count);
typedef int (*onebit_give)(void* context, const char* name, const char* type, const void** data, int64_t* count);
int onebit_save(onebit_worker* worker, onebit_take take, void* context, onebit_error* error);
int onebit_load(onebit_worker* worker, onebit_give give, void* context, onebit_error* error);

#ifdef __cplusplus
}
#endif
#endif
