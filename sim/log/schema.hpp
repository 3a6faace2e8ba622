#pragma once
// The contents of a run log: the types of its rows, and one table of everything in the file. Writer, reader and
// docs/log-format.md follow the table.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "compress/layout/tensor.hpp"
#include "device/base/types.hpp"
#include "sim/models/constants.hpp"

namespace onebit::sim {

inline constexpr std::string_view log_format = "onebit-run";
inline constexpr Index log_format_version = 1;

/// Generation of the newest columns. Generation 1 added variance_ratio_corrected; generation 2 added the denominators
/// of tensors and worker_mean_distance; generation 3 added the AUC, the evaluations through boundaries, and
/// worker_sent_share; generation 4 added the columns about a boundary's codec: what it sends, what it keeps and how it
/// changes gradients.
inline constexpr Index columns_now = 4;

/// Value of a floating-point column that does not apply to the run.
inline constexpr double not_applicable = std::numeric_limits<double>::quiet_NaN();

/// What is known about a run before its first step.
struct LogHeader {
  std::string program_version, git_commit, created_utc, command_line, host, devices, data_hash;
  std::uint32_t seed = 0;
  Index workers = 1;
  std::vector<compress::Tensor> tensors;
  std::optional<Constants> constants = {};                  ///< known constants of the training loss
  std::vector<std::pair<std::string, std::string>> config;  ///< values of the options; the reader sorts them by option
  std::string variance_norm = "l1";                         ///< norm that variance_ratio compares
  Index variance_lag = 0;                                   ///< steps between the variances in variance_ratio
  bool per_worker = true;                                   ///< whether the log has /workers
  bool per_tensor = true;                                   ///< whether the log has /tensors
  bool probed = false;          ///< whether the log has /probes and the columns of probed runs
  bool rounded = false;         ///< whether the log has probes/feedback_rounding
  Index columns = columns_now;  ///< generation of the columns; older logs lack some

  friend bool operator==(const LogHeader&, const LogHeader&) = default;
};

enum class RunStatus { running, finished, stopped, diverged, failed };
inline constexpr std::string_view run_status_names[] = {"running", "finished", "stopped", "diverged", "failed"};
/// Returns the name of a status, as logs and tables show it.
inline std::string name_of(RunStatus status) {
  return std::string(run_status_names[static_cast<std::size_t>(status)]);
}
/// Status that replaces the run's status if the writer finds at the end that the file does not contain what was written
/// to it.
inline constexpr std::string_view damaged_status = "damaged";

struct StepRow {
  Index step = 0;
  Index samples = 0;
  double lr = not_applicable;
  double loss = not_applicable;
  double param_norm = not_applicable;
  double grad_norm = not_applicable;
  double clip_share = not_applicable;
  double update_norm = not_applicable;
  double replica_distance = not_applicable;
  double momentum_norm = not_applicable;
  double variance_l1 = not_applicable;
  double variance_l2 = not_applicable;
  double variance_ratio = not_applicable;
  double variance_ratio_corrected = not_applicable;
  double lr_drift = not_applicable;
  double worker_error_norm = not_applicable;
  double server_error_norm = not_applicable;
  double worker_codec_error = not_applicable;
  double server_codec_error = not_applicable;
  double worker_mean_distance = not_applicable;
  double worker_sent_share = not_applicable;
  double boundary_sent_share = not_applicable;
  double boundary_forward_kept = not_applicable;
  double boundary_backward_kept = not_applicable;
  double boundary_gradient_cosine = not_applicable;
  double sign_density = not_applicable;
  Index masked = 0;
  Index phase = 0;
  double bytes_up = not_applicable;
  double bytes_down = not_applicable;
  Index messages = 0;
  double wall_seconds = not_applicable;
  double compute_seconds = not_applicable;
  double codec_seconds = not_applicable;
};

struct WorkerRow {
  Index step = 0;
  std::vector<double> loss, error_norm;  ///< one value per worker
};

/// A row of /tensors: every column except `step` has one number for each tensor.
struct TensorRow {
  Index step = 0;
  std::vector<double> momentum_l2 = {};
  std::vector<double> variance_l1 = {};
  std::vector<double> variance_l2 = {};
  std::vector<double> trust_ratio = {};
  std::vector<double> frozen_coefficient = {};
  std::vector<double> coefficient_factor = {};
  std::vector<double> scaling_coefficient = {};
  std::vector<double> least_denominator = {};
  std::vector<double> low_denominator = {};
  std::vector<double> median_denominator = {};
  std::vector<double> shadow_l1 = {};  ///< l1 norms of the shadow variance; only in probed runs
};

/// Quantities of the theory, measured at the weights before a step and over the step. Denominators are what the
/// optimizer divides the momentum by.
struct ProbeRow {
  Index step = 0;
  double gradient_square = not_applicable;
  double scaled_gradient_square = not_applicable;
  double least_denominator = not_applicable;
  double worker_gradient_square = not_applicable;
  double noise_square = not_applicable;
  double heterogeneity_square = not_applicable;
  double path_smoothness = not_applicable;
  double smoothness = not_applicable;
  double feedback_size = not_applicable;
  double feedback_residual = not_applicable;
  double residual_without_workers = not_applicable;
  double residual_without_servers = not_applicable;
  double feedback_rounding = not_applicable;  ///< only in runs that store rounded errors (feedback.dtype)
  double shadow_l1 = not_applicable;
  double shadow_l2 = not_applicable;
  double rate_drift = not_applicable;
  double moved_share = not_applicable;
};

struct EvaluationRow {
  Index step = 0;
  Index samples = 0;
  double loss = not_applicable;
  double accuracy = not_applicable;
  double bytes = not_applicable;
  double auc = not_applicable;
  double boundary_loss = not_applicable;
  double boundary_auc = not_applicable;
};

struct Event {
  Index step = 0;
  std::string
      kind;  ///< freeze, tensor-freeze, floor, masked, resume, repair, stop, divergence, failure; at most kind_bytes
  std::string text;  ///< the event in words; cut to text_bytes, between UTF-8 characters

  friend bool operator==(const Event&, const Event&) = default;
};

/// Returns why a run ended without finishing: the text of its divergence, failure or stop event. Empty if the run
/// finished, is still going, was killed, or has been resumed since.
std::string reason_of_end(const std::vector<Event>& events);

/// Whether an event says how a run ended.
bool is_end(const Event& event);

/// One exchange as the file stores it, with the enumerations of netmodel/wire/traffic.hpp.
struct TrafficRow {
  Index step = 0;
  std::uint8_t collective = 0, direction = 0, dtype = 0;
  Index group_size = 0, messages = 0, payload_bytes = 0, tensor = 0;
  std::uint8_t overlaps_backward = 0;
};

/// Number of rows in each group.
struct LogRows {
  Index steps = 0, workers = 0, tensors = 0, evaluations = 0, events = 0, traffic = 0, probes = 0;

  friend bool operator==(const LogRows&, const LogRows&) = default;
};

inline constexpr std::size_t status_bytes = 16;
inline constexpr std::size_t kind_bytes = 16;
inline constexpr std::size_t text_bytes = 256;

enum class ColumnType { float64, int64, uint8, text16, text256, collective, direction, wire_type, compound };

enum class Shape { scalar, rows, rows_by_workers, rows_by_tensors, tensors, member };

/// Member of a row that holds the value of a column: the writer reads it, the reader sets it.
using Field = std::variant<std::monostate, Index StepRow::*, double StepRow::*, Index WorkerRow::*,
                           std::vector<double> WorkerRow::*, Index TensorRow::*, std::vector<double> TensorRow::*,
                           Index ProbeRow::*, double ProbeRow::*, Index EvaluationRow::*, double EvaluationRow::*,
                           Index Event::*, std::string Event::*, Index TrafficRow::*, std::uint8_t TrafficRow::*>;

/// Which logs have a column: all, those of probed runs, or those of probed runs that store rounded errors.
enum class In { all, probed, rounded };

/// One dataset of the file, or one member of a compound dataset (Shape::member; its group is then that dataset).
struct Column {
  std::string_view group;  ///< group in the file; empty for the root
  std::string_view name;
  ColumnType type;
  Shape shape;
  std::string_view units;  ///< "1" for a pure number or a count; empty if the value is not a number
  std::string_view doc;
  Field field;
  In logs = In::all;  ///< logs that have the column; in others it reads as not applicable
  Index since = 0;    ///< generation that added the column; in earlier logs it reads as not applicable
};

/// Whether a log with this header has the column.
bool has(const LogHeader& header, const Column& column);

/// Returns the table of all columns, in file order.
std::span<const Column> log_columns();

/// Returns `text` cut to at most `bytes` bytes, between UTF-8 characters.
std::string_view cut_text(std::string_view text, std::size_t bytes);

/// Path of a column, such as "steps/loss".
std::string path_of(const Column& column);

/// Returns the column with this path. Precondition: the table has such a column.
const Column& log_column(std::string_view path);

/// A group of rows with its own count of committed rows, and the path of that count.
struct RowGroup {
  std::string_view name;
  std::string_view committed;
};
std::span<const RowGroup> row_groups();

/// Calls use(column, pointer to member) for every column whose value is a member of Row.
template <class Row, class Use>
void for_each_field(Use use) {
  for (const Column& column : log_columns()) {
    std::visit(
        [&]<class Member>(Member member) {
          if constexpr (requires(Row row) { row.*member; }) use(column, member);
        },
        column.field);
  }
}

}  // namespace onebit::sim
