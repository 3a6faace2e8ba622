#pragma once
// Writes the log of one run. See docs/log-format.md for the file.

#include <memory>
#include <string>

#include "netmodel/wire/traffic.hpp"
#include "sim/log/schema.hpp"

namespace onebit::sim {

/// Rows are kept in memory and written by flush(), or when there are many of them. A flush writes the rows, makes sure
/// that they have arrived, and only then raises the counts of committed rows: what a reader trusts survives a kill, a
/// full disk and concurrent reading. Not for use from several threads at once.
///
/// A failed write throws IoError ("cannot write log: No space left on device (run.h5: /)"); the log then accepts
/// nothing more, and holds what was committed before. The file then stays open and locked until the process ends.
class LogWriter {
 public:
  /// Creates the file, under its name once its header is complete. overwrite: an existing file is replaced, unless
  /// another program has it open.
  /// Throws ConfigError where `path` cannot be created, exists or is in use;
  /// IoError where writing fails. No file is left behind then.
  LogWriter(const std::string& path, const LogHeader& header, bool overwrite);

  /// Continues a log of `header` whose writer is gone, and that was seen to have `seen` rows: those beyond `keep` are
  /// cut off, and `events` follow the events that stay. Throws ConfigError where another program has it open, or has
  /// written to it since; IoError where it lacks a column or writing fails.
  LogWriter(const std::string& path, const LogHeader& header, const LogRows& keep, const LogRows& seen,
            const std::vector<Event>& events = {});

  /// As close(RunStatus::failed), without throwing.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// Throw IoError where a write is due and fails, and after close() or a failure. ConfigError: the row has another
  /// number of workers or tensors than the header, or the header leaves such rows out.
  void append(const StepRow& row);
  void append(const WorkerRow& row);
  void append(const TensorRow& row);
  void append(const ProbeRow& row);
  void append(const EvaluationRow& row);
  void append(const Event& event);
  void append(Index step, const netmodel::TrafficList& exchanges);

  /// Commits everything appended so far. Throws IoError.
  void flush();
  /// The same, and waits until it is on the disk.
  void synchronize();

  /// Rows appended so far, with those of the runs that this one continues.
  LogRows rows() const;

  /// Commits, closes the file, reads it back, and then stores how the run ended. Throws IoError, also where the file
  /// does not hold what was written: it is marked as damaged then. Does nothing after a failure or a close.
  void close(RunStatus status);

 private:
  struct File;
  File& file() const;
  static void abandon(std::unique_ptr<File> file);

  std::unique_ptr<File> file_;
};

}  // namespace onebit::sim
