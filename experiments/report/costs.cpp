#include "experiments/report/costs.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/text.hpp"
#include "experiments/report/answers.hpp"
#include "experiments/report/grids.hpp"

namespace onebit::experiments {
namespace {

/// Returns the ends of the range of speed_text's number.
std::pair<std::string, std::string> range_of(const Speed& speed) {
  const bool faster = speed.ratio >= 1;
  return {number(faster ? speed.low : 1 / speed.high, 3), number(faster ? speed.high : 1 / speed.low, 3)};
}

bool is_encoded(const netmodel::Traffic& traffic) {
  return traffic.type != netmodel::WireType::fp32;
}

/// Whether a run of an arm exchanges encoded vectors, at a boundary between workers too.
bool compresses(const analysis::Arm& arm) {
  return std::ranges::any_of(arm.runs, [](const analysis::Run& run) {
    return std::ranges::any_of(run.exchanges, [](const analysis::StepRange& range) {
      return range.compressed || std::ranges::any_of(range.each, is_encoded);
    });
  });
}

/// Returns the different exchanges of an arm's steps, apart from what hides them, in order of appearance.
std::vector<netmodel::TrafficList> kinds_of(const analysis::Arm& arm) {
  std::vector<netmodel::TrafficList> kinds;
  for (const analysis::Run& run : arm.runs) {
    for (const analysis::StepRange& range : run.exchanges) {
      netmodel::TrafficList each = range.each;
      for (netmodel::Traffic& traffic : each) traffic.overlaps_backward = false;
      if (!each.empty() && std::ranges::find(kinds, each) == kinds.end()) kinds.push_back(std::move(each));
    }
  }
  return kinds;
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

Uncertain uncertain_of(const Pair& pair) {
  if (std::ranges::is_permutation(kinds_of(pair.arm), kinds_of(pair.baseline))) return Uncertain::both;
  if (!compresses(pair.baseline)) return Uncertain::arm;
  return compresses(pair.arm) ? Uncertain::each : Uncertain::baseline;
}

bool workers_differ(const Pair& pair) {
  return pair.arm.runs.front().summary.workers != pair.baseline.runs.front().summary.workers;
}

std::vector<Speed> speeds_of(const Pair& pair) {
  std::vector<Speed> speeds;
  const Uncertain uncertain = uncertain_of(pair);
  for (std::size_t c = 0; c < pair.here.seconds.size(); ++c) {
    const analysis::ClusterSeconds &here = pair.here.seconds[c], &there = pair.there.seconds[c];
    const double ratio = there.seconds.mean / here.seconds.mean;
    if (!std::isfinite(ratio)) continue;
    const bool here_varies = uncertain != Uncertain::baseline, there_varies = uncertain != Uncertain::arm;
    double here_longer = here_varies ? here.longer : here.seconds.mean;
    double here_shorter = here_varies ? here.shorter : here.seconds.mean;
    if (uncertain == Uncertain::each) std::swap(here_longer, here_shorter);
    const auto [low, high] = std::minmax({ratio, (there_varies ? there.longer : there.seconds.mean) / here_longer,
                                          (there_varies ? there.shorter : there.seconds.mean) / here_shorter});
    speeds.push_back({c, ratio, low, high, uncertain});
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

std::string range_text(const Speed& speed, const netmodel::Cluster& cluster) {
  const auto [least, most] = range_of(speed);
  if (least == most) return "";
  constexpr std::string_view whose[] = {"its ", "the baseline's ", "all ", "each arm's "};
  return least + " to " + most + " with " + std::string(whose[static_cast<std::size_t>(speed.uncertain)]) +
         "exchange times ±" + percent_text(netmodel::uncertainty_of(cluster));
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
    const netmodel::Cluster& cluster = clusters[speed.cluster];
    const std::string range = range_text(speed, cluster);
    return speed_text(speed, cluster.name) + (range.empty() ? "" : " (" + range + ")");
  };
  const std::string first = verb_of(speeds.front()) + on(speeds.front());
  if (speeds.size() == 1) return first;
  const bool same = verb_of(speeds[0]) == verb_of(speeds[1]);
  return first + (turns(speeds) ? ", but " : " and ") + (same ? "" : verb_of(speeds[1])) + on(speeds[1]);
}

std::string bytes_saved_text(double here, double there, const std::string& sends) {
  if (here == there) return sends + (here > 0 ? " the same number of bytes" : " nothing either");
  const double ratio = there / here;
  if (!is_visible(ratio)) return "";
  return sends + " " +
         (ratio > 1 ? number(ratio, 3) + " times fewer bytes" : number(1 / ratio, 3) + " times as many bytes");
}

std::string both(const std::string& bytes, const std::string& speeds, const std::string& between) {
  return bytes + (bytes.empty() || speeds.empty() ? "" : between) + speeds;
}

}  // namespace onebit::experiments
