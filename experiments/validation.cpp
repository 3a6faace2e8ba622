#include "experiments/validation.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "analysis/summary.hpp"
#include "analysis/target.hpp"
#include "analysis/variance.hpp"
#include "device/error.hpp"
#include "device/text.hpp"
#include "experiments/arms.hpp"
#include "experiments/idle_options.hpp"
#include "experiments/price.hpp"
#include "experiments/resume.hpp"
#include "experiments/session.hpp"
#include "optim/parent.hpp"
#include "sim/checkpoint.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFrozen = "frozen";
constexpr const char* kCompressed = "compressed";

sim::RunConfig config_of(const Settings& settings, Index seed, const std::string& freeze) {
  sim::RunConfig config = make_config(settings);
  config.seed += static_cast<std::uint32_t>(seed);
  config.optimizer.freeze.policy = freeze;
  return config;
}

void check_options(const CommandLine& line) {
  check_seeds(line);
  if (line.seeds < 3)
    throw ConfigError("too few seeds", "seeds " + std::to_string(line.seeds),
                      "give --seeds 5: some choose where to freeze, at least two others judge");
  if (line.out.empty()) throw ConfigError("no output folder", "analyze --validate", "give -o DIR");
  for (const auto& [name, value] : line.run) {
    if (name == "freeze" || name == "freeze.threshold")
      throw ConfigError("the freeze is what --validate varies", name,
                        "leave it out; --thresholds or --freeze-at says where to freeze");
  }
}

/// Throws for a run that could not be validated, before anything is trained.
void check_run(const CommandLine& line, const ValidationRequest& request) {
  const sim::RunConfig config = make_config(line.run);
  const std::string& name = config.optimizer.name;
  if (optim::uncompressed_twin_of(name).empty())
    throw ConfigError("optimizer has no variance that is frozen once", name, "validate onebit-adam or onebit-lamb");
  if (config.log.every != 1)
    throw ConfigError("thresholds are sought at every step", "log.every", "leave it at 1 with --validate");
  if (config.optimizer.semantics != optim::Semantics::paper)
    throw ConfigError("freezes are validated in paper semantics", "optimizer.semantics deepspeed",
                      "DeepSpeed's freeze_step is one more than the step that is found");
  const bool steps = !request.steps.empty();
  const std::string last = steps ? "fixed:" + std::to_string(request.steps.back()) : "auto";
  sim::prepare(config_of(line.run, 0, last));  // what could never freeze is refused here
  warn_of_idle_options(line, {{config_of(line.run, 0, last)}});
}

/// What a continuation is made of.
std::vector<Arm> arms_to_try(const CommandLine& line) {
  const std::string optimizer = make_config(line.run).optimizer.name;
  std::vector<Arm> arms = {{kFrozen, line.run}, {kCompressed, line.run}};
  arms.front().settings.emplace_back("optimizer", std::string(optim::uncompressed_twin_of(optimizer)));
  for (Arm& arm : line.arms.empty() ? std::vector<Arm>{} : arms_of(line)) {
    for (std::size_t i = line.run.size(); i < arm.settings.size(); ++i) {
      const std::string& name = arm.settings[i].first;
      const bool later = name.starts_with("optimizer.") || name.starts_with("codec") || name.starts_with("feedback");
      if (!later)
        throw ConfigError("an arm changes what is done after the freeze alone", arm.name + ": " + name,
                          "options of the optimizer, the codec and the feedback");
    }
    if (arm.name == kFrozen || arm.name == kCompressed || arm.name == "dense")
      throw ConfigError("two arms of one name", arm.name);
    arms.push_back(std::move(arm));
  }
  return arms;
}

/// Logs of validations in a folder.
std::vector<fs::path> earlier_logs(const std::string& folder, const std::vector<Arm>& arms) {
  std::vector<fs::path> logs;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name.starts_with("dense-") ||
                      std::ranges::any_of(arms, [&](const Arm& arm) { return name.starts_with(arm.name + "-"); });
    if (ours && name.find(".h5") != std::string::npos) logs.push_back(entry.path());
  }
  return logs;
}

/// Those of before must not be taken for those of this validation, whose freeze steps may be others.
void make_room(const CommandLine& line, const std::vector<Arm>& arms) {
  make_folder(line.out);
  if (line.resume) return;
  for (const fs::path& path : earlier_logs(line.out, arms)) {
    if (!line.overwrite)
      throw ConfigError("output exists", path.string(), "give --overwrite, --resume or another -o DIR");
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

analysis::FreezeOutcome outcome_of(const std::string& path, double target) {
  const sim::LogReader log(path);
  const analysis::Summary summary = analysis::summarize(log, {});
  analysis::FreezeOutcome outcome{.ratio_fp16 = summary.ratio_fp16};
  if (summary.status != sim::RunStatus::finished) return outcome;
  outcome.loss = summary.final_loss;
  outcome.accuracy = summary.accuracy;
  std::vector<double> steps, losses;
  for (const sim::EvaluationRow& row : log.evaluations()) {
    steps.push_back(static_cast<double>(row.step));
    losses.push_back(row.loss);
  }
  outcome.steps = analysis::reached_at(steps, losses, target);
  return outcome;
}

/// One seed: the dense run, and what branches off from it.
class SeedRuns {
 public:
  SeedRuns(const CommandLine& line, const ValidationRequest& request, const std::vector<Arm>& arms, Index seed)
      : line_(line),
        request_(request),
        arms_(arms),
        seed_(seed),
        config_(config_of(line.run, seed, "never")),
        dense_(line.out + "/dense-" + std::to_string(config_.seed) + ".h5") {}

  /// False: asked to stop before the end.
  bool run() {
    const Beginning beginning = beginning_of(line_, config_, dense_);
    const sim::RunResult result = beginning.done ? result_of(dense_)
                                                 : run_and_log(sim::prepare(continued(config_, beginning)), dense_,
                                                               beginning.existing, line_, label("dense"))
                                                       .result;
    if (result.status == sim::RunStatus::stopped) return false;
    dense_trial = {config_.seed, outcome_of(dense_, request_.target)};
    if (!std::isfinite(dense_trial.outcome.loss))
      throw NumericError("the dense run has no final loss: " + result.reason, dense_,
                         "--validate compares with one that trains and is evaluated");
    constants = sim::LogReader(dense_).header().constants;
    return branches(chosen_steps());
  }

  /// After run() has come to its end.
  analysis::DenseTrial dense_trial;
  std::vector<analysis::FreezeTrial> trials;
  std::optional<sim::Constants> constants;

 private:
  using Candidates = std::map<Index, std::vector<std::size_t>>;  ///< by the step that they choose

  std::string label(const std::string& what) const { return what + " seed " + std::to_string(config_.seed); }

  std::string path_of(const Arm& arm, Index step) const {
    return line_.out + "/" + arm.name + "-" + std::to_string(step) + "-" + std::to_string(config_.seed) + ".h5";
  }

  Candidates chosen_steps() {
    Candidates steps;
    for (std::size_t c = 0; c < request_.steps.size(); ++c) steps[request_.steps[c]].push_back(c);
    if (request_.thresholds.empty()) return steps;
    const sim::LogReader log(dense_);
    const auto view =
        analysis::view_variance(log, {.lags = {log.header().variance_lag}, .thresholds = request_.thresholds});
    for (std::size_t c = 0; c < view.thresholds.size(); ++c) {
      const Index step = view.thresholds[c].freeze_step;
      if (step > 0 && step < view.steps.back()) steps[step].push_back(c);
    }
    return steps;
  }

  sim::RunConfig branch_config(const Arm& arm, Index step) const {
    return config_of(arm.settings, seed_, "fixed:" + std::to_string(step));
  }

  /// Whether the continuation is there, whole; what is there in part goes.
  bool is_done(const Arm& arm, Index step) const {
    const std::string path = path_of(arm, step);
    if (!fs::exists(path)) return false;
    if (beginning_of(line_, branch_config(arm, step), path).done) return true;
    fs::remove(path);
    sim::prune_checkpoints(path, 0);
    return false;
  }

  /// The dense steps once more, up to the last one before each freeze, as far as something has to branch off there.
  bool branches(const Candidates& steps) {
    std::map<Index, std::vector<const Arm*>> missing;
    for (const auto& [step, candidates] : steps) {
      for (const Arm& arm : arms_) {
        if (!is_done(arm, step)) missing[step].push_back(&arm);
      }
    }
    if (!missing.empty() && !run_missing(missing)) return false;
    for (const auto& [step, candidates] : steps) {
      analysis::FreezeTrial trial{.seed = config_.seed, .freeze_step = step, .frozen = {}, .compressed = {}};
      for (const Arm& arm : arms_) {
        const analysis::FreezeOutcome outcome = outcome_of(path_of(arm, step), request_.target);
        if (arm.name == kFrozen) trial.frozen = outcome;
        if (arm.name != kFrozen) trial.compressed.push_back(outcome);
      }
      for (const std::size_t candidate : candidates) {
        trial.candidate = candidate;
        trials.push_back(trial);
      }
    }
    return true;
  }

  bool run_missing(const std::map<Index, std::vector<const Arm*>>& missing) {
    sim::VirtualCluster prefix = sim::prepare(config_).start();
    const std::vector<sim::StepRow> logged = sim::LogReader(dense_).steps();
    for (const auto& [step, arms] : missing) {
      while (prefix.step() < step - 1) {
        if (stop_requested()) return false;
        const sim::StepOutcome outcome = prefix.advance();
        if (outcome.loss != logged[static_cast<std::size_t>(outcome.step - 1)].loss)
          throw Error("the same steps gave another loss", dense_, "does the model draw numbers of its own?");
      }
      const Branching branching(line_.out + "/dense-prefix-" + std::to_string(config_.seed), prefix);
      for (const Arm* arm : arms) {
        if (!branch(*arm, step, branching.path())) return false;
      }
    }
    return true;
  }

  bool branch(const Arm& arm, Index step, const std::string& checkpoint) const {
    const sim::PreparedRun run = sim::prepare(branch_config(arm, step));
    sim::VirtualCluster cluster = run.start();
    sim::read_checkpoint(checkpoint, cluster);
    const std::string path = path_of(arm, step);
    const sim::RunResult result = branch_and_log(
        cluster, run.config, path, line_, label(arm.name + " at " + std::to_string(step)), sim::LogReader(dense_));
    if (result.status == sim::RunStatus::failed) throw Error(result.reason, path);
    return result.status != sim::RunStatus::stopped;
  }

  const CommandLine& line_;
  const ValidationRequest& request_;
  const std::vector<Arm>& arms_;
  Index seed_;
  sim::RunConfig config_;
  std::string dense_;
};

/// What excess is counted from, with words for it.
std::pair<double, std::string> reference_of(const std::string& text, const std::optional<sim::Constants>& constants,
                                            std::span<const analysis::DenseTrial> dense,
                                            std::span<const analysis::FreezeTrial> trials) {
  if (text == "best") {
    double best = std::numeric_limits<double>::infinity();
    for (const analysis::DenseTrial& trial : dense) best = std::fmin(best, trial.outcome.loss);
    for (const analysis::FreezeTrial& trial : trials) {
      best = std::fmin(best, trial.frozen.loss);
      for (const analysis::FreezeOutcome& outcome : trial.compressed) best = std::fmin(best, outcome.loss);
    }
    return {best, "the best final loss seen, " + shortest(best)};
  }
  if (!text.empty() && text != "known") return {parse_real("reference", text), text};
  const bool known = constants && !std::isnan(constants->optimum_loss);
  if (known) return {constants->optimum_loss, "the known minimum, " + shortest(constants->optimum_loss)};
  return {0, "0, no minimum being known"};
}

std::vector<std::string> names_of(const ValidationRequest& request) {
  std::vector<std::string> names;
  for (const double threshold : request.thresholds) names.push_back(shortest(threshold));
  for (const Index step : request.steps) names.push_back("step " + std::to_string(step));
  return names;
}

/// Numbers of a list, rising, each once.
template <class Number, class Parse>
std::vector<Number> rising(const std::string& option, const std::string& text, const Parse& parse) {
  std::vector<Number> numbers;
  for (const std::string& item : split(text, ',')) numbers.push_back(parse(item));
  std::ranges::sort(numbers);
  if (std::ranges::adjacent_find(numbers) != numbers.end()) throw ConfigError("a value twice", option + " " + text);
  return numbers;
}

double threshold_of(const std::string& text) {
  const double threshold = parse_real("thresholds", text);
  if (!(threshold > 0 && threshold <= 1)) throw ConfigError("option out of range", "thresholds " + text, "in (0, 1]");
  return threshold;
}

Index step_of(const std::string& text) {
  const Index step = parse_integer("freeze-at", text);
  if (step < 1) throw ConfigError("option out of range", "freeze-at " + text, "at least 1 dense update");
  return step;
}

}  // namespace

ValidationRequest validation_request(const CommandLine& line) {
  using analysis::FreezeMeasure;
  ValidationRequest request{.thresholds = {0.5, 0.8, 0.9, 0.96, 0.99, 0.999}, .steps = {}, .reference = line.reference};
  if (!line.thresholds.empty() && !line.freeze_at.empty())
    throw ConfigError("both thresholds and steps", "thresholds, freeze-at", "give one of them");
  if (!line.thresholds.empty()) request.thresholds = rising<double>("thresholds", line.thresholds, threshold_of);
  if (!line.freeze_at.empty()) {
    request.thresholds.clear();
    request.steps = rising<Index>("freeze-at", line.freeze_at, step_of);
  }
  const std::map<std::string, FreezeMeasure> measures = {{"", FreezeMeasure::loss},
                                                         {"loss", FreezeMeasure::loss},
                                                         {"accuracy", FreezeMeasure::accuracy},
                                                         {"steps", FreezeMeasure::steps}};
  if (!measures.contains(line.measure))
    throw ConfigError("unknown measure", "measure " + line.measure, "loss, accuracy or steps");
  request.measure = measures.at(line.measure);
  request.margin = line.margin.value_or(analysis::default_margin);
  request.target = make_price_config(line.price).target;
  const bool counts_steps = request.measure == FreezeMeasure::steps;
  if (counts_steps != std::isfinite(request.target))
    throw ConfigError(counts_steps ? "no loss to reach" : "a loss to reach that nothing counts", "target",
                      "--measure steps takes --target LOSS, the other measures take none");
  if (!line.reference.empty() && request.measure != FreezeMeasure::loss)
    throw ConfigError("a reference for an excess that nothing counts", "reference " + line.reference,
                      "it goes with --measure loss");
  if (!line.reference.empty() && line.reference != "best" && line.reference != "known")
    parse_real("reference", line.reference);
  return request;
}

ValidationResult run_validation(const CommandLine& line, const ValidationRequest& request) {
  check_options(line);
  check_run(line, request);
  const std::vector<Arm> arms = arms_to_try(line);
  make_room(line, arms);
  install_stop_handler();
  ValidationResult result;
  std::vector<analysis::DenseTrial> dense;
  std::vector<analysis::FreezeTrial> trials;
  std::optional<sim::Constants> constants;
  for (Index seed = 0; seed < line.seeds; ++seed) {
    SeedRuns runs(line, request, arms, seed);
    try {
      result.complete = runs.run();
    } catch (const Error& error) {
      result.problem = error.what();
    }
    if (!result.complete || !result.problem.empty()) break;
    dense.push_back(runs.dense_trial);
    trials.insert(trials.end(), runs.trials.begin(), runs.trials.end());
    constants = runs.constants;
  }
  std::vector<std::string> names;
  for (std::size_t arm = 1; arm < arms.size(); ++arm) names.push_back(arms[arm].name);
  const auto [reference, words] = reference_of(request.reference, constants, dense, trials);
  result.reference = words;
  const analysis::FreezeCriterion criterion{
      .measure = request.measure, .margin = request.margin, .reference = reference, .choosing = (line.seeds + 1) / 3};
  result.validation = analysis::validate_freeze(names_of(request), names, dense, trials, criterion);
  return result;
}

}  // namespace onebit::experiments
