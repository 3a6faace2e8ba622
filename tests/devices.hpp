#pragma once
// The backends on which tests run: the CPU, the debug device, and a GPU if there is one.

#include <cstdlib>
#include <string>
#include <vector>

#include "device/memory/buffer.hpp"

namespace onebit::tests {

/// Those of the devices, given as option values, whose backends `list` names (comma-separated); all if it is empty.
/// Throws std::runtime_error if no device is left or the list names a backend that has no device: a test must not pass
/// without running.
std::vector<std::string> with_backends(const std::vector<std::string>& devices, const std::string& list);

/// Returns one device of every available backend, as option values. The environment variable ONEBIT_TEST_BACKENDS
/// (such as cuda, or cpu,cuda) restricts them.
inline const std::vector<std::string>& backends() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found;
    for (const auto& [name, doc] : device::list_devices()) {
      if (name != "cuda") found.push_back(name);  // "cuda" explains why there is no "cuda:0"
      if (name == "cuda:0") break;
    }
    const char* list = std::getenv("ONEBIT_TEST_BACKENDS");
    return with_backends(found, list ? list : "");
  }();
  return names;
}

inline device::Device device_of(const std::string& name, int threads = 2) {
  return device::parse_devices(name, threads).front();
}

template <class T>
device::Buffer<T> on(const device::Device& device, const std::vector<T>& values) {
  return device::Buffer<T>::copy_of(device, values);
}

}  // namespace onebit::tests
