#pragma once
// Places at which a test can hold the program and kill it.

namespace onebit::sim {

/// Stops the process (SIGSTOP) where the environment says ONEBIT_PAUSE_AT=NAME:K, at the K-th passage of the place
/// NAME. Places: log.rows, log.flushed, log.counts (inside a flush), checkpoint.data, checkpoint.written,
/// checkpoint.named.
void pause_point(const char* name);

}  // namespace onebit::sim
