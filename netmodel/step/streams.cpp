#include "netmodel/step/streams.hpp"

#include <algorithm>

namespace onebit::netmodel {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

}  // namespace

void Streams::add(Stage stage) {
  if (stage.time.value > 0) stages_.push_back(std::move(stage));
}

void Streams::run(bool serial) {
  std::size_t last[2] = {kNone, kNone};                      // the last stage of each stream
  std::vector<std::size_t> decisive(stages_.size(), kNone);  // the stage whose end decides when a stage begins
  std::size_t final = kNone;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    Stage& stage = stages_[i];
    stage.begin = Seconds(0);
    const auto wait_for = [&](std::size_t other) {
      if (other == kNone || stages_[other].end() <= stage.begin) return;
      stage.begin = stages_[other].end();
      decisive[i] = other;
    };
    const bool network = uses_network(stage.kind);
    for (std::size_t before = 0; before < i; ++before) {
      if (serial || std::ranges::find(stage.after, stages_[before].name) != stage.after.end()) wait_for(before);
    }
    wait_for(last[network ? 1 : 0]);
    last[network ? 1 : 0] = i;
    if (final == kNone || stage.end() > stages_[final].end()) final = i;
  }
  for (Stage& stage : stages_) stage.critical = false;
  end_ = final == kNone ? Seconds(0) : stages_[final].end();
  for (std::size_t at = final; at != kNone; at = decisive[at]) stages_[at].critical = true;
  for (Stage& stage : stages_) stage.hidden = uses_network(stage.kind) ? hidden_time(stage) : Seconds(0);
}

/// Returns the time of a stage on the network during which the GPU works. A remainder that is no larger than rounding
/// errors counts as hidden too.
Seconds Streams::hidden_time(const Stage& stage) const {
  constexpr double rounding = 1e-12;
  Seconds hidden;
  for (const Stage& other : stages_) {
    if (uses_network(other.kind)) continue;
    const Seconds both = std::min(stage.end(), other.end()) - std::max(stage.begin, other.begin);
    hidden += std::max(both, Seconds(0));
  }
  return hidden > stage.time - rounding * end_ ? stage.time : hidden;
}

Seconds Streams::total(StageKind kind) const {
  Seconds sum;
  for (const Stage& stage : stages_) {
    if (stage.kind == kind) sum += stage.time;
  }
  return sum;
}

Seconds Streams::waiting(StageKind kind) const {
  Seconds sum;
  for (const Stage& stage : stages_) {
    if (stage.kind == kind) sum += stage.time - stage.hidden;
  }
  return sum;
}

}  // namespace onebit::netmodel
