#include "sim/run/repair.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "sim/log/log_state.hpp"
#include "sim/log/reader.hpp"
#include "sim/log/superblock.hpp"
#include "sim/log/writer.hpp"
#include "sim/run/branch_log.hpp"
#include "sim/run/checkpoint.hpp"
#include "sim/run/resume.hpp"

namespace onebit::sim {
namespace {

/// Returns the step of the newest intact checkpoint whose rows the log has.
std::optional<Index> newest_checkpoint(const std::string& path, const LogReader& log) {
  for (const CheckpointFile& file : checkpoints_of(path)) {
    if (defect_of_checkpoint(file.path, log).empty()) return file.step;
  }
  return {};
}

/// Reads all rows, so that the log notes the columns that it cannot read.
void read_all(const LogReader& log) {
  rows_beyond(log, {}, 0);
}

bool is_sound(const std::string& path) {
  try {
    read_all(LogReader(path));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Whether a column may be lost: its values then read as not applicable.
bool is_dispensable(const UnreadableColumn& unreadable) {
  return std::ranges::any_of(log_columns(), [&](const Column& column) {
    return path_of(column) == unreadable.name && column.type == ColumnType::float64;
  });
}

std::string names_of(const std::vector<UnreadableColumn>& columns) {
  std::vector<std::string> names;
  for (const UnreadableColumn& column : columns) names.push_back(column.name);
  return join(names, ", ");
}

/// Writes the rows up to `step` to another file, which then replaces the log.
void rewrite(const std::string& path, const LogReader& log, Index step, const std::string& text) {
  const std::string fresh = path + ".repaired", damaged = path + ".damaged";
  LogWriter writer(fresh, log.header(), /*overwrite=*/true);
  copy_log(log, step, writer);
  writer.append(Event{step, "repair", text});
  writer.close(RunStatus::stopped);
  unlink(damaged.c_str());
  if (link(path.c_str(), damaged.c_str()) != 0) throw IoError("cannot keep the damaged log", damaged);
  files::publish(fresh, path, "log", [] {});
}

/// Cuts off the advice to make the log again: it has just been repaired.
std::string without_hint(const std::string& error) {
  return error.substr(0, error.find(std::string("; ") + damaged_log_hint));
}

std::optional<std::string> repaired(const std::string& path, const Error& error) {
  if (log_is_in_use(path)) return {};
  const LogReader log(path, Damage::tolerated);
  read_all(log);
  const std::vector<UnreadableColumn>& lost = log.unreadable_columns();
  const std::optional<Index> step = newest_checkpoint(path, log);
  if (!step || !std::ranges::all_of(lost, is_dispensable)) return {};
  std::string text = "rows after step " + std::to_string(*step) + " could not be trusted and are computed again";
  if (!lost.empty()) text += "; not readable, and NaN up to that step: " + names_of(lost);
  rewrite(path, log, *step, text);
  return "the log was damaged: " + text + "; the damaged log is " + path + ".damaged (" + without_hint(error.what()) +
         ")";
}

}  // namespace

std::optional<std::string> repair_log(const std::string& path) {
  if (is_sound(path)) return {};
  try {
    read_all(LogReader(path));
    return {};  // the first failure was one of the disk or the network
  } catch (const Error& error) {
    std::optional<std::string> text;
    try {
      text = repaired(path, error);
    } catch (const ConfigError&) {
      // not even the header can be read: the first error says why
    }
    if (text) return text;
    throw;
  }
}

}  // namespace onebit::sim
