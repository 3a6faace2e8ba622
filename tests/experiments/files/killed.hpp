#pragma once
// Runs that write checkpoints and are killed.

#include "tests/experiments/program.hpp"

namespace onebit::tests {

inline Arguments checkpointing(const Arguments& more = {}) {
  return tiny_run("run", joined({"--steps", "40", "--checkpoint.every", "10", "--freeze", "fixed:5", "--optimizer",
                                 "onebit-adam", "-o", "run.h5"},
                                more));
}

/// Runs the program, and kills it where ONEBIT_PAUSE_AT stops it.
inline Outcome killed_at(const Folder& folder, const std::string& point, const Arguments& arguments) {
  const Variable pause("ONEBIT_PAUSE_AT", point);
  Process process(folder / "", onebit_command(arguments));
  process.poll([&] { return process.stopped(); });
  REQUIRE(process.stopped());
  process.send(SIGKILL);
  return process.finish();
}

}  // namespace onebit::tests
