#pragma once
// Writes the log of one run. See docs/log-format.md for the file.

#include <memory>
#include <string>

#include "netmodel/wire/traffic.hpp"
#include "sim/log/schema.hpp"

namespace onebit::sim {

/// Writes a log. Rows are kept in memory and written by flush(), or when many have accumulated. A flush writes the
/// rows, waits until they are in the file, and only then raises the counts of committed rows. Committed rows therefore
/// survive a kill and a full disk, and can be read at any time. Not thread-safe.
///
/// A failed write throws IoError ("cannot write log: No space left on device (run.h5: /)"). The log then accepts
/// nothing more, keeps what was committed before, and stays open and locked until the process ends.
class LogWriter {
 public:
  /// Creates the file, which gets its name once its header is complete. overwrite: replaces an existing file, unless
  /// another program has it open. Throws ConfigError if `path` cannot be created, exists or is in use; IoError if
  /// writing fails. On failure it leaves no new file behind.
  LogWriter(const std::string& path, const LogHeader& header, bool overwrite);

  /// Continues a log that has this header and that no program is writing any more. `seen`: how many rows it had when it
  /// was read. Cuts off the rows beyond `keep` and appends `events` to the events that stay. Throws ConfigError if
  /// another program has the log open or has written to it since it was read; IoError if the log lacks a column or
  /// writing fails.
  LogWriter(const std::string& path, const LogHeader& header, const LogRows& keep, const LogRows& seen,
            const std::vector<Event>& events = {});

  /// Does what close(RunStatus::failed) does, without throwing.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// Append a row. Throw IoError if a write is due and fails, and always after close() or an earlier failure;
  /// ConfigError if the row's number of workers or tensors differs from the header's, or if the log has no rows of this
  /// kind.
  void append(const StepRow& row);
  void append(const WorkerRow& row);
  void append(const TensorRow& row);
  void append(const ProbeRow& row);
  void append(const EvaluationRow& row);
  void append(const Event& event);
  void append(Index step, const netmodel::TrafficList& exchanges);

  /// Commits everything appended so far. Throws IoError.
  void flush();
  /// Commits everything appended so far, and waits until the log is on disk. Throws IoError.
  void synchronize();

  /// Number of rows appended so far, including those that a continued log already had.
  LogRows rows() const;

  /// Commits, closes the file, reads it back, and then stores how the run ended. Throws IoError if writing or reading
  /// back fails, or if the file does not contain what was written; in the latter case, the log is also marked as
  /// damaged. Does nothing after a failure or an earlier close.
  void close(RunStatus status);

 private:
  struct File;
  File& file() const;
  static void abandon(std::unique_ptr<File> file);

  std::unique_ptr<File> file_;
};

}  // namespace onebit::sim
