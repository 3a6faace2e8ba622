#pragma once
// What a run exchanged, step by step, kept small: steps in a row that exchanged the same in one stage are one range.

#include <string>
#include <vector>

#include "netmodel/wire/traffic.hpp"
#include "optim/optimizer.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// Steps first to last, both included, each with these exchanges; none where workers stepped on their own.
struct StepRange {
  Index first = 0, last = 0;
  netmodel::TrafficList each = {};
  optim::Phase phase = optim::Phase::dense;  ///< as the optimizer reported it
  bool compressed = false;                   ///< in a stage whose exchanges come from a codec (optim::compresses)

  double steps() const { return static_cast<double>(last - first + 1); }
};

/// Every step from 1 to the last that the log knows of, in step order. A step has the phase of its row in /steps. One
/// without a row (log.every) has the phase of the rows whose steps exchanged the same, where that is one; else that of
/// the rows around it, where these differ as the freeze in /events parts them. Throws what the reader throws; IoError
/// where steps do not ascend from 1, a phase is none, or an exchange is of another number of workers than the run.
std::vector<StepRange> exchanges_of(const sim::LogReader& log);

}  // namespace onebit::analysis
