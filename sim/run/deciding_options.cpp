#include "sim/run/deciding_options.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace onebit::sim {
namespace {

/// data.read is not an option, but logs list it among the options to record what was read.
constexpr std::string_view kNeutral[] = {"label",           "devices",       "threads",   "graphs",
                                         "worker-group",    "memory",        "log.flush", "log.flush-every",
                                         "log.compression", "model.timeout", "data.mmap", "data.read"};

}  // namespace

bool decides_results(const std::string& option) {
  return !option.starts_with("checkpoint.") && std::ranges::find(kNeutral, option) == std::end(kNeutral);
}

std::string backend_of(const std::string& devices) {
  const std::string backend = devices.substr(0, devices.find(':'));
  return backend == "cpu" || backend == "debug" ? "" : backend;
}

}  // namespace onebit::sim
