#pragma once
// The backends on which tests run: the CPU, the debug device, and a GPU if there is one.

#include <string>
#include <vector>

#include "device/memory/buffer.hpp"

namespace onebit::tests {

/// Returns one device of every available backend, as option values.
inline const std::vector<std::string>& backends() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found;
    for (const auto& [name, doc] : device::list_devices()) {
      if (name != "cuda") found.push_back(name);  // "cuda" explains why there is no "cuda:0"
      if (name == "cuda:0") break;
    }
    return found;
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
