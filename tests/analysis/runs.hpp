#pragma once
// Runs made in memory, as read_run would have read them.

#include <cmath>
#include <limits>

#include "analysis/compare/arms.hpp"
#include "tests/sim/log/log_fixture.hpp"

namespace onebit::tests {

/// Returns the exchange of a dense step with four workers and 80 parameters: 480 bytes per worker.
inline netmodel::TrafficList dense_exchange() {
  using namespace netmodel;
  return {{Collective::all_reduce, Direction::both, WireType::fp32, 4, 6, 320, -1, false}};
}

/// Returns the exchange of a compressed step: 3/4 * 20 + 3 * 5 = 30 bytes per worker.
inline netmodel::TrafficList compressed_exchange() {
  using namespace netmodel;
  return {{Collective::all_to_all, Direction::up, WireType::bits, 4, 3, 20, -1, false},
          {Collective::all_gather, Direction::down, WireType::bits, 4, 3, 5, -1, false}};
}

inline sim::LogHeader run_header(const analysis::OptionValues& options, std::uint32_t seed) {
  sim::LogHeader header = sample_header();
  header.workers = 4;
  header.seed = seed;
  header.data_hash = "00000000000000aa";
  header.tensors = {{"w", 60}, {"b", 20}};
  header.config.assign(options.begin(), options.end());
  return header;
}

/// Returns a finished run of ten steps. The evaluations with these losses are evenly spread, beginning with step 0.
inline analysis::Run make_run(const analysis::OptionValues& options, std::uint32_t seed,
                              const std::vector<double>& losses) {
  analysis::Run run;
  run.header = run_header(options, seed);
  run.exchanges = {{1, 10, dense_exchange()}};
  run.summary.path = "out/" + std::to_string(seed) + ".h5";
  run.summary.status = sim::RunStatus::finished;
  run.summary.seed = seed;
  run.summary.workers = 4;
  run.summary.parameters = 80;
  run.summary.steps = 10;
  run.summary.bytes = 4800;
  run.summary.ratio_fp32 = 1;
  run.summary.ratio_fp16 = 0.5;
  const auto last = static_cast<Index>(losses.size()) - 1;
  for (Index i = 0; i <= last; ++i) {
    const Index step = last == 0 ? 10 : 10 * i / last;
    const double loss = losses[static_cast<std::size_t>(i)];
    run.evaluations.push_back({step, 64 * step, loss, 0.5, 480.0 * static_cast<double>(step)});
    run.summary.best_loss = std::fmin(run.summary.best_loss, loss);
  }
  run.summary.final_loss = losses.back();
  run.summary.accuracy = 0.5;
  return run;
}

inline analysis::Run diverged(analysis::Run run) {
  run.summary.status = sim::RunStatus::diverged;
  run.summary.reason = "the loss is not finite";
  run.summary.final_loss = run.summary.accuracy = std::numeric_limits<double>::quiet_NaN();
  return run;
}

/// Returns an arm whose seeds 1, 2, ... end with these losses, after a loss of 10.
inline analysis::Arm make_arm(const std::string& name, const std::vector<double>& losses,
                              const analysis::OptionValues& options = {}) {
  analysis::Arm arm{name, options, {}};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    arm.runs.push_back(make_run(options, static_cast<std::uint32_t>(i + 1), {10, losses[i]}));
  }
  return arm;
}

}  // namespace onebit::tests
