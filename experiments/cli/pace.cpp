#include "experiments/cli/pace.hpp"

#include <algorithm>
#include <cmath>

namespace onebit::experiments {
namespace {

constexpr double kShortestAverage = 10;      // seconds
constexpr double kAveraged = 1.0 / 3;        // share of the time so far
constexpr double kFirst = 0.5;               // seconds from the start to the first estimate
constexpr double kCorrection = 4;            // seconds in which a correction is made, but for a factor e
constexpr double kLonger = 1.15, kMore = 2;  // an estimate is clearly longer by this factor and these seconds

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
  const double estimated = estimate(all - done);
  if (std::isnan(estimated) || now - start_ < kFirst) return;
  const double counted = std::max(0.0, left_ - passed);
  const bool corrected = estimated < counted || estimated > kLonger * counted + kMore;
  const double correction = corrected ? (estimated - counted) * -std::expm1(-passed / kCorrection) : 0;
  left_ = std::isnan(left_) ? estimated : counted + correction;
}

double Pace::rate() const {
  return units_ > 0 && seconds_ > 0 ? units_ / seconds_ : kNone;
}

/// Returns the time that the remaining units take. A unit that takes longer than the average counts with its time so
/// far.
double Pace::estimate(double remaining) const {
  if (!(units_ > 0)) return kNone;
  const double each = std::max(seconds_ / units_, (seconds_ + pending_) / (units_ + 1));
  return std::max(0.0, remaining * each - std::min(pending_, each));
}

}  // namespace onebit::experiments
