#include "device/device.hpp"

#include <omp.h>

#include "device/error.hpp"

namespace onebit::device {

Device Device::cpu(int threads) {
  if (threads < 0) throw ConfigError("number of threads is negative", "threads " + std::to_string(threads));
  return Device(threads == 0 ? omp_get_max_threads() : threads);
}

Device Device::parse(const std::string& name, int threads) {
  if (name == "cpu" || name == "cpu:1") return cpu(threads);
  if (name.starts_with("cuda") || name.starts_with("cpu:") || name == "debug") {
    throw NotCompiled("device not in this build", name, "devices here: cpu");
  }
  throw ConfigError("unknown device", name, "devices here: cpu");
}

}  // namespace onebit::device
