#include "experiments/validation.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <regex>

#include "analysis/summary.hpp"
#include "analysis/variance.hpp"
#include "device/error.hpp"
#include "experiments/idle_options.hpp"
#include "experiments/session.hpp"
#include "sim/checkpoint.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

sim::RunConfig config_of(const CommandLine& line, Index seed, const std::string& freeze) {
  sim::RunConfig config = make_config(line.run);
  config.seed += static_cast<std::uint32_t>(seed);
  config.optimizer.freeze.policy = freeze;
  return config;
}

void check_options(const CommandLine& line) {
  check_seeds(line);
  if (line.seeds < 2)
    throw ConfigError("one seed has no interval", "seeds 1", "give --seeds 5: what is safe is judged over seeds");
  if (line.out.empty()) throw ConfigError("no output folder", "analyze --validate", "give -o DIR");
  for (const auto& [name, value] : line.run) {
    if (name == "freeze" || name == "freeze.threshold")
      throw ConfigError("the freeze is what --validate varies", name,
                        "leave it out; --thresholds says where to freeze");
  }
}

/// Throws for a run that could not be validated, before anything is trained.
void check_run(const CommandLine& line) {
  const sim::RunConfig config = make_config(line.run);
  const std::string& name = config.optimizer.name;
  if (name != "onebit-adam" && name != "onebit-adam-32" && name != "onebit-lamb")
    throw ConfigError("optimizer has no variance that is frozen once", name, "validate onebit-adam or onebit-lamb");
  if (config.log.every != 1)
    throw ConfigError("thresholds are sought at every step", "log.every", "leave it at 1 with --validate");
  if (config.optimizer.semantics != optim::Semantics::paper)
    throw ConfigError("freezes are validated in paper semantics", "optimizer.semantics deepspeed",
                      "DeepSpeed's freeze_step is one more than the step that is found");
  sim::prepare(config_of(line, 0, "auto"));  // a rule that could never freeze is refused here
  warn_of_idle_options(line, {{config_of(line, 0, "auto")}});
}

/// Logs of validations in a folder.
std::vector<fs::path> earlier_logs(const std::string& folder) {
  static const std::regex name("(dense|frozen-[0-9]+)-[0-9]+\\.h5(\\.checkpoint-[0-9]+)?");
  std::vector<fs::path> logs;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (std::regex_match(entry.path().filename().string(), name)) logs.push_back(entry.path());
  }
  return logs;
}

/// Those of before must not be taken for those of this validation, whose freeze steps may be others.
void make_room(const CommandLine& line) {
  make_folder(line.out);
  for (const fs::path& path : earlier_logs(line.out)) {
    if (!line.overwrite) throw ConfigError("output exists", path.string(), "give --overwrite or another -o DIR");
    fs::remove(path);
  }
}

/// A checkpoint that goes at the end of its scope.
class Branching {
 public:
  Branching(std::string stem, sim::VirtualCluster& cluster) : stem_(std::move(stem)), step_(cluster.step()) {
    sim::write_checkpoint(stem_, cluster, {});
  }
  ~Branching() { sim::prune_checkpoints(stem_, 0); }
  Branching(const Branching&) = delete;
  Branching& operator=(const Branching&) = delete;
  std::string path() const { return sim::checkpoint_path(stem_, step_); }

 private:
  std::string stem_;
  Index step_;
};

/// One seed: the dense run, and what branches off from it.
class SeedRuns {
 public:
  SeedRuns(const CommandLine& line, Index seed)
      : line_(line),
        seed_(seed),
        config_(config_of(line, seed, "never")),
        dense_(line.out + "/dense-" + std::to_string(config_.seed) + ".h5") {}

  /// False: asked to stop before the end.
  bool run(const std::vector<double>& thresholds) {
    const sim::RunResult result =
        run_and_log(sim::prepare(config_), dense_, sim::Existing::refuse, line_, label("dense")).result;
    if (result.status == sim::RunStatus::stopped) return false;
    const analysis::Summary summary = analysis::summarize(sim::LogReader(dense_), {});
    if (result.status != sim::RunStatus::finished || !std::isfinite(summary.final_loss))
      throw NumericError("the dense run has no final loss: " + result.reason, dense_,
                         "--validate compares with one that trains and is evaluated");
    dense_trial = {config_.seed, summary.final_loss, summary.ratio_fp16};
    return branches(chosen_steps(thresholds));
  }

  /// After run() has come to its end.
  analysis::DenseTrial dense_trial;
  std::vector<analysis::FreezeTrial> trials;

 private:
  using Thresholds = std::map<Index, std::vector<double>>;  ///< by the step that they choose

  std::string label(const std::string& what) const { return what + " seed " + std::to_string(config_.seed); }

  Thresholds chosen_steps(const std::vector<double>& thresholds) {
    const sim::LogReader log(dense_);
    const auto view = analysis::view_variance(log, {.lags = {log.header().variance_lag}, .thresholds = thresholds});
    Thresholds steps;
    for (const analysis::Threshold& row : view.thresholds) {
      if (row.freeze_step == 0 || row.freeze_step >= view.steps.back()) {
        trials.push_back({row.threshold, config_.seed, 0, std::nan(""), 0});
      } else {
        steps[row.freeze_step].push_back(row.threshold);
      }
    }
    return steps;
  }

  /// The dense steps once more, up to the last one before each freeze.
  bool branches(const Thresholds& steps) {
    sim::VirtualCluster prefix = sim::prepare(config_).start();
    const std::vector<sim::StepRow> logged = sim::LogReader(dense_).steps();
    for (const auto& [step, thresholds] : steps) {
      while (prefix.step() < step - 1) {
        if (stop_requested()) return false;
        const sim::StepOutcome outcome = prefix.advance();
        if (outcome.loss != logged[static_cast<std::size_t>(outcome.step - 1)].loss)
          throw Error("the same steps gave another loss", dense_, "does the model draw numbers of its own?");
      }
      const Branching branching(line_.out + "/dense-prefix-" + std::to_string(config_.seed), prefix);
      if (!branch(step, branching.path(), thresholds)) return false;
    }
    return true;
  }

  bool branch(Index step, const std::string& checkpoint, const std::vector<double>& thresholds) {
    const std::string name = std::to_string(step);
    const sim::PreparedRun run = sim::prepare(config_of(line_, seed_, "fixed:" + name));
    const sim::RunConfig& config = run.config;
    sim::VirtualCluster cluster = run.start();
    sim::read_checkpoint(checkpoint, cluster);
    const std::string path = line_.out + "/frozen-" + name + "-" + std::to_string(config.seed) + ".h5";
    const sim::RunResult result =
        branch_and_log(cluster, config, path, line_, label("frozen at " + name), sim::LogReader(dense_));
    if (result.status == sim::RunStatus::stopped) return false;
    if (result.status == sim::RunStatus::failed) throw Error(result.reason, path);
    const analysis::Summary summary = analysis::summarize(sim::LogReader(path), {});
    const double loss = result.status == sim::RunStatus::finished ? summary.final_loss : std::nan("");
    for (const double threshold : thresholds)
      trials.push_back({threshold, config.seed, step, loss, summary.ratio_fp16});
    return true;
  }

  const CommandLine& line_;
  Index seed_;
  sim::RunConfig config_;
  std::string dense_;
};

}  // namespace

ValidationResult run_validation(const CommandLine& line, const std::vector<double>& thresholds) {
  check_options(line);
  check_run(line);
  make_room(line);
  install_stop_handler();
  ValidationResult result;
  std::vector<analysis::DenseTrial> dense;
  std::vector<analysis::FreezeTrial> trials;
  for (Index seed = 0; seed < line.seeds; ++seed) {
    SeedRuns runs(line, seed);
    try {
      result.complete = runs.run(thresholds);
    } catch (const Error& error) {
      result.problem = error.what();
    }
    if (!result.complete || !result.problem.empty()) break;
    dense.push_back(runs.dense_trial);
    trials.insert(trials.end(), runs.trials.begin(), runs.trials.end());
  }
  result.validation = analysis::validate_freeze(dense, trials, line.margin.value_or(analysis::default_margin));
  return result;
}

}  // namespace onebit::experiments
