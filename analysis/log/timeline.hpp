#pragma once
// The one clock of this program: it maps the steps of a run to estimated seconds on a cluster.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/log/stages.hpp"

namespace onebit::analysis {

/// How steps become seconds, whatever the run and the cluster.
struct PriceRules {
  std::optional<netmodel::Workload> workload = {};  ///< what a worker computes; none: as the run measured it
  /// Of a step, in place of the workload's; not numbers where they are not given.
  netmodel::Seconds forward{kNotGiven}, backward{kNotGiven}, optimizer{kNotGiven};
  netmodel::StepOptions step = {.gradient_bytes = sizeof(float)};  ///< dense gradients as a log's run sent them

  static constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
};

/// Whether a run's own computing time counts under these rules.
bool measures_computing(const PriceRules& rules);

/// What decides a run's seconds besides its exchanges.
struct RunSize {
  Index workers = 1, parameters = 0;
  Index batch = 1;             ///< samples of a worker in a step
  double compute_seconds = 0;  ///< of a worker's step, where no workload gives them: see SharedComputing
};

/// Throws ConfigError where exchanges of a model of so many parameters were to stand next to the computing times of a
/// workload that has more than a tenth more or fewer. One without parameters goes with all. where: the log or the arm.
void check_fits(const netmodel::Workload& workload, Index parameters, const std::string& where);

/// The workload of the rules with the run's parameters; without one the run's own times, a third of them forward.
netmodel::Workload workload_of(const RunSize& run, const PriceRules& rules);

/// Computing times on a cluster's GPUs, with what the rules replace.
netmodel::ComputeTimes times_on(const netmodel::Cluster& cluster, const netmodel::Workload& workload, Index batch,
                                Index accumulation, const PriceRules& rules);

/// Prices single steps on one fabric. The arguments outlive it.
class StepPricer {
 public:
  StepPricer(const netmodel::ComputeTimes& compute, const netmodel::Fabric& fabric, const netmodel::CostModel& model,
             const netmodel::StepOptions& options)
      : compute_(compute), fabric_(fabric), model_(model), options_(options) {}

  netmodel::StepEstimate of(const netmodel::StepTraffic& step) const;
  /// The mean over the steps of a stage.
  netmodel::StepEstimate mean(const StageTraffic& stage) const;

 private:
  const netmodel::ComputeTimes& compute_;
  const netmodel::Fabric& fabric_;
  const netmodel::CostModel& model_;
  const netmodel::StepOptions& options_;
};

/// The mean over a stage's steps, those without an exchange included.
struct StageTime {
  std::string stage;  ///< optim::name of its phase
  bool compressed = false;
  Index steps = 0;
  netmodel::StepEstimate step;
};

/// Computing, exchanges, codec and update, one after the other unless the rules overlap them. Codecs take time in
/// steps that exchange something in a compressed stage (StepRange::compressed).
class Timeline {
 public:
  /// Throws ConfigError where the cluster cannot hold the workers, and what the rules do not fit.
  Timeline(const RunSize& run, const std::vector<StepRange>& ranges, const netmodel::Cluster& cluster,
           const netmodel::CostModel& model, const PriceRules& rules = {});

  /// Seconds since the start of the run after `step` steps; the log's last steps for more than it has.
  double at(Index step) const;
  /// In the order of their first steps.
  const std::vector<StageTime>& stages() const { return stages_; }
  /// Where computing times are from, for people.
  const std::string& basis() const { return basis_; }

 private:
  struct Leg {
    Index first, last;
    double before, each;  ///< seconds before its first step, and of each step
  };
  std::vector<Leg> legs_;
  std::vector<StageTime> stages_;
  std::string basis_;
};

}  // namespace onebit::analysis
