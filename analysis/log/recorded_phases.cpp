#include "analysis/log/recorded_phases.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "analysis/log/summary.hpp"
#include "device/base/error.hpp"
#include "optim/stages.hpp"

namespace onebit::analysis {
namespace {

/// Number of kinds of exchanges that are remembered; exchanges that depend on the data may differ at every step.
constexpr std::size_t kKinds = 64;

std::optional<optim::Phase> phase_of(double number) {
  return number >= 0 && number < 256 ? optim::phase_of(static_cast<Index>(number)) : std::nullopt;
}

}  // namespace

RecordedPhases::RecordedPhases(const sim::LogReader& log) : freeze_(freeze_step_of(log.events())) {
  const std::vector<double> steps = log.column("steps/step"), phases = log.column("steps/phase");
  if (steps.size() != phases.size()) throw IoError("cannot read log: rows are missing", log.path() + ": /steps/phase");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!(steps[i] > static_cast<double>(last()) && steps[i] <= static_cast<double>(kMostSteps)))
      throw IoError("cannot read log: its steps do not ascend", log.path() + ": /steps/step");
    const std::optional<optim::Phase> phase = phase_of(phases[i]);
    if (!phase) throw IoError("cannot read log: unknown phase number", log.path() + ": /steps/phase");
    rows_.push_back({static_cast<Index>(steps[i]), *phase});
  }
}

std::vector<RecordedPhases::Row>::const_iterator RecordedPhases::row_from(Index step) const {
  return std::ranges::lower_bound(rows_, step, {}, &Row::step);
}

void RecordedPhases::learn(Index first, Index last, const netmodel::TrafficList& each) {
  if (static_cast<Index>(rows_.size()) == this->last()) return;  // every step has a row
  auto kind = kinds_.end();
  for (auto row = row_from(first); row != rows_.end() && row->step <= last; ++row) {
    if (kind == kinds_.end()) kind = std::ranges::find(kinds_, each, &Kind::exchanges);
    if (kind == kinds_.end()) {
      if (kinds_.size() == kKinds) kinds_.pop_front();
      kinds_.push_back({each, {}});
      kind = std::prev(kinds_.end());
    }
    if (std::ranges::find(kind->phases, row->phase) == kind->phases.end()) kind->phases.push_back(row->phase);
  }
}

optim::Phase RecordedPhases::between(const Row& before, const Row& after, Index step) const {
  // A dry run is a single step; the steps between it and the freeze belong to the warm-up stage.
  const optim::Phase earlier = before.phase == optim::Phase::dry_run ? optim::Phase::warmup : before.phase;
  const bool parted = before.step <= freeze_ && freeze_ < after.step;
  return parted && step <= freeze_ ? earlier : after.phase;
}

optim::Phase RecordedPhases::at(Index step, const netmodel::TrafficList& exchanges) const {
  if (rows_.empty()) return optim::Phase::dense;
  const auto after = row_from(step);
  if (after != rows_.end() && after->step == step) return after->phase;
  const auto kind = std::ranges::find(kinds_, exchanges, &Kind::exchanges);
  if (kind != kinds_.end() && kind->phases.size() == 1) return kind->phases.front();
  if (after == rows_.begin()) return after->phase;
  if (after == rows_.end()) return rows_.back().phase;
  return between(*std::prev(after), *after, step);
}

Index RecordedPhases::next_change(Index step) const {
  const auto row = row_from(step);
  Index next = row == rows_.end() ? std::numeric_limits<Index>::max() : row->step + (row->step == step ? 1 : 0);
  if (step <= freeze_) next = std::min(next, freeze_ + 1);
  return next;
}

}  // namespace onebit::analysis
