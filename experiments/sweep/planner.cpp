#include "experiments/sweep/planner.hpp"

#include <algorithm>

#include "device/base/error.hpp"

namespace onebit::experiments {
namespace {

/// Returns whether an option certainly affects neither which data are read nor on which device; other options may.
bool leaves_data_alone(const std::string& option) {
  static const std::string starts[] = {"optimizer", "freeze", "schedule", "codec",      "feedback", "channel",
                                       "log.",      "eval.",  "steps",    "checkpoint", "memory",   "worker-group"};
  return std::any_of(std::begin(starts), std::end(starts),
                     [&](const auto& start) { return option.starts_with(start); });
}

template <class LeaveOut>
std::string key_of(const sim::RunConfig& config, const LeaveOut& leave_out) {
  std::string key;
  for (const auto& [name, value] : values_of(config)) {
    if (!leave_out(name)) key += name + "=" + value + "\n";
  }
  return key;
}

std::string data_key(const sim::RunConfig& config) {
  return key_of(config, leaves_data_alone);
}

}  // namespace

const PointPlan& PointPlanner::plan(const Point& point) {
  const std::string key = key_of(point.config, [](const std::string& option) { return option == "seed"; });
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second;
  try {
    return plans_[key] = make_plan(point.config);
  } catch (const ConfigError& error) {
    throw ConfigError("point " + label_of(point) + ": " + error.what(), "");
  }
}

std::optional<std::string> PointPlanner::data_hash(const Point& point) const {
  const auto found = hashes_.find(data_key(point.config));
  return found == hashes_.end() ? std::nullopt : std::optional(found->second);
}

PointPlan PointPlanner::make_plan(const sim::RunConfig& config) {
  sim::RunConfig limited = config;
  const sim::RunResources& resources = resources_of(config);
  if (memory_ == 0) memory_ = sim::memory_limit(config, resources);
  limited.memory = memory_;
  try {
    const sim::MemoryPlan plan = sim::plan_memory(limited, resources);
    return {plan.total(), plan.worker_group, resources.data->train_size(), ""};
  } catch (const ConfigError& refusal) {
    // Memory was the reason if planning succeeds with an unlimited amount.
    limited.memory = Index{1} << 60;
    sim::plan_memory(limited, resources);
    return {0, 0, resources.data->train_size(), refusal.what()};
  }
}

const sim::RunResources& PointPlanner::resources_of(const sim::RunConfig& config) {
  const std::string key = data_key(config);
  if (!resources_ || resources_key_ != key) {
    resources_.reset();
    resources_ = sim::make_resources(config);
    resources_key_ = key;
    hashes_[key] = resources_->data->hash();
  }
  return *resources_;
}

}  // namespace onebit::experiments
