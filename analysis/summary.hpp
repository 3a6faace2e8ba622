#pragma once
// What one run came to, from its log alone.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/exchanges.hpp"
#include "netmodel/link_load.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// Communication time per step on a cluster, by stage and over the run; NaN where a stage is absent.
struct CommunicationTime {
  std::string cluster;
  double dense_seconds, compressed_seconds, mean_seconds;
};

struct Summary {
  std::string path;
  sim::RunStatus status = sim::RunStatus::running;
  std::string reason;  ///< why a run ended that did not finish; may be empty
  std::uint32_t seed = 0;
  Index workers = 0;
  Index parameters = 0;
  std::optional<sim::Constants> constants;  ///< of the model
  Index steps = 0;                          ///< the last logged step
  Index freeze_step = 0;                    ///< step after which the variance was frozen; 0: never
  Index masked = 0;
  double final_loss =
      std::numeric_limits<double>::quiet_NaN();                 ///< held-out, of the last evaluation; none: it diverged
  double best_loss = std::numeric_limits<double>::quiet_NaN();  ///< held-out
  double accuracy = std::numeric_limits<double>::quiet_NaN();   ///< held-out, of the last evaluation; none: it diverged
  double bytes = 0;                                             ///< sent by one worker over the run
  double dense_step_bytes = std::numeric_limits<double>::quiet_NaN();       ///< sent by one worker in a dense step
  double compressed_step_bytes = std::numeric_limits<double>::quiet_NaN();  ///< ... in a step of the compression stage
  double up_bytes = std::numeric_limits<double>::quiet_NaN();    ///< the part of compressed_step_bytes on the way up
  double down_bytes = std::numeric_limits<double>::quiet_NaN();  ///< ... and down
  double codec_seconds =
      std::numeric_limits<double>::quiet_NaN();  ///< encode, exchange and decode, mean over all steps
  double worker_codec_error = std::numeric_limits<double>::quiet_NaN();  ///< ||x - C[x]|| / ||x||, mean over the run
  double server_codec_error = std::numeric_limits<double>::quiet_NaN();
  double ratio_fp16 = std::numeric_limits<double>::quiet_NaN();  ///< bytes of dense fp16 all-reduces / bytes
  double ratio_fp32 = std::numeric_limits<double>::quiet_NaN();
  double wall_seconds = 0;                       ///< of the steps
  std::vector<CommunicationTime> communication;  ///< one per cluster asked for
};

/// The step after which the variance was frozen; 0: never.
Index freeze_step_of(const std::vector<sim::Event>& events);

/// Throws ConfigError, IoError as the reader does, ConfigError where a cluster cannot hold the workers.
Summary summarize(const sim::LogReader& log, std::span<const netmodel::Cluster> clusters,
                  const netmodel::CostModel& model = netmodel::LinkLoad());

/// The same for a log whose exchanges have been read already.
Summary summarize(const sim::LogReader& log, const std::vector<Stretch>& exchanges,
                  std::span<const netmodel::Cluster> clusters, const netmodel::CostModel& model = netmodel::LinkLoad());

}  // namespace onebit::analysis
