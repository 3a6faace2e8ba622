#include "experiments/cli/pace.hpp"

#include <algorithm>
#include <cmath>

namespace onebit::experiments {
namespace {

constexpr double kShortestAverage = 20;      // seconds
constexpr double kAveraged = 0.25;           // share of the time so far that is averaged
constexpr double kFirst = 0.5;               // seconds from the start to the first estimate
constexpr double kCorrection = 10;           // largest time constant of a correction, in seconds
constexpr double kHaste = 0.25;              // share of the remaining time that a correction takes if that is less
constexpr double kLonger = 1.15, kMore = 2;  // an estimate beyond this factor plus these seconds is clearly longer

/// Returns what to show next. counted: what is shown now, less the seconds that have passed since.
double corrected(double counted, double estimated, double passed) {
  const double time = std::clamp(kHaste * std::min(counted, estimated), 1.0, kCorrection);
  const double correction = (estimated - counted) * -std::expm1(-passed / time);
  const bool is_longer = estimated > kLonger * counted + kMore;
  return counted + (is_longer ? correction : std::min(correction, passed));
}

}  // namespace

void Pace::note(double done, double all, double now) {
  if (!begun_) {
    begun_ = true;
    start_ = now_ = now;
    done_ = done;
    return;
  }
  const double passed = std::max(0.0, now - now_);
  pending_ += passed;
  if (done > done_) {
    const double decay = std::exp(-pending_ / std::max(kShortestAverage, kAveraged * (now - start_)));
    units_ = decay * units_ + (done - done_);
    seconds_ = decay * seconds_ + pending_;
    pending_ = 0;
  }
  now_ = std::max(now_, now);
  done_ = done;
  if (done >= all) {
    left_ = 0;
    return;
  }
  const double estimated = estimate(all - done);
  if (std::isnan(estimated) || now - start_ < kFirst) return;
  left_ = std::isnan(left_) ? estimated : corrected(std::max(0.0, left_ - passed), estimated, passed);
}

double Pace::rate() const {
  return units_ > 0 && seconds_ > 0 ? units_ / seconds_ : kNone;
}

/// Returns the time that the remaining units take. A unit in progress that has already taken longer than the average is
/// included with its time so far.
double Pace::estimate(double remaining) const {
  if (!(units_ > 0)) return kNone;
  const double each = std::max(seconds_ / units_, (seconds_ + pending_) / (units_ + 1));
  return std::max(0.0, remaining * each - std::min(pending_, each));
}

}  // namespace onebit::experiments
