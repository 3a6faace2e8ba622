#pragma once
// What `compare` shows of its logs: tables, files, pictures.

#include <string>
#include <vector>

#include "analysis/summary.hpp"
#include "experiments/output.hpp"
#include "experiments/price.hpp"

namespace onebit::experiments {

/// The runs of one arm, one per seed, in seed order.
struct ArmRuns {
  std::string name;
  std::vector<analysis::Summary> runs;
};

/// Of each arm's first run, on every cluster.
using ArmClocks = std::vector<std::vector<RunClock>>;

/// A row per run, the arms over their seeds where there are several, communication per step and the time of the run on
/// each cluster.
void print_comparison(const std::vector<ArmRuns>& arms, const ArmClocks& clocks, std::ostream& out);

/// One row per run. Throws IoError.
void write_csv(const std::vector<ArmRuns>& arms, const std::string& path);

/// Loss against step, bytes and the estimated time on each cluster, variance ratio against step, into `folder`. Returns
/// the files; none without gnuplot.
std::vector<std::string> draw_pictures(const std::vector<ArmRuns>& arms, const ArmClocks& clocks,
                                       const std::string& folder);

Json to_json(const std::vector<ArmRuns>& arms, const ArmClocks& clocks, const std::vector<std::string>& pictures);

}  // namespace onebit::experiments
