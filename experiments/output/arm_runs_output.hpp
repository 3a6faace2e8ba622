#pragma once
// Output of `compare` about its runs: tables, files, pictures.

#include <string>
#include <vector>

#include "analysis/compare/arm_figures.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// If there are several seeds, prints one row per run; then prints the codecs, communication per step, and the time of
/// a run on each cluster.
void print_details(const std::vector<analysis::Arm>& arms, const analysis::PricedArms& priced, std::ostream& out);
/// Prints one row per arm: its run or, if there are several seeds, its means.
void print_arms(const std::vector<analysis::Arm>& arms, const analysis::PricedArms& priced, std::ostream& out);

/// Writes one row per run. Throws IoError.
void write_csv(const std::vector<analysis::Arm>& arms, const std::string& path);

/// Draws pictures into `folder`: the loss against steps and bytes, the variance ratio against steps and, if `timed`,
/// the loss against the estimated time on each cluster. Returns the files; none without gnuplot.
std::vector<std::string> draw_pictures(const std::vector<analysis::Arm>& arms,
                                       const std::vector<analysis::ArmFigures>& figures, bool timed,
                                       const std::string& folder);

Json to_json(const std::vector<analysis::Arm>& arms, const analysis::PricedArms& priced,
             const std::vector<std::string>& pictures);

}  // namespace onebit::experiments
