#include "optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "optim/read_options.hpp"

namespace onebit::optim {
namespace {

double constant(const ScheduleConfig&, Index) {
  return 1;
}

/// BERT's schedule in 1-bit Adam: decay^((step - warmup) / decay_steps), with a continuous exponent.
double exponential(const ScheduleConfig& config, Index step) {
  return std::pow(config.decay, static_cast<double>(step - config.warmup) / static_cast<double>(config.decay_steps));
}

double cosine(const ScheduleConfig& config, Index step) {
  const double span = static_cast<double>(std::max<Index>(1, config.total_steps - config.warmup));
  const double share = std::min(1.0, static_cast<double>(step - config.warmup) / span);
  return config.final + (1 - config.final) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

double staircase(const ScheduleConfig& config, Index step) {
  return std::pow(config.decay, static_cast<double>((step - config.warmup) / config.decay_steps));
}

void check(bool valid, const std::string& option, const std::string& range) {
  if (!valid) throw ConfigError("schedule option out of range", option, range);
}

/// A row of the table: a schedule, and the options that it reads (optim/read_options.hpp).
struct Row {
  ScheduleEntry entry;
  std::string_view options;
};

constexpr Row kRows[] = {
    {{"constant", "the base rate, after the linear warm-up if there is one", constant}, ""},
    {{"exponential", "warm-up, then decay^((step - warmup) / decay-steps): BERT's schedule in 1-bit Adam", exponential},
     "decay decay-steps"},
    {{"cosine", "warm-up, then half a cosine down to the factor schedule.final at the last step", cosine}, "final"},
    {{"step", "warm-up, then a factor of schedule.decay every schedule.decay-steps steps", staircase},
     "decay decay-steps"},
};

}  // namespace

const std::vector<ScheduleEntry>& schedules() {
  static const std::vector<ScheduleEntry> table = [] {
    std::vector<ScheduleEntry> entries;
    for (const Row& row : kRows) entries.push_back(row.entry);
    return entries;
  }();
  return table;
}

std::string_view options_of_schedule(std::string_view schedule) {
  for (const auto& [entry, options] : kRows) {
    if (entry.name == schedule) return options;
  }
  return {};
}

Schedule::Schedule(ScheduleConfig config) : config_(std::move(config)), decay_(nullptr) {
  check(config_.warmup >= 0, "schedule.warmup " + std::to_string(config_.warmup), "steps, at least 0");
  check(config_.decay > 0 && config_.decay <= 1, "schedule.decay " + shortest(config_.decay), "in (0, 1]");
  check(config_.decay_steps >= 1, "schedule.decay-steps " + std::to_string(config_.decay_steps), "steps, at least 1");
  check(config_.final >= 0 && config_.final <= 1, "schedule.final " + shortest(config_.final), "in [0, 1]");
  if (config_.total_steps > 0) {
    check(config_.warmup <= config_.total_steps, "schedule.warmup " + std::to_string(config_.warmup),
          "at most the run's " + std::to_string(config_.total_steps) + " steps");
  }
  std::vector<std::string_view> names;
  for (const ScheduleEntry& entry : schedules()) {
    if (entry.name == config_.name) decay_ = entry.decay;
    names.push_back(entry.name);
  }
  if (decay_ == nullptr) throw ConfigError("unknown schedule", config_.name, suggestion(config_.name, names));
}

double Schedule::factor(Index step) const {
  if (step <= config_.warmup) return static_cast<double>(step) / static_cast<double>(config_.warmup);
  return decay_(config_, step);
}

}  // namespace onebit::optim
