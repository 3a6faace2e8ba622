#pragma once
// The results of points, read from the folder's files alone.

#include <cstdint>
#include <ctime>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "device/base/types.hpp"

namespace onebit::experiments {

enum class PointStatus { waiting, done, diverged, failed, timeout };
std::string status_text(PointStatus status);

struct PointResult {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  PointStatus status = PointStatus::waiting;
  std::string reason;  ///< reason for a failure or a divergence
  // The following describe a run that is done or diverged; otherwise they are empty.
  Index steps = 0;
  double train_loss = kNone;  ///< loss of the last logged step
  double eval_loss = kNone;   ///< loss of the last evaluation; NaN if the run diverged
  double accuracy = kNone;    ///< accuracy of the last evaluation; NaN if the run diverged
  double auc = kNone;         ///< AUC of the last evaluation; NaN if the run diverged, or there is none
  /// boundary_loss, boundary_auc: loss and AUC of the last evaluation through the boundary's codec. The others: means,
  /// over the run, of the columns of /steps with the same names. All are NaN in the same cases as above.
  double boundary_loss = kNone, boundary_auc = kNone, boundary_sent_share = kNone, boundary_forward_kept = kNone,
         boundary_backward_kept = kNone, boundary_gradient_cosine = kNone;
  double bytes = kNone;  ///< bytes sent by one worker
  double wall_seconds = kNone;
  std::string data_hash;

  bool ended() const { return status != PointStatus::waiting; }
  /// Returns the last evaluation's loss, or else the last step's; infinite if the run is not done.
  double loss() const;
};

/// Columns of /steps whose means are stored in a result.
inline constexpr std::pair<const char*, double PointResult::*> kBoundaryMeans[] = {
    {"boundary_sent_share", &PointResult::boundary_sent_share},
    {"boundary_forward_kept", &PointResult::boundary_forward_kept},
    {"boundary_backward_kept", &PointResult::boundary_backward_kept},
    {"boundary_gradient_cosine", &PointResult::boundary_gradient_cosine}};

/// The files of points in a folder: NAME.ini, NAME.h5, NAME.out, NAME.failed. They are read again if they may have
/// changed, because another program may be writing them.
class Results {
 public:
  explicit Results(std::string folder) : folder_(std::move(folder)) {}

  std::string path(const std::string& name, const std::string& suffix) const { return folder_ + "/" + name + suffix; }

  /// Returns the result of a point. Throws ConfigError if the log of that name belongs to another run.
  const PointResult& of(const std::string& name);

  /// Returns the examples per evaluation that the point's log records, or nothing if there is no readable log.
  std::optional<Index> eval_examples(const std::string& name) const;

  /// Records that a point has failed or exceeded its time limit.
  void note_failure(const std::string& name, PointStatus status, const std::string& reason);
  /// Removes the record of a failure. A log that cannot be read is renamed to NAME.damaged, with its checkpoints.
  void forgive(const std::string& name);
  /// Removes the checkpoints of a point that no longer needs them.
  void remove_checkpoints(const std::string& name);
  /// Removes what an earlier sweep may have left: the checkpoints of every point that is done or diverged, a note that
  /// such a point failed, and unfinished copies of logs.
  void remove_leftovers();

 private:
  struct Entry {
    PointResult result;
    std::int64_t seconds = -1, nanoseconds = 0, bytes = 0;  ///< the log's time and size when it was last read
  };
  PointResult noted(const std::string& name) const;

  std::string folder_;
  std::map<std::string, Entry> entries_;
};

}  // namespace onebit::experiments
