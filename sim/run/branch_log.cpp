#include "sim/run/branch_log.hpp"

#include "device/base/error.hpp"

namespace onebit::sim {
namespace {

/// Copies rows of another run's log up to a step.
template <class Row>
void copy_rows(const std::vector<Row>& rows, Index step, LogWriter& log) {
  for (const Row& row : rows) {
    if (row.step <= step) log.append(row);
  }
}

}  // namespace

void check_parent(const LogReader& parent, const LogHeader& header, Index step) {
  const LogHeader& other = parent.header();
  const bool same_groups = other.per_worker == header.per_worker && other.per_tensor == header.per_tensor &&
                           other.probed == header.probed && other.rounded == header.rounded &&
                           other.columns == header.columns;
  if (!same_groups || other.data_hash != header.data_hash || parent.committed_rows() < step)
    throw ConfigError("a run cannot branch off from this log", parent.path(),
                      "it needs the same groups of rows, the same data and enough steps");
}

double copy_log(const LogReader& parent, Index step, LogWriter& log) {
  copy_rows(parent.steps(), step, log);
  if (parent.header().per_worker) copy_rows(parent.workers(), step, log);
  if (parent.header().per_tensor) copy_rows(parent.tensors(), step, log);
  if (parent.header().probed) copy_rows(parent.probes(), step, log);
  copy_rows(parent.evaluations(), step, log);
  copy_rows(parent.events(), step, log);
  double bytes = 0;
  for (const StepTraffic& row : parent.traffic()) {
    if (row.step > step) break;
    log.append(row.step, {row.traffic});
    bytes += netmodel::sent_bytes({row.traffic}).value;
  }
  return bytes;
}

}  // namespace onebit::sim
