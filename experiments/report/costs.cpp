#include "experiments/report/costs.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/text.hpp"
#include "experiments/report/answers.hpp"

namespace onebit::experiments {
namespace {

/// Returns " (0.97 to 2.8)", the range of speed_text's number.
std::string range_text(const Speed& speed) {
  const bool faster = speed.ratio >= 1;
  const std::string least = number(faster ? speed.low : 1 / speed.high, 3),
                    most = number(faster ? speed.high : 1 / speed.low, 3);
  return least == most ? "" : " (" + least + " to " + most + ")";
}

}  // namespace

bool is_visible(double ratio) {
  constexpr double visible = 0.005;
  return std::isfinite(ratio) && ratio > 0 && std::abs(ratio - 1) >= visible;
}

Pair pair_of(const Report& report, const analysis::Verdict& verdict) {
  const auto arm_called = [&](const std::string& name) -> const analysis::Arm& {
    return *std::ranges::find(report.arms, name, &analysis::Arm::name);
  };
  return {arm_called(verdict.arm), arm_called(verdict.baseline), figures_of(report.comparison, verdict.arm),
          figures_of(report.comparison, verdict.baseline)};
}

bool are_both_dense(const Pair& pair) {
  const auto is_dense = [](const analysis::Arm& arm) {
    return std::ranges::none_of(example_of(arm).exchanges, &analysis::StepRange::compressed);
  };
  return is_dense(pair.arm) && is_dense(pair.baseline);
}

bool workers_differ(const Pair& pair) {
  return pair.arm.runs.front().summary.workers != pair.baseline.runs.front().summary.workers;
}

std::vector<Speed> speeds_of(const Pair& pair) {
  std::vector<Speed> speeds;
  const bool dense = are_both_dense(pair);
  for (std::size_t c = 0; c < pair.here.seconds.size(); ++c) {
    const analysis::ClusterSeconds &here = pair.here.seconds[c], &there = pair.there.seconds[c];
    const double ratio = there.seconds.mean / here.seconds.mean;
    if (!std::isfinite(ratio)) continue;
    const auto [low, high] = dense ? std::minmax({ratio, there.longer / here.longer, there.shorter / here.shorter})
                                   : std::pair(there.seconds.mean / here.longer, there.seconds.mean / here.shorter);
    speeds.push_back({c, ratio, low, high});
  }
  return speeds;
}

std::string verb_of(const Speed& speed) {
  const bool open = speed.low < 1 && speed.high > 1;
  return speed.ratio >= 1 ? (open ? "may be " : "is an estimated ") : open ? "may take " : "takes an estimated ";
}

std::string speed_text(const Speed& speed, const std::string& cluster) {
  const bool faster = speed.ratio >= 1;
  return number(faster ? speed.ratio : 1 / speed.ratio, 3) + " times as " + (faster ? "fast" : "long") + " on " +
         cluster;
}

std::vector<Speed> named_speeds(const Pair& pair) {
  const std::vector<Speed> speeds = speeds_of(pair);
  if (std::ranges::none_of(speeds, is_visible, &Speed::ratio)) return {};
  const auto [least, most] = std::ranges::minmax_element(speeds, {}, &Speed::ratio);
  if (!is_visible(least->ratio)) return {*most};
  if (!is_visible(most->ratio)) return {*least};
  if (number(least->ratio, 2) == number(most->ratio, 2)) return {most->ratio > 1 ? *most : *least};
  if (most->ratio < 1) return {*least, *most};
  return {*most, *least};
}

bool turns(const std::vector<Speed>& speeds) {
  return speeds.size() == 2 && speeds[0].ratio > 1 && speeds[1].ratio < 1;
}

std::string speeds_text(const std::vector<netmodel::Cluster>& clusters, const std::vector<Speed>& speeds) {
  if (speeds.empty()) return "";
  const auto on = [&](const Speed& speed) {
    return speed_text(speed, clusters[speed.cluster].name) + range_text(speed);
  };
  const std::string first = verb_of(speeds.front()) + on(speeds.front());
  if (speeds.size() == 1) return first;
  const bool same = verb_of(speeds[0]) == verb_of(speeds[1]);
  return first + (turns(speeds) ? ", but " : " and ") + (same ? "" : verb_of(speeds[1])) + on(speeds[1]);
}

std::string bytes_saved_text(double here, double there) {
  if (here == there) return here > 0 ? "sends the same number of bytes" : "sends nothing, either";
  const double ratio = there / here;
  if (!is_visible(ratio)) return "";
  return ratio > 1 ? "sends " + number(ratio, 3) + " times fewer bytes"
                   : "sends " + number(1 / ratio, 3) + " times as many bytes";
}

std::string both(const std::string& bytes, const std::string& speeds, const std::string& between) {
  return bytes + (bytes.empty() || speeds.empty() ? "" : between) + speeds;
}

}  // namespace onebit::experiments
