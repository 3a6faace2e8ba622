#pragma once
// The log of a run in progress. A resumed run recomputes some rows that its log already has. The recomputed rows must
// be the same as those in the log, and are not written again.

#include <deque>
#include <tuple>

#include "sim/log/reader.hpp"
#include "sim/log/writer.hpp"

namespace onebit::sim {

/// Rows at the end of a log that a resumed run will compute again.
struct ExpectedRows {
  std::tuple<std::deque<StepRow>, std::deque<WorkerRow>, std::deque<TensorRow>, std::deque<ProbeRow>,
             std::deque<EvaluationRow>, std::deque<Event>, std::deque<StepTraffic>>
      rows;

  template <class Row>
  std::deque<Row>& of() {
    return std::get<std::deque<Row>>(rows);
  }
};

/// Returns the rows of each group beyond the counts `from`, which the log had at `step`. Events are chosen by
/// step > `step` instead, because stopping and resuming add events that the counts do not include. Throws what
/// LogReader throws.
ExpectedRows rows_beyond(const LogReader& log, const LogRows& from, Index step);

class RunLog {
 public:
  RunLog(LogWriter& writer, ExpectedRows expected) : writer_(writer), expected_(std::move(expected)) {}

  /// Append a row, unless the log already has it. Throw what LogWriter::append throws, and Error if the row differs
  /// from the log's in anything but times. Events are treated differently: an event that is not expected is appended,
  /// and an event that ends the run is always appended.
  void append(const StepRow& row);
  void append(const WorkerRow& row);
  void append(const TensorRow& row);
  void append(const ProbeRow& row);
  void append(const EvaluationRow& row);
  void append(const Event& event);
  void append(Index step, const netmodel::TrafficList& exchanges);

  void flush() { writer_.flush(); }
  void synchronize() { writer_.synchronize(); }
  /// Returns the number of rows up to the run's current step. Rows that are still expected do not count; events always
  /// do.
  LogRows rows() const;

 private:
  template <class Row>
  void append_row(const Row& row);

  LogWriter& writer_;
  ExpectedRows expected_;
};

}  // namespace onebit::sim
