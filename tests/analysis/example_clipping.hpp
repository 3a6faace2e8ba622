#pragma once

#include <cmath>

#include "analysis/log/log_options.hpp"
#include "device/base/error.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// How often gradients were clipped, from the log of a run.
struct ClippingView {
  Index rows = 0;      ///< rows of /steps with a clipped share
  double clipped = 0;  ///< share of them in which some gradient was clipped
};

/// Throws ConfigError if the run had no bound, or no row has a clipped share.
inline ClippingView view_clipping(const sim::LogReader& log) {
  if (number_of(log.header(), "optimizer.clip", 0) == 0) {
    throw ConfigError("the run clipped no gradients", log.path(), "--optimizer.clip sets a bound");
  }
  ClippingView view;
  double clipped = 0;
  for (const sim::StepRow& row : log.steps()) {
    if (std::isnan(row.clip_share)) continue;
    ++view.rows;
    clipped += row.clip_share > 0 ? 1 : 0;
  }
  if (view.rows == 0) throw ConfigError("the log has no clipped share", log.path());
  view.clipped = clipped / static_cast<double>(view.rows);
  return view;
}

}  // namespace onebit::analysis
