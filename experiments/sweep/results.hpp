#pragma once
// What became of the points, from the files of the folder alone.

#include <cstdint>
#include <ctime>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "device/base/types.hpp"

namespace onebit::experiments {

enum class PointStatus { waiting, done, diverged, failed, timeout };
std::string status_text(PointStatus status);

struct PointResult {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  PointStatus status = PointStatus::waiting;
  std::string reason;  ///< of a failure or a divergence
  // Of a run that was done or diverged; else none.
  Index steps = 0;
  double train_loss = kNone;  ///< of the last logged step
  double eval_loss = kNone;   ///< of the last evaluation; none where it diverged
  double accuracy = kNone;    ///< of the last evaluation; none where it diverged
  double bytes = kNone;       ///< sent by one worker
  double wall_seconds = kNone;
  std::string data_hash;

  bool ended() const { return status != PointStatus::waiting; }
  /// The last evaluation's loss, else the last step's; infinite where the run is not done.
  double loss() const;
};

/// The files of points in a folder: NAME.ini, NAME.h5, NAME.out, NAME.failed. Files are looked at again where they may
/// have changed; another program may be writing them.
class Results {
 public:
  explicit Results(std::string folder) : folder_(std::move(folder)) {}

  std::string path(const std::string& name, const std::string& suffix) const { return folder_ + "/" + name + suffix; }

  /// Throws ConfigError where the log of that name is of another run.
  const PointResult& of(const std::string& name);

  /// The examples of an evaluation that the point's log records; nothing where there is no log that can be read.
  std::optional<Index> eval_examples(const std::string& name) const;

  /// Notes that a point has failed or took too long.
  void note_failure(const std::string& name, PointStatus status, const std::string& reason);
  /// Forgets such a note. A log that cannot be read is put aside with its checkpoints, as NAME.damaged.
  void forgive(const std::string& name);
  /// Checkpoints of a point that needs them no more.
  void remove_checkpoints(const std::string& name);
  /// Those of every point that is done or diverged: a sweep that was killed may have left some.
  void remove_useless_checkpoints();

 private:
  struct Entry {
    PointResult result;
    std::int64_t seconds = -1, nanoseconds = 0, bytes = 0;  ///< of the log when it was looked at
  };
  PointResult noted(const std::string& name) const;

  std::string folder_;
  std::map<std::string, Entry> entries_;
};

}  // namespace onebit::experiments
