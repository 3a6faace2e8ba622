#pragma once
// Events in a device's work, and the times between them, measured without making the host wait.

#include <memory>
#include <utility>
#include <vector>

namespace onebit::device {

/// A point in a device's work at which the device records the time.
class Event {
 public:
  virtual ~Event() = default;
  /// Returns the seconds from an earlier event of the same device to this one; waits until the device has reached this
  /// event. Throws DeviceError.
  virtual double since(const Event& earlier) const = 0;
};

/// A sum of durations, some of which may not have ended yet. Reading the sum blocks until all durations have ended.
class Seconds {
 public:
  Seconds(double known = 0) : known_(known) {}
  Seconds(std::shared_ptr<const Event> begin, std::shared_ptr<const Event> end) {
    open_.emplace_back(std::move(begin), std::move(end));
  }
  Seconds& operator+=(const Seconds& other) {
    known_ += other.known_;
    open_.insert(open_.end(), other.open_.begin(), other.open_.end());
    return *this;
  }
  operator double() const {
    double sum = known_;
    for (const auto& [begin, end] : open_) sum += end->since(*begin);
    return sum;
  }

 private:
  double known_ = 0;
  std::vector<std::pair<std::shared_ptr<const Event>, std::shared_ptr<const Event>>> open_;
};

}  // namespace onebit::device
