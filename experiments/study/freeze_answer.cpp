#include "experiments/study/freeze_answer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "analysis/compare/arm_figures.hpp"
#include "analysis/freeze/variance.hpp"
#include "experiments/study/freeze_arms.hpp"
#include "optim/parent.hpp"
#include "optim/read_options.hpp"
#include "optim/two_stage/variance_floor.hpp"

namespace onebit::experiments {
namespace {

using analysis::FreezeVerdict;

constexpr double kNearEnough = 1.25;               ///< the search stops between two steps whose ratio is at most this
constexpr double kEarliest = 0.02, kLatest = 0.9;  ///< range of the search, as shares of the run

/// Chooses the next step to try, between the latest step that failed and the earliest that passed.
class Search {
 public:
  explicit Search(Index steps) : steps_(steps) {}

  void note(Index step, bool passed) {
    if (passed && (passed_ == 0 || step < passed_)) passed_ = step;
    if (!passed) failed_ = std::max(failed_, step);
    if (passed_ < failed_) passed_ = 0;
  }

  /// Returns the next step, or nothing if the bracket is narrow enough or no step is left to try.
  std::optional<Index> next() const {
    const auto total = static_cast<double>(steps_), low = static_cast<double>(failed_);
    double step = 0;
    if (passed_ == 0) {
      step = low + (total - low) / 2;
    } else if (failed_ == 0) {
      step = static_cast<double>(passed_) / 2;
    } else if (static_cast<double>(passed_) > kNearEnough * low) {
      step = std::sqrt(low * static_cast<double>(passed_));
    }
    if (step < std::fmax(1, kEarliest * total) || step > kLatest * total) return std::nullopt;
    return static_cast<Index>(std::llround(step));
  }

  /// Returns the earliest step that passed; 0 if none did.
  Index passed() const { return passed_; }

 private:
  Index steps_;
  Index failed_ = 0;
  Index passed_ = 0;  // 0: none
};

class Laboratory {
 public:
  Laboratory(const Study& study, const ValidationRequest& request)
      : study_(study), request_(request), arms_(arms_to_try(study)) {
    const optim::OptimizerConfig optimizer = make_config(study.run.settings).optimizer;
    answer.floor_is_left = optim::takes_option(optimizer.name, "variance-floor") &&
                           optim::parse_variance_floor(optimizer.variance_floor).value == 0;
  }

  FreezeAnswer answer;

  /// Runs the experiment. Returns false if a signal stopped it.
  bool run() {
    std::vector<Arm> all = arms_;
    all.push_back({kFloorArm, {}});
    make_room(study_, all);
    SeedRuns first(study_, 0, request_.target);
    if (!run_dense(first)) return false;
    const sim::LogReader log(first.dense_path());
    constants_ = log.header().constants;
    answer.steps = log.steps().back().step;
    answer.choosing = first.seed();
    if (!choose(first, log)) return false;
    return answer.freeze_step > 0 ? judge() : blame(first);
  }

  /// Returns the judging seeds' runs: dense, and compressed at the chosen step.
  std::vector<analysis::Arm> judging_arms() const {
    std::vector<analysis::Arm> arms = {{"dense", {}, {}}, {compressed().name, {}, {}}};
    for (const SeedRuns& seed : judging_) {
      arms[0].runs.push_back(analysis::load_run(sim::LogReader(seed.dense_path())));
      arms[1].runs.push_back(analysis::load_run(sim::LogReader(seed.path_of(compressed(), answer.freeze_step))));
    }
    return arms;
  }

 private:
  const Arm& frozen() const { return arms_[0]; }
  const Arm& compressed() const { return arms_[1]; }

  /// Number of runs for each judging seed: the dense one and the arms.
  Index runs_per_seed() const { return 1 + static_cast<Index>(arms_.size()); }

  bool run_dense(SeedRuns& seed) {
    ++answer.runs;
    return seed.run_dense();
  }

  bool run_at(SeedRuns& seed, Index step, std::vector<const Arm*> arms) {
    answer.runs += static_cast<Index>(arms.size());
    return seed.run({{step, std::move(arms)}});
  }

  /// looks: largest number of looks, whose intervals hold jointly.
  analysis::FreezeValidation validate(std::span<const analysis::DenseTrial> dense,
                                      std::span<const analysis::FreezeTrial> trials, Index looks) {
    const auto [reference, words] = reference_of(request_.reference, constants_, dense, trials);
    answer.reference = words;
    std::vector<std::string> names;
    for (std::size_t a = 1; a < arms_.size(); ++a) names.push_back(arms_[a].name);
    const analysis::FreezeCriterion criterion{.measure = request_.measure,
                                              .margin = request_.margin,
                                              .reference = reference,
                                              .choosing = 0,
                                              .level = 1 - 0.05 / static_cast<double>(looks)};
    const std::string name = "step " + std::to_string(trials.front().freeze_step);
    return analysis::validate_freeze({name}, names, dense, trials, criterion);
  }

  Index first_step(const sim::LogReader& log) const {
    const double threshold = make_config(study_.run.settings).optimizer.freeze.threshold;
    const auto view = analysis::view_variance(log, {.lags = {log.header().variance_lag}, .thresholds = {threshold}});
    const Index step = view.thresholds.front().freeze_step;
    const auto latest = static_cast<Index>(kLatest * static_cast<double>(answer.steps));
    return step == 0 ? answer.steps / 2 : std::min(step, latest);
  }

  bool choose(SeedRuns& first, const sim::LogReader& log) {
    Search search(answer.steps);
    std::optional<Index> step = first_step(log);
    // Room is left for the dense run, and for the other arms if all tries fail.
    const Index most = runs_per_seed() * (study_.seeds - 1) / 2 - static_cast<Index>(arms_.size());
    while (step && static_cast<Index>(answer.tried.size()) < most) {
      if (!run_at(first, *step, {&compressed()})) return false;
      analysis::FreezeTrial trial{.seed = first.seed(), .freeze_step = *step, .frozen = {}, .compressed = {}};
      trial.compressed.assign(arms_.size() - 1, first.outcome(compressed(), *step));
      const analysis::DenseTrial dense = first.dense();
      const double cost = validate({&dense, 1}, {&trial, 1}, 1).rows[0].arms[0].together.by_seed[0];
      answer.tried.push_back({*step, cost});
      search.note(*step, cost <= request_.margin / 2);
      step = search.next();
    }
    answer.freeze_step = search.passed();
    return true;
  }

  /// Finds what is costly at the latest freeze that was tried: the freeze or the codec.
  bool blame(SeedRuns& first) {
    add_floor_arm();
    const Index latest = std::ranges::max(answer.tried, {}, &TriedFreeze::step).step;
    std::vector<const Arm*> arms;
    for (const Arm& arm : arms_) {
      if (&arm != &compressed()) arms.push_back(&arm);  // the compressed run exists already
    }
    if (!run_at(first, latest, arms)) return false;
    const analysis::DenseTrial dense = first.dense();
    const analysis::FreezeTrial trial = trial_of(first, arms_, latest);
    answer.judged = validate({&dense, 1}, {&trial, 1}, 1);
    return true;
  }

  /// Adds the arm that tries the variance floor that the output recommends.
  void add_floor_arm() {
    if (!answer.floor_is_left || std::ranges::find(arms_, kFloorArm, &Arm::name) != arms_.end()) return;
    arms_.push_back(compressed());
    arms_.back().name = kFloorArm;
    arms_.back().settings.emplace_back("optimizer.variance-floor", optim::kFloorToTry);
  }

  bool judge() {
    answer.option = optim::freeze_option(make_config(study_.run.settings).optimizer.name, answer.freeze_step);
    answer.looks = std::max<Index>(1, study_.seeds - 2);  // one look after each judging seed but the first
    std::vector<analysis::DenseTrial> dense;
    std::vector<analysis::FreezeTrial> trials;
    std::vector<const Arm*> arms;
    for (const Arm& arm : arms_) arms.push_back(&arm);
    for (Index s = 1; s < study_.seeds; ++s) {
      SeedRuns seed(study_, s, request_.target);
      if (!run_dense(seed) || !run_at(seed, answer.freeze_step, arms)) return false;
      dense.push_back(seed.dense());
      trials.push_back(trial_of(seed, arms_, answer.freeze_step));
      judging_.push_back(seed);
      answer.verdict_runs += runs_per_seed();
      answer.judged = validate(dense, trials, answer.looks);
      if (is_decided(answer.judged.rows[0])) break;
    }
    return true;
  }

  /// A safe verdict ends the experiment once two thirds of all runs belong to the judging seeds, so that the runs spent
  /// on choosing remain a small share.
  bool is_decided(const analysis::FreezeRow& row) const {
    const auto is_safe = [](FreezeVerdict verdict) {
      return verdict == FreezeVerdict::safe || verdict == FreezeVerdict::safe_but_worse;
    };
    if (row.arms[0].together.verdict == FreezeVerdict::costs) return true;
    const bool enough = judging_.size() > 1 && 2 * answer.runs <= 3 * answer.verdict_runs;
    return enough && is_safe(row.freeze.verdict) && is_safe(row.arms[0].together.verdict);
  }

  const Study& study_;
  const ValidationRequest& request_;
  std::vector<Arm> arms_;
  std::optional<sim::Constants> constants_;
  std::vector<SeedRuns> judging_;
};

/// arms: the dense one and the compressed one.
std::vector<SavedTime> saved_times(const std::vector<analysis::Arm>& arms, const Prices& prices) {
  const auto figures = analysis::price_arms(arms, std::nan(""), prices.clusters, prices.rules, *prices.model).arms;
  std::vector<SavedTime> saved;
  for (std::size_t c = 0; c < prices.clusters.size(); ++c) {
    saved.push_back({prices.clusters[c].name, figures[0].seconds[c].seconds.mean, figures[1].seconds[c].seconds.mean});
  }
  return saved;
}

}  // namespace

FreezeAnswer answer_freeze(const Study& study, const ValidationRequest& request, const Prices& prices) {
  check_frozen_options(study, "freeze");
  check_frozen_run(study, {});
  const sim::RunConfig config = make_config(study.run.settings);
  for (const netmodel::Cluster& cluster : prices.clusters) netmodel::Fabric(cluster, config.workers);
  study.training.watcher.on_start();
  const auto began = std::chrono::steady_clock::now();
  Laboratory laboratory(study, request);
  laboratory.answer.complete = laboratory.run();
  FreezeAnswer& answer = laboratory.answer;
  if (answer.complete && answer.freeze_step > 0) {
    answer.ratio_fp16 = answer.judged.rows[0].arms[0].ratio_fp16;
    answer.times = saved_times(laboratory.judging_arms(), prices);
  }
  answer.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return std::move(answer);
}

}  // namespace onebit::experiments
