#pragma once
// Measures the time of work on a device.

#include <chrono>

#include "device/device.hpp"
#include "device/launch/event.hpp"

namespace onebit::device {

/// A stopwatch that starts when it is constructed. A lap ends when the device has done everything launched so far; on a
/// GPU the host does not wait for that, and the GPU measures the time.
class Stopwatch {
 public:
  explicit Stopwatch(const Device& device) : device_(device) { lap(); }

  /// Time since the start or the previous lap.
  Seconds lap() {
    if (std::shared_ptr<const Event> event = device_.record_event()) {
      event_.swap(event);
      return event == nullptr ? Seconds() : Seconds(event, event_);
    }
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> seconds = now - last_;
    last_ = now;
    return seconds.count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Device& device_;
  Clock::time_point last_ = {};
  std::shared_ptr<const Event> event_;
};

}  // namespace onebit::device
