#pragma once
// Reads the log of a run that is finished, killed or still going. See docs/log-format.md for the file.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "netmodel/wire/traffic.hpp"
#include "sim/log/schema.hpp"

namespace onebit::sim {

struct StepTraffic {
  Index step = 0;
  netmodel::Traffic traffic;

  friend bool operator==(const StepTraffic&, const StepTraffic&) = default;
};

/// What a reader does when it meets a damaged column.
enum class Damage {
  refused,   ///< the reader throws
  tolerated  ///< the reader notes the column; its floats then read as NaN, its integers as 0, its strings as empty (but
             ///< LogReader::column() throws)
};

struct UnreadableColumn {
  std::string name;    ///< such as "steps/loss"
  std::string reason;  ///< the error of the first attempt to read it
};

/// A snapshot of a log: it does not include rows that a live run commits after construction. Returns only committed
/// rows. Nothing in the file is trusted; damage leads to an error, never to a crash or a wrong size.
class LogReader {
 public:
  /// Opens a log. Throws ConfigError if the file is missing, not HDF5, truncated, not a run log, incomplete, or of a
  /// newer version. If damage is tolerated, a file that was truncated while its writer had it open is not an error: the
  /// committed rows are those that are in the file.
  explicit LogReader(const std::string& path, Damage damage = Damage::refused);
  ~LogReader();
  LogReader(LogReader&&) noexcept;
  LogReader& operator=(LogReader&&) noexcept;

  const std::string& path() const;
  const LogHeader& header() const;

  /// How the run ended; `running` if it is still going or was killed.
  RunStatus status() const;

  /// Whether the writer has closed the file; if not, the writer is still running or was killed.
  bool closed() const;

  /// Number of committed rows of a group: "steps", "workers", "tensors", "probes", "evaluations", "events", "traffic".
  /// 0 if the log does not have the group.
  Index committed_rows(std::string_view group = "steps") const;

  /// Reads a numeric column such as "steps/loss": one value per committed row or, in list columns of /workers and
  /// /tensors, all values of each row, row by row. Also reads columns that are unknown to this program. Throws
  /// ConfigError if there is no such column, IoError on damage.
  std::vector<double> column(const std::string& name) const;

  /// Read the committed rows. Throw ConfigError if a column is missing, and IoError if the log is damaged.
  std::vector<StepRow> steps() const;
  std::vector<WorkerRow> workers() const;
  std::vector<TensorRow> tensors() const;
  std::vector<ProbeRow> probes() const;
  std::vector<EvaluationRow> evaluations() const;
  std::vector<Event> events() const;
  std::vector<StepTraffic> traffic() const;

  /// Reads every row and discards it, so that any damage throws an error or is noted.
  void read_all() const;

  /// Datasets and groups in the file that are unknown to this program, as "group/name".
  const std::vector<std::string>& unknown_columns() const;

  /// Columns that have been found damaged so far. Always empty if damage is refused.
  const std::vector<UnreadableColumn>& unreadable_columns() const;

 private:
  struct File;
  std::unique_ptr<File> file_;
};

/// Returns the attribute `format` of an HDF5 file's root: "onebit-run" for a log, another word for the tables that this
/// program writes. Empty if there is no such attribute or the file cannot be read.
std::string format_of(const std::string& path);

}  // namespace onebit::sim
