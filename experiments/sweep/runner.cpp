#include "experiments/sweep/runner.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sstream>

#include "device/base/text.hpp"
#include "experiments/sweep/files.hpp"
#include "sim/log/log_state.hpp"

namespace onebit::experiments {
namespace {

constexpr std::chrono::seconds kLookAgain{1};  // between two looks at a log that another program is writing

/// Returns the last error message in a program's output; empty if there is none.
std::string last_error(const std::string& output) {
  static const std::string start = "onebit: error: ";
  std::istringstream lines(output);
  std::string error;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(start)) error = line.substr(start.size());
  }
  return error;
}

}  // namespace

std::vector<std::string> Runner::advance(const RunnerLimits& limits) {
  std::vector<std::pair<Running, ChildEnd>> ended;
  for (std::size_t i = 0; i < running_.size();) {
    const std::optional<ChildEnd> end = running_[i].child->end();
    if (!end) {
      watch_time(running_[i++], limits.time_limit);
      continue;
    }
    child_seconds_ += running_[i].child->seconds();
    ended.emplace_back(std::move(running_[i]), *end);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (!stopping_) start_what_fits(limits);  // before `conclude`, because reading a log takes time
  std::vector<std::string> through;
  for (const auto& [run, end] : ended) {
    if (conclude(run, end, limits.retries)) through.push_back(run.job.name);
  }
  return through;
}

Runner::~Runner() {
  stop();
  const auto deadline = Clock::now() + kGrace;
  const auto at_work = [](const Running& run) { return !run.child->end(); };
  while (std::any_of(running_.begin(), running_.end(), at_work) && Clock::now() < deadline) {
    wait_for_children(std::chrono::milliseconds(100));
  }
}

void Runner::stop() {
  stopping_ = true;
  for (const Running& run : running_) run.child->send(SIGTERM);
}

void Runner::start_what_fits(const RunnerLimits& limits) {
  Index taken = 0;
  for (const Running& run : running_) taken += run.job.bytes;
  for (auto next = waiting_.begin(); next != waiting_.end() && running() < limits.jobs;) {
    if (deferred(*next)) {
      ++next;
      continue;
    }
    if (taken + next->job.bytes > limits.memory && !running_.empty()) break;
    taken += next->job.bytes;
    const Waiting chosen = std::move(*next);
    next = waiting_.erase(next);
    start(chosen);
  }
}

bool Runner::deferred(Waiting& waiting) {
  if (Clock::now() < waiting.not_before) return true;
  const std::string log = results_.path(waiting.job.name, ".h5");
  if (!sim::log_is_in_use(log)) return false;
  if (!waiting.told) tell_(waiting.job.label + " waits: another program is writing " + log);
  waiting.told = true;
  waiting.not_before = Clock::now() + kLookAgain;
  return true;
}

void Runner::start(const Waiting& waiting) {
  const std::string& name = waiting.job.name;
  auto child = std::make_unique<Child>(std::vector<std::string>{"run", "--config", results_.path(name, ".ini"), "-o",
                                                                results_.path(name, ".h5"), "--resume"},
                                       results_.path(name, ".out"));
  running_.push_back({waiting.job, waiting.attempt, std::move(child), false, false});
}

void Runner::watch_time(Running& run, double limit) const {
  if (limit <= 0 || run.child->seconds() < limit) return;
  if (!run.timed_out) run.child->send(SIGTERM);
  run.timed_out = true;
  const double late = run.child->seconds() - limit;
  if (run.killed || late < std::chrono::duration<double>(kGrace).count()) return;
  run.child->send(SIGKILL);
  run.killed = true;
}

/// Handles the end of a run. Returns false if the point has to run again.
bool Runner::conclude(const Running& run, const ChildEnd& end, Index retries) {
  const std::string& name = run.job.name;
  if (results_.of(name).ended()) {
    results_.remove_checkpoints(name);
    return true;
  }
  if (stopping_) return false;
  if (!run.timed_out && sim::log_is_in_use(results_.path(name, ".h5"))) {
    waiting_.push_back({run.job, run.attempt, Clock::now() + kLookAgain, false});
    return false;
  }
  if (!run.timed_out && run.attempt <= retries) {
    waiting_.push_front({run.job, run.attempt + 1, {}, false});
    return false;
  }
  const std::string reason = reason_of(run, end);
  results_.note_failure(name, run.timed_out ? PointStatus::timeout : PointStatus::failed, reason);
  tell_(run.job.label + " failed: " + reason + " (" + results_.path(name, ".out") + ")");
  return true;
}

std::string Runner::reason_of(const Running& run, const ChildEnd& end) const {
  if (run.timed_out) return "it exceeded the time limit";
  const std::string said = last_error(file_text(results_.path(run.job.name, ".out")));
  if (!said.empty()) return said;
  if (end.signal == 0) return "it ended with status " + std::to_string(end.status) + " and an unfinished log";
  return "it was killed by signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
}

}  // namespace onebit::experiments
