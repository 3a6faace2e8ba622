#pragma once
// Wall-clock time of work on a device.

#include <chrono>

#include "device/device.hpp"

namespace onebit::device {

/// Starts running; a lap ends when the device has done all that was launched.
class Stopwatch {
 public:
  explicit Stopwatch(const Device& device) : device_(device) { lap(); }

  /// Seconds since the start or the lap before.
  double lap() {
    device_.synchronize();
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> seconds = now - last_;
    last_ = now;
    return seconds.count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Device& device_;
  Clock::time_point last_ = {};
};

}  // namespace onebit::device
