#include "sim/run/repair.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "sim/log/descriptor.hpp"
#include "sim/log/log_state.hpp"
#include "sim/log/output_file.hpp"
#include "sim/log/reader.hpp"
#include "sim/log/superblock.hpp"
#include "sim/log/writer.hpp"
#include "sim/run/branch_log.hpp"
#include "sim/run/checkpoint.hpp"
#include "sim/run/resume.hpp"

namespace onebit::sim {
namespace {

/// Whether every row of a log can be read; if not, sets the reason.
bool is_sound(const std::string& path, std::string& reason) {
  try {
    LogReader(path).read_all();
    return true;
  } catch (const Error& error) {
    reason = error.what();
    return false;
  }
}

/// Throws IoError if the system cannot read all bytes of a file, or if HDF5 had no memory: such a failure is not
/// damage, and may be temporary.
void require_damage(const std::string& path, const std::string& reason) {
  if (reason.find("memory allocation") != std::string::npos) throw IoError(reason);
  const Descriptor file(path, O_RDONLY);
  std::vector<char> piece(std::size_t{1} << 20);
  off_t place = 0;
  ssize_t count = 0;
  while ((count = file.read_at(piece.data(), piece.size(), place)) > 0) place += count;
  if (count < 0) throw IoError("cannot read log: " + std::string(std::strerror(errno)), path);
}

/// Waits for readers, which lock a log only for a moment.
void wait_until_unused(const std::string& path) {
  for (int tries = 20; log_is_in_use(path); usleep(100'000)) {
    if (--tries == 0) {
      throw ConfigError("cannot repair log: another program has it open", path, "wait until it ends, or stop it");
    }
  }
}

/// Returns the step of the newest intact checkpoint whose rows the log has.
std::optional<Index> newest_checkpoint(const std::string& path, const LogReader& log) {
  for (const CheckpointFile& file : checkpoints_of(path)) {
    if (defect_of_checkpoint(file.path, log).empty()) return file.step;
  }
  return {};
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

/// Opens a log and tries to read all of its columns. Throws NotRepairable if not even its header can be read.
LogReader readable_part(const std::string& path, const std::string& reason) {
  try {
    LogReader log(path, Damage::tolerated);
    log.read_all();
    return log;
  } catch (const Error&) {
    throw NotRepairable(reason);
  }
}

/// Writes the rows up to the newest checkpoint to a new log. Returns the sentence that the new log contains about this.
std::string write_sound_part(const std::string& path, const std::string& fresh, const std::string& reason) {
  const LogReader log = readable_part(path, reason);
  const std::vector<UnreadableColumn>& lost = log.unreadable_columns();
  const std::optional<Index> step = newest_checkpoint(path, log);
  if (!step || !std::ranges::all_of(lost, is_dispensable)) throw NotRepairable(reason);
  std::string text = "rows after step " + std::to_string(*step) + " could not be trusted and are computed again";
  if (!lost.empty()) text += "; unreadable columns are NaN up to that step: " + names_of(lost);
  LogWriter writer(fresh, log.header(), /*overwrite=*/false);
  copy_log(log, *step, writer);
  if (!holds(writer.rows(), run_state_of(checkpoint_path(path, *step)).rows)) throw NotRepairable(reason);
  writer.append(Event{*step, "repair", text});
  writer.close(RunStatus::stopped);
  return text;
}

/// Gives a file a second name, PATH.damaged or PATH.damaged-2 and so on, or copies it on a file system without links.
/// Returns the name; empty, with errno set, if that fails.
std::string keep(const std::string& path) {
  for (int number = 1;; ++number) {
    std::string name = path + ".damaged";
    if (number > 1) name.append("-").append(std::to_string(number));
    if (link(path.c_str(), name.c_str()) == 0) return name;
    if (errno == EEXIST) continue;
    std::error_code error;
    if (std::filesystem::copy_file(path, name, error)) return name;
    errno = error.value();
    return "";
  }
}

/// Replaces the log by another file, unless a program has opened or changed it since it was `seen`. Returns the name
/// under which the damaged log is kept.
std::string put_in_place(const std::string& path, const std::string& fresh, const FileState& seen) {
  std::string kept;
  files::synchronize_path(fresh, "log");
  replace_unused(path, [&] {
    const std::optional<FileState> now = state_of(path);
    if (!now) return -1;
    errno = EBUSY;
    if (*now != seen) return -1;
    kept = keep(path);
    if (kept.empty()) return -1;
    if (rename(fresh.c_str(), path.c_str()) == 0) return 0;
    const int error = errno;
    unlink(kept.c_str());
    errno = error;
    return -1;
  });
  files::synchronize_folder_of(path);
  return kept;
}

/// Cuts off the advice to restore the log, because the log has just been repaired.
std::string without_hint(const std::string& error) {
  const std::size_t hint = error.find(damaged_log_hint);
  return hint == std::string::npos ? error : error.substr(0, hint - 2);
}

}  // namespace

std::optional<std::string> repair_log(const std::string& path) {
  std::string reason;
  if (is_sound(path, reason) || is_sound(path, reason)) return {};  // a disk or a network may fail once
  require_damage(path, reason);
  wait_until_unused(path);
  const std::optional<FileState> seen = state_of(path);
  if (!seen) throw IoError("cannot read log: " + std::string(std::strerror(errno)), path);
  const std::string fresh = files::temporary_name(path);
  try {
    const std::string text = write_sound_part(path, fresh, reason);
    const std::string kept = put_in_place(path, fresh, *seen);
    return "the log was damaged: " + text + "; the damaged log is " + kept + " (" + without_hint(reason) + ")";
  } catch (...) {
    unlink(fresh.c_str());
    throw;
  }
}

}  // namespace onebit::sim
