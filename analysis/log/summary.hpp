#pragma once
// The results of one run, from its log alone.

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/log/timeline.hpp"
#include "netmodel/cost/link_load.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// Mean communication time per step on a cluster, for each stage, for all dense stages, for all compressed stages
/// (StepRange::compressed) and for the run. Steps without an exchange count, too. NaN if there are no steps.
struct CommunicationTime {
  struct Stage {
    std::string name;  ///< name of its phase
    Index steps;
    double seconds;
  };
  std::string cluster;
  std::vector<Stage> stages;  ///< stages in the order of their first steps
  double dense_seconds, compressed_seconds, mean_seconds;
};

struct Summary {
  std::string path;
  sim::RunStatus status = sim::RunStatus::running;
  std::string reason;  ///< reason why the run did not finish; may be empty
  std::uint32_t seed = 0;
  Index workers = 0;
  Index parameters = 0;
  netmodel::CodecPasses passes{};  ///< cost of the run's codec
  Index batch = 1;                 ///< samples per worker and step
  std::string gradients;  ///< a key that is equal for runs whose steps compute the same gradients (ComputingGroup)
  std::optional<sim::Constants> constants;  ///< constants of the model
  Index steps = 0;                          ///< number of the last logged step
  Index freeze_step = 0;                    ///< step after which the variance was frozen; 0: never
  Index masked = 0;                         ///< number of masked coordinates at the last logged step
  Index evaluated = 0;                      ///< step of the last evaluation, below `steps` if the run was stopped
  /// Held-out loss of the last evaluation; NaN: none, or the run diverged.
  double final_loss = std::numeric_limits<double>::quiet_NaN();
  double best_loss = std::numeric_limits<double>::quiet_NaN();  ///< lowest held-out loss
  /// Held-out accuracy of the last evaluation; NaN: none, or the run diverged.
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  double auc = std::numeric_limits<double>::quiet_NaN();  ///< held-out AUC of the last evaluation; NaN: as for accuracy
  /// Part of `bytes` that crossed a boundary as activations or their gradients; NaN: the run had no boundary.
  double boundary_bytes = std::numeric_limits<double>::quiet_NaN();
  /// Held-out loss and AUC through the boundary's codec in the last evaluation; NaN: none, or the run diverged.
  double boundary_loss = std::numeric_limits<double>::quiet_NaN(), boundary_auc = boundary_loss;
  /// Means over the run of the columns of /steps that have the same names; NaN if the log lacks the column.
  double boundary_sent_share = std::numeric_limits<double>::quiet_NaN(), boundary_forward_kept = boundary_sent_share,
         boundary_backward_kept = boundary_sent_share, boundary_gradient_cosine = boundary_sent_share;
  double step_messages = 0;  ///< messages that one worker sends in a step, mean over the run
  double bytes = 0;  ///< bytes sent by one worker over the run; NaN: the log of a compact trace does not record them
  /// Mean bytes that one worker sends in a step with an exchange, over the dense stages.
  double dense_step_bytes = std::numeric_limits<double>::quiet_NaN();
  /// Mean bytes that one worker sends in a step with an exchange, over the compressed stages.
  double compressed_step_bytes = std::numeric_limits<double>::quiet_NaN();
  double up_bytes = std::numeric_limits<double>::quiet_NaN();    ///< part of compressed_step_bytes on the way up
  double down_bytes = std::numeric_limits<double>::quiet_NaN();  ///< part of compressed_step_bytes on the way down
  double codec_seconds =
      std::numeric_limits<double>::quiet_NaN();  ///< mean seconds per step for encode, exchange and decode
  double worker_codec_error = std::numeric_limits<double>::quiet_NaN();  ///< ||x - C[x]|| / ||x||, mean over the run
  double server_codec_error = std::numeric_limits<double>::quiet_NaN();
  double worker_mean_distance =
      std::numeric_limits<double>::quiet_NaN();  ///< ||x - C(mean)|| / ||x|| if payloads are summed
  /// Bytes of dense fp16 all-reduces / bytes; NaN for a run with a boundary, which also sends activations, their
  /// gradients and, with embedding tables, row numbers.
  double ratio_fp16 = std::numeric_limits<double>::quiet_NaN();
  double ratio_fp32 = std::numeric_limits<double>::quiet_NaN();
  double wall_seconds = 0;  ///< wall time of all steps
  /// Compute time of one worker's step: this machine's time divided by the number of workers, median over the rows of
  /// /steps.
  double compute_seconds = std::numeric_limits<double>::quiet_NaN();
  std::vector<CommunicationTime> communication;  ///< communication times, one entry per requested cluster

  /// Whether final_loss comes from a step before the last one, because the run was stopped after that evaluation.
  bool is_outdated() const { return std::isfinite(final_loss) && evaluated < steps; }
};

/// Returns the step after which the variance was frozen; 0 if it never was.
Index freeze_step_of(const std::vector<sim::Event>& events);

/// Returns the median of at least one value; for an even number of values, the mean of the middle two.
double median(std::vector<double> values);

/// Summarises a log. Throws ConfigError and IoError as the reader and exchanges_of do, and ConfigError if a cluster
/// cannot hold the workers.
Summary summarize(const sim::LogReader& log, std::span<const netmodel::Cluster> clusters,
                  const netmodel::CostModel& model = netmodel::LinkLoad());

/// Summarises a log whose exchanges have already been read.
Summary summarize(const sim::LogReader& log, const std::vector<StepRange>& exchanges,
                  std::span<const netmodel::Cluster> clusters, const netmodel::CostModel& model = netmodel::LinkLoad(),
                  const PriceRules& rules = {});

/// Returns the RunSize of a run, with the run's own compute time instead of one that it shares with other runs.
RunSize size_of(const Summary& run);

/// Returns the communication times of a timeline's stages.
CommunicationTime communication_of(const std::string& cluster, const Timeline& timeline);

}  // namespace onebit::analysis
