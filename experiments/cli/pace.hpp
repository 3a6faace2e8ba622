#pragma once
// How fast a job progresses and how much longer it will take, smoothed so that a reader can follow both numbers.

#include <limits>

namespace onebit::experiments {

/// Speed and remaining time of a job that reports how much of it is done. The speed is an exponential average whose
/// time constant is a quarter of the time so far, but at least twenty seconds. The remaining time counts down with the
/// clock and is corrected gradually. It stays the same if the estimate has grown slightly, and rises only if the
/// estimate has grown clearly.
class Pace {
 public:
  /// Records that `done` of `all` units are done. now: seconds since an arbitrary origin, never decreasing. The first
  /// call sets the start: what was done before does not count.
  void note(double done, double all, double now);

  /// Returns units per second; NaN while unknown.
  double rate() const;
  /// Returns the remaining seconds; NaN while unknown.
  double seconds_left() const { return left_; }

 private:
  double estimate(double remaining) const;

  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  bool begun_ = false;
  double start_ = 0, now_ = 0, done_ = 0;
  double units_ = 0, seconds_ = 0;  ///< weighted sums over the past, up to the last unit that was done
  double pending_ = 0;              ///< seconds since that unit
  double left_ = kNone;
};

}  // namespace onebit::experiments
