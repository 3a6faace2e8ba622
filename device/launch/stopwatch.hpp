#pragma once
// Time of work on a device.

#include <chrono>

#include "device/device.hpp"
#include "device/launch/event.hpp"

namespace onebit::device {

/// Starts running. A lap ends when the device has done all that was launched; on a GPU the host does not wait for that,
/// and the time is the GPU's.
class Stopwatch {
 public:
  explicit Stopwatch(const Device& device) : device_(device) { lap(); }

  /// Since the start or the lap before.
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
