#include "sim/run/run_log.hpp"

#include <algorithm>
#include <cstring>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::sim {
namespace {

bool same(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}
bool same(Index a, Index b) {
  return a == b;
}
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) { return same(x, y); });
}

std::string text_of(double value) {
  return " is " + shortest(value);
}
std::string text_of(Index value) {
  return " is " + std::to_string(value);
}
std::string text_of(const std::vector<double>&) {
  return "";
}

[[noreturn]] void refuse(const std::string& what, Index step, const std::string& there, const std::string& now) {
  throw Error(
      "a step that was computed again differs from the log",
      what + " of step " + std::to_string(step) + (there.empty() ? "" : there + " in the log and" + now + " now"),
      "another version of the program or another machine may have written the log; --resume.allow bits continues "
      "and replaces its rows");
}

template <class Row>
void require_same(const Row& there, const Row& now) {
  for_each_field<Row>([&](const Column& column, auto member) {
    if (column.units == "s" || same(there.*member, now.*member)) return;
    refuse(path_of(column), now.step, text_of(there.*member), text_of(now.*member));
  });
}

template <class Row>
void take(const std::vector<Row>& all, Index from, std::deque<Row>& rest) {
  rest.assign(all.begin() + std::min(from, static_cast<Index>(all.size())), all.end());
}

template <class Row>
Index count(const ExpectedRows& expected) {
  return static_cast<Index>(std::get<std::deque<Row>>(expected.rows).size());
}

}  // namespace

ExpectedRows rows_beyond(const LogReader& log, const LogRows& from, Index step) {
  ExpectedRows expected;
  take(log.steps(), from.steps, expected.of<StepRow>());
  if (log.header().per_worker) take(log.workers(), from.workers, expected.of<WorkerRow>());
  if (log.header().per_tensor) take(log.tensors(), from.tensors, expected.of<TensorRow>());
  if (log.header().probed) take(log.probes(), from.probes, expected.of<ProbeRow>());
  take(log.evaluations(), from.evaluations, expected.of<EvaluationRow>());
  for (Event& event : log.events()) {
    if (event.step > step) expected.of<Event>().push_back(std::move(event));
  }
  take(log.traffic(), from.traffic, expected.of<StepTraffic>());
  return expected;
}

template <class Row>
void RunLog::append_row(const Row& row) {
  std::deque<Row>& expected = expected_.of<Row>();
  if (expected.empty()) return writer_.append(row);
  require_same(expected.front(), row);
  expected.pop_front();
}

void RunLog::append(const StepRow& row) {
  append_row(row);
}
void RunLog::append(const WorkerRow& row) {
  append_row(row);
}
void RunLog::append(const TensorRow& row) {
  append_row(row);
}
void RunLog::append(const ProbeRow& row) {
  append_row(row);
}
void RunLog::append(const EvaluationRow& row) {
  append_row(row);
}

/// The log may contain events that this run does not repeat, because a run was stopped or resumed. The end of a run is
/// always appended, even if an earlier run has ended in the same way.
void RunLog::append(const Event& event) {
  if (is_end(event)) return writer_.append(event);
  std::deque<Event>& expected = expected_.of<Event>();
  const auto found = std::ranges::find_if(expected, [&](const Event& there) {
    return there.step == event.step && there.kind == event.kind && there.text == cut_text(event.text, text_bytes);
  });
  if (found == expected.end()) return writer_.append(event);
  expected.erase(found);
}

void RunLog::append(Index step, const netmodel::TrafficList& exchanges) {
  std::deque<StepTraffic>& expected = expected_.of<StepTraffic>();
  netmodel::TrafficList fresh;
  for (const netmodel::Traffic& exchange : exchanges) {
    if (expected.empty()) {
      fresh.push_back(exchange);
      continue;
    }
    if (!(expected.front() == StepTraffic{step, exchange})) refuse("traffic", step, "", "");
    expected.pop_front();
  }
  writer_.append(step, fresh);
}

LogRows RunLog::rows() const {
  LogRows rows = writer_.rows();
  rows.steps -= count<StepRow>(expected_);
  rows.workers -= count<WorkerRow>(expected_);
  rows.tensors -= count<TensorRow>(expected_);
  rows.probes -= count<ProbeRow>(expected_);
  rows.evaluations -= count<EvaluationRow>(expected_);
  rows.traffic -= count<StepTraffic>(expected_);
  return rows;
}

}  // namespace onebit::sim
