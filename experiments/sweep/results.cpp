#include "experiments/sweep/results.hpp"

#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "experiments/sweep/files.hpp"
#include "experiments/sweep/points.hpp"
#include "sim/log/compact.hpp"
#include "sim/log/log_state.hpp"
#include "sim/log/reader.hpp"
#include "sim/run/checkpoint.hpp"
#include "sim/run/repair.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

constexpr PointStatus kStatuses[] = {PointStatus::waiting, PointStatus::done, PointStatus::diverged,
                                     PointStatus::failed, PointStatus::timeout};
constexpr std::string_view kPart = ".part";
const std::string kFailed = ".failed";
constexpr const char* kCheckpoint = ".h5.checkpoint-";  // after the name of the point, before the step
constexpr const char* kStatusNames[] = {"waiting", "done", "diverged", "failed", "timeout"};

struct ForeignLog : ConfigError {
  using ConfigError::ConfigError;
};

void check_identity(const sim::LogReader& log, const std::string& name) {
  if (is_named(log.header().config, name)) return;
  throw ForeignLog("the log's contents do not match the run that its file name identifies", log.path(),
                   "it may have been moved, or written by another version; remove it, or give another -o DIR");
}

/// Returns the bytes that one worker sent over the run. For a finished run they come from the last evaluation, because
/// reading the exchanges takes a long time.
double sent_bytes(const sim::LogReader& log, const std::vector<sim::EvaluationRow>& evaluations) {
  if (log.status() == sim::RunStatus::finished && !evaluations.empty()) return evaluations.back().bytes;
  netmodel::TrafficList exchanges;
  for (const sim::StepTraffic& exchange : log.traffic()) exchanges.push_back(exchange.traffic);
  return netmodel::sent_bytes(exchanges).value;
}

/// Returns the mean of a column over the rows that have it; NaN if there are none.
double mean_of(const sim::LogReader& log, const std::string& column) {
  if (!sim::has(log.header(), sim::log_column(column))) return PointResult::kNone;
  std::vector<double> values = log.column(column);
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Returns the result of a closed log; its status is waiting if the run was stopped or failed.
PointResult result_of(const sim::LogReader& log, const std::string& name) {
  PointResult result;
  check_identity(log, name);
  result.data_hash = log.header().data_hash;
  if (log.status() == sim::RunStatus::finished) result.status = PointStatus::done;
  if (log.status() == sim::RunStatus::diverged) result.status = PointStatus::diverged;
  if (!result.ended()) return result;
  const std::vector<double> steps = log.column("steps/step"), losses = log.column("steps/loss");
  const std::vector<double> seconds = log.column("steps/wall_seconds");
  const std::vector<sim::EvaluationRow> evaluations = log.evaluations();
  result.reason = sim::reason_of_end(log.events());
  if (!steps.empty()) result.steps = std::llround(steps.back());
  if (!losses.empty()) result.train_loss = losses.back();
  if (result.status == PointStatus::done && !evaluations.empty()) {
    result.eval_loss = evaluations.back().loss;
    result.accuracy = evaluations.back().accuracy;
    result.auc = evaluations.back().auc;
    result.boundary_loss = evaluations.back().boundary_loss;
    result.boundary_auc = evaluations.back().boundary_auc;
  }
  for (const auto& [column, member] : kBoundaryMeans) result.*member = mean_of(log, "steps/" + std::string(column));
  result.bytes = sent_bytes(log, evaluations);
  result.wall_seconds = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return result;
}

/// Returns the result of a log that looks closed, or nothing if it cannot be read because it is damaged or another
/// program has just opened it.
std::optional<PointResult> read_result(const std::string& path, const std::string& name) {
  try {
    return result_of(sim::LogReader(path), name);
  } catch (const ForeignLog&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string status_text(PointStatus status) {
  return kStatusNames[static_cast<std::size_t>(status)];
}

double PointResult::loss() const {
  if (status != PointStatus::done) return std::numeric_limits<double>::infinity();
  return std::isfinite(eval_loss) ? eval_loss : train_loss;
}

const PointResult& Results::of(const std::string& name) {
  Entry& entry = entries_[name];
  if (entry.result.status == PointStatus::done || entry.result.status == PointStatus::diverged) return entry.result;
  const std::string log = path(name, ".h5");
  struct stat now {};
  if (stat(log.c_str(), &now) == 0 && sim::log_is_closed(log)) {
    const bool same =
        entry.seconds == now.st_mtim.tv_sec && entry.nanoseconds == now.st_mtim.tv_nsec && entry.bytes == now.st_size;
    const std::optional<PointResult> read = same ? std::nullopt : read_result(log, name);
    if (read) entry = {*read, now.st_mtim.tv_sec, now.st_mtim.tv_nsec, now.st_size};
    if (entry.result.status == PointStatus::done || entry.result.status == PointStatus::diverged) return entry.result;
  }
  entry.result = noted(name);
  return entry.result;
}

std::optional<Index> Results::eval_examples(const std::string& name) const {
  if (!fs::exists(path(name, ".h5"))) return std::nullopt;
  try {
    const sim::LogReader log(path(name, ".h5"));
    sim::RunConfig there;
    for (const auto& [option, value] : log.header().config) {
      if (option == "eval.examples") run_option(option).set(there, value);
    }
    return there.eval.examples > 0 ? std::optional(there.eval.examples) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // damaged, or another program has just opened it
  }
}

PointResult Results::noted(const std::string& name) const {
  PointResult result;
  const std::string note = file_text(path(name, kFailed));
  const std::size_t end = note.find('\n');
  if (end == std::string::npos) return result;
  for (const PointStatus status : kStatuses) {
    if (status_text(status) == note.substr(0, end)) result.status = status;
  }
  result.reason = note.substr(end + 1, note.find('\n', end + 1) - end - 1);
  return result;
}

void Results::note_failure(const std::string& name, PointStatus status, const std::string& reason) {
  files::write(path(name, kFailed), status_text(status) + "\n" + reason + "\n");
}

void Results::forgive(const std::string& name) {
  if (!fs::remove(path(name, kFailed))) return;
  const std::string log = path(name, ".h5");
  if (!fs::exists(log) || sim::log_is_in_use(log)) return;
  try {
    sim::repair_log(log);
    return;
  } catch (const sim::NotRepairable&) {
    // the log is set aside below
  }
  fs::rename(log, path(name, ".damaged"));
  for (const sim::CheckpointFile& file : sim::checkpoints_of(log)) {
    fs::rename(file.path, sim::checkpoint_path(path(name, ".damaged"), file.step));
  }
}

void Results::remove_checkpoints(const std::string& name) {
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename().string().starts_with(name + kCheckpoint)) fs::remove(entry.path());
  }
}

void Results::remove_leftovers() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string file = entry.path().filename().string();
    const std::size_t end = file.find(kCheckpoint);
    if (end != std::string::npos) names.insert(file.substr(0, end));
    if (file.ends_with(kFailed)) names.insert(file.substr(0, file.size() - kFailed.size()));
    if (file.ends_with(kPart)) sim::remove_left_part(folder_ + "/" + file.substr(0, file.size() - kPart.size()));
  }
  for (const std::string& name : names) {
    const PointStatus status = of(name).status;
    if (status != PointStatus::done && status != PointStatus::diverged) continue;
    remove_checkpoints(name);
    fs::remove(path(name, kFailed));  // its log could not be read when the note was written
  }
}

}  // namespace onebit::experiments
