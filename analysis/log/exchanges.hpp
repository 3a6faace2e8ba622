#pragma once
// The exchanges of a run, step by step, stored compactly: consecutive steps of one stage with the same exchanges form
// one range.

#include <string>
#include <vector>

#include "netmodel/wire/traffic.hpp"
#include "optim/optimizer.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// The steps from `first` to `last`, inclusive, all of which have the same exchanges. `each` lists the exchanges of one
/// such step; it is empty for local steps.
struct StepRange {
  Index first = 0, last = 0;
  netmodel::TrafficList each = {};
  optim::Phase phase = optim::Phase::dense;  ///< phase as reported by the optimizer
  bool compressed = false;                   ///< whether the stage exchanges encoded vectors (optim::compresses)
  bool gradients = true;  ///< whether uncompressed exchanges carry gradients (optim::exchanges_gradients)

  double steps() const { return static_cast<double>(last - first + 1); }
};

/// Returns ranges that cover every step from 1 to the last one in the log, in step order. A step has the phase of its
/// row in /steps. A step without a row (log.every) has the phase of the rows with the same exchanges if these rows all
/// have one phase; otherwise it has the phase of the rows before and after it. If these two rows have different phases,
/// steps up to a freeze between them (in /events) have the earlier phase (warm-up if the earlier row is that of a dry
/// run), and later steps have the later phase; without a freeze between them, all have the later phase. Throws what the
/// reader throws, and IoError if steps do not ascend from 1, a phase is unknown, or the number of workers in an
/// exchange differs from the run's (activations between pairs excepted).
std::vector<StepRange> exchanges_of(const sim::LogReader& log);

}  // namespace onebit::analysis
