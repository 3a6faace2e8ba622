#pragma once
// Places at which a test can stop the program and kill it.

namespace onebit::sim {

/// Stops the process (SIGSTOP) when it passes the place `name` for the K-th time, if the environment has
/// ONEBIT_PAUSE_AT=NAME:K for this name; K is 1 if absent. Places: log.rows, log.flushed, log.counts (inside a flush),
/// checkpoint.data, checkpoint.written, checkpoint.named.
void pause_point(const char* name);

}  // namespace onebit::sim
