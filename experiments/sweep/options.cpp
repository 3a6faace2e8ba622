#include "experiments/sweep/options.hpp"

#include "device/base/error.hpp"
#include "experiments/options/options.hpp"

namespace onebit::experiments {
namespace {

Index ranged(const std::string& name, const std::string& value, Index low, Index high) {
  const Index number = parse_integer(name, value);
  if (number >= low && number <= high) return number;
  throw ConfigError("option out of range", name + " " + value,
                    "from " + std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace

bool take_sweep_option(SweepOptions& options, const std::string& name, const std::string& value) {
  if (name == "axis") {
    options.axes.push_back(value);
  } else if (name == "zip") {
    options.zips.push_back(value);
  } else if (name == "skip") {
    options.skips.push_back(value);
  } else if (name == "tune") {
    options.tune = value;
  } else if (name == "tune-points") {
    options.tune_points = ranged(name, value, 2, 24);
  } else if (name == "jobs") {
    options.jobs = ranged(name, value, 0, 4096);
  } else if (name == "retries") {
    options.retries = ranged(name, value, 0, 1000);
  } else if (name == "time-limit") {
    options.time_limit = parse_seconds(name, value);
    if (options.time_limit < 0) throw ConfigError("option out of range", name + " " + value, "at least 0 seconds");
  } else if (name == "shard") {
    options.shard = value;
  } else if (name == "extend") {
    options.extend = true;
  } else if (name == "retry-failed") {
    options.retry_failed = true;
  } else {
    return false;
  }
  return true;
}

const std::vector<std::string>& sweep_option_names() {
  static const std::vector<std::string> names = {"axis",    "zip",        "skip",  "tune",   "tune-points", "jobs",
                                                 "retries", "time-limit", "shard", "extend", "retry-failed"};
  return names;
}

}  // namespace onebit::experiments
