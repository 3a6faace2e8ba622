#pragma once
// Maps the steps of a run to estimated seconds on a cluster.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/log/hybrid_rules.hpp"
#include "analysis/log/stages.hpp"
#include "netmodel/step/hybrid.hpp"

namespace onebit::analysis {

/// Rules for converting steps to seconds, independent of the run and the cluster.
struct PriceRules {
  std::optional<netmodel::Workload> workload = {};  ///< work of one worker; none: the run's own measured times are used
  /// Times of a step that replace the workload's; NaN if not given.
  netmodel::Seconds forward{kNotGiven}, backward{kNotGiven}, optimizer{kNotGiven};
  /// Options of the step model. By default a dense gradient element has 4 bytes, as in simulated runs, instead of the 2
  /// bytes of StepOptions.
  netmodel::StepOptions step = {.gradient_bytes = sizeof(float)};
  HybridRules hybrid = {};  ///< used for workloads with embedding tables

  static constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
};

/// Whether these rules use the run's own compute time.
bool measures_computing(const PriceRules& rules);

/// Returns the options of the step model. The cluster's overlap is applied only if the compute times are a GPU's; if
/// they were measured in the run itself, on this machine, exchanges are assumed not to overlap with computation.
netmodel::StepOptions step_options(const PriceRules& rules);

/// Sizes and compute time of a run, which together with its exchanges determine its seconds on a cluster.
struct RunSize {
  Index workers = 1, parameters = 0;
  Index batch = 1;                 ///< samples per worker and step
  double compute_seconds = 0;      ///< compute time of one worker's step, used without a workload: see SharedComputing
  netmodel::CodecPasses passes{};  ///< cost of the run's codec
};

/// Whether the workload's number of parameters differs from a model's by at most a tenth.
bool has_size_of(const netmodel::Workload& workload, Index parameters);

/// Throws ConfigError if the workload's number of parameters differs from the model's by more than a tenth, because the
/// workload's compute times then do not fit the exchanges, or if the workload has embedding tables, because no log
/// records their exchanges. A workload without parameters fits every model. `where` names the log or the arm.
void check_fits(const netmodel::Workload& workload, Index parameters, const std::string& where);

/// Returns the workload of the rules, but with the run's number of parameters. If the rules have no workload, returns
/// one with the run's own compute time, a third of which is the forward pass.
netmodel::Workload workload_of(const RunSize& run, const PriceRules& rules);

/// Returns the compute times on a cluster's GPUs, with the replacements that the rules give.
netmodel::ComputeTimes times_on(const netmodel::Cluster& cluster, const netmodel::Workload& workload, Index batch,
                                Index accumulation, const PriceRules& rules);

/// Prices individual steps on one fabric. The arguments must outlive the pricer. hybrid: what a step does with
/// embedding tables; empty: the workload has none.
class StepPricer {
 public:
  StepPricer(const netmodel::ComputeTimes& compute, const netmodel::Fabric& fabric, const netmodel::CostModel& model,
             const netmodel::StepOptions& options, std::optional<netmodel::HybridWork> hybrid = std::nullopt)
      : compute_(compute), fabric_(fabric), model_(model), options_(options), hybrid_(std::move(hybrid)) {}

  netmodel::StepEstimate of(const netmodel::StepTraffic& step) const;
  /// Returns the mean over the steps of a stage.
  netmodel::StepEstimate mean(const StageTraffic& stage) const;
  /// Returns the stages of a step that works on embedding tables.
  netmodel::HybridEstimate hybrid(const netmodel::StepTraffic& step) const;

 private:
  const netmodel::ComputeTimes& compute_;
  const netmodel::Fabric& fabric_;
  const netmodel::CostModel& model_;
  netmodel::StepOptions options_;
  std::optional<netmodel::HybridWork> hybrid_;
};

/// Mean step of a stage, over all of its steps, including those without an exchange.
struct StageTime {
  std::string stage;  ///< name of its phase (optim::name)
  bool compressed = false;
  Index steps = 0;
  netmodel::StepEstimate step;
};

/// Maps steps to seconds. The times of computing, exchange, codec and update add up, unless the rules let them overlap.
/// A codec takes time only in those steps of a compressed stage (StepRange::compressed) that exchange something.
class Timeline {
 public:
  /// Throws ConfigError if the cluster cannot hold the workers, or the workload of the rules does not fit the run.
  Timeline(const RunSize& run, const std::vector<StepRange>& ranges, const netmodel::Cluster& cluster,
           const netmodel::CostModel& model, const PriceRules& rules = {});

  /// Returns the seconds from the start of the run to the end of step `step` or, if the log ends before that step, to
  /// the end of the run.
  double at(Index step) const;
  /// Returns the stages in the order of their first steps.
  const std::vector<StageTime>& stages() const { return stages_; }
  /// Returns the mean over all steps.
  netmodel::StepEstimate mean() const;
  /// Returns the source of the compute times in words.
  const std::string& basis() const { return basis_; }

 private:
  struct Leg {
    Index first, last;
    double before, each;  ///< seconds before its first step, and seconds of each step
  };
  std::vector<Leg> legs_;
  std::vector<StageTime> stages_;
  std::string basis_;
};

}  // namespace onebit::analysis
