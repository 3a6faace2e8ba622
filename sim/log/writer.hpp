#pragma once
// Writes the log of one run. See docs/log-format.md for the file.

#include <memory>
#include <string>

#include "netmodel/wire/traffic.hpp"
#include "sim/log/schema.hpp"

namespace onebit::sim {

/// Writes a log. Rows are kept in memory and written by flush(), or when there are many of them. A flush writes the
/// rows, makes sure that they have arrived, and only then raises the counts of committed rows: what a reader trusts
/// survives a kill, a full disk and concurrent reading. Not thread-safe.
///
/// A failed write throws IoError ("cannot write log: No space left on device (run.h5: /)"). The log then accepts
/// nothing more, holds what was committed before, and stays open and locked until the process ends.
class LogWriter {
 public:
  /// Creates the file, which gets its name once its header is complete. overwrite: replaces an existing file, unless
  /// another program has it open. Throws ConfigError if `path` cannot be created, exists or is in use; IoError if
  /// writing fails. No file is left then.
  LogWriter(const std::string& path, const LogHeader& header, bool overwrite);

  /// Continues a log with this header whose writer is gone, and which had `seen` rows when it was read: cuts off the
  /// rows beyond `keep`, and appends `events` to the events that stay. Throws ConfigError if another program has it
  /// open or has written to it since; IoError if it lacks a column or writing fails.
  LogWriter(const std::string& path, const LogHeader& header, const LogRows& keep, const LogRows& seen,
            const std::vector<Event>& events = {});

  /// Does what close(RunStatus::failed) does, without throwing.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// Append a row. Throw IoError if a write is due and fails, and after close() or a failure; ConfigError if the row
  /// has another number of workers or tensors than the header, or the header leaves such rows out.
  void append(const StepRow& row);
  void append(const WorkerRow& row);
  void append(const TensorRow& row);
  void append(const ProbeRow& row);
  void append(const EvaluationRow& row);
  void append(const Event& event);
  void append(Index step, const netmodel::TrafficList& exchanges);

  /// Commits everything appended so far. Throws IoError.
  void flush();
  /// Flushes, and waits until the log is on disk.
  void synchronize();

  /// Rows appended so far, including those of the runs that this one continues.
  LogRows rows() const;

  /// Commits, closes the file, reads it back, and then stores how the run ended. Throws IoError, also if the file does
  /// not hold what was written; it is then marked as damaged. Does nothing after a failure or a close.
  void close(RunStatus status);

 private:
  struct File;
  File& file() const;
  static void abandon(std::unique_ptr<File> file);

  std::unique_ptr<File> file_;
};

}  // namespace onebit::sim
