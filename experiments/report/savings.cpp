#include "experiments/report/savings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "analysis/compare/target.hpp"
#include "analysis/log/log_options.hpp"
#include "experiments/output/interval_output.hpp"
#include "experiments/report/answers.hpp"
#include "experiments/report/clusters.hpp"
#include "optim/read_options.hpp"

namespace onebit::experiments {
namespace {

using analysis::Arm;
using analysis::ArmFigures;
using analysis::Verdict;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Whether a ratio is far enough from 1 to be named.
bool is_visible(double ratio) {
  constexpr double visible = 0.005;
  return std::isfinite(ratio) && ratio > 0 && std::abs(ratio - 1) >= visible;
}

/// A verdict's arm and baseline.
struct Pair {
  const Arm &arm, &baseline;
  const ArmFigures &here, &there;
};

Pair pair_of(const Report& report, const Verdict& verdict) {
  const auto arm_called = [&](const std::string& name) -> const Arm& {
    return *std::ranges::find(report.arms, name, &Arm::name);
  };
  return {arm_called(verdict.arm), arm_called(verdict.baseline), figures_of(report.comparison, verdict.arm),
          figures_of(report.comparison, verdict.baseline)};
}

/// The time of a baseline divided by that of an arm on one cluster, with its range within the cluster's uncertainty.
struct Speed {
  std::size_t cluster = 0;
  double ratio = kNone, low = kNone, high = kNone;
};

std::vector<Speed> speeds_of(const Pair& pair) {
  std::vector<Speed> speeds;
  for (std::size_t c = 0; c < pair.here.seconds.size(); ++c) {
    const analysis::ClusterSeconds &here = pair.here.seconds[c], &there = pair.there.seconds[c];
    const double ratio = there.seconds.mean / here.seconds.mean;
    const double longer = there.longer / here.longer, shorter = there.shorter / here.shorter;
    if (!std::isfinite(ratio)) continue;
    speeds.push_back({c, ratio, std::min({ratio, longer, shorter}), std::max({ratio, longer, shorter})});
  }
  return speeds;
}

std::string faster_text(double ratio) {
  return ratio >= 1 ? number(ratio, 3) + " times as fast" : number(1 / ratio, 3) + " times as long";
}

/// The clusters on which an arm gains most and least, or the one of them that says it all; none if its time is about
/// the same as its baseline's on all of them.
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

/// Returns "is an estimated 1.44 times as fast on eth1, but takes 1.84 times as long on ib100"; empty without speeds.
std::string speeds_text(const std::vector<netmodel::Cluster>& clusters, const std::vector<Speed>& speeds) {
  if (speeds.empty()) return "";
  const auto on = [&](const Speed& speed) { return faster_text(speed.ratio) + " on " + clusters[speed.cluster].name; };
  const std::string verb = speeds.front().ratio >= 1 ? "is an estimated " : "takes an estimated ";
  if (speeds.size() == 1) return verb + on(speeds[0]);
  const bool turns = speeds[0].ratio > 1 && speeds[1].ratio < 1;
  return verb + on(speeds[0]) + (turns ? ", but takes " : " and ") + on(speeds[1]);
}

/// Returns "1.2 to 1.5 times as fast on eth1 if its links are 50% slower or faster"; empty if that changes little.
std::string range_text(const Speed& speed, const netmodel::Cluster& cluster) {
  const bool faster = speed.ratio >= 1;
  const std::string low = number(faster ? speed.low : 1 / speed.high, 2),
                    high = number(faster ? speed.high : 1 / speed.low, 2);
  if (low == high) return "";
  return low + " to " + high + " times as " + (faster ? "fast" : "long") + " on " + cluster.name +
         " if its links are " + percent_text(netmodel::uncertainty_of(cluster)) + " slower or faster";
}

/// Says why an arm that sends less is slower on the cluster where it gains least; otherwise empty.
std::string reason_text(const Pair& pair, const std::vector<Speed>& speeds,
                        const std::vector<netmodel::Cluster>& clusters) {
  if (speeds.empty() || !(pair.here.bytes.mean < pair.there.bytes.mean)) return "";
  const Speed& least = *std::ranges::min_element(speeds, {}, &Speed::ratio);
  const std::string part = least.ratio < 1 ? grown_part(pair.here, pair.there, least.cluster) : "";
  return part.empty() ? "" : " It is slower on " + clusters[least.cluster].name + " by " + part + ".";
}

/// Returns "sends 4.43 times fewer bytes", or another such text.
std::string bytes_saved_text(double here, double there) {
  if (here == there) return "sends the same number of bytes";
  const double ratio = there / here;
  if (!is_visible(ratio)) return "";
  return "sends " + number(ratio > 1 ? ratio : 1 / ratio, 3) + " times " + (ratio > 1 ? "fewer" : "more") + " bytes";
}

std::string both(const std::string& bytes, const std::string& speeds) {
  return bytes + (bytes.empty() || speeds.empty() ? "" : " and ") + speeds;
}

/// Returns "In the same 300 steps it", or "It" if the finished runs of the two arms did not all take as many steps.
std::string in_same_steps(const Pair& pair) {
  std::set<Index> steps;
  for (const Arm* arm : {&pair.arm, &pair.baseline}) {
    for (const analysis::Run& run : arm->runs) {
      if (outcome_of(run) == analysis::Outcome::finished) steps.insert(run.summary.steps);
    }
  }
  return steps.size() == 1 ? "In the same " + std::to_string(*steps.begin()) + " steps it" : "It";
}

/// Returns the mean over an arm's finished runs of the place on an axis at which they first reached a loss.
double reached_in_the_mean(const ArmFigures& arm, std::size_t axis, double target) {
  double sum = 0, count = 0;
  for (const analysis::RunCurve& run : arm.run_curves) {
    if (run.outcome != analysis::Outcome::finished) continue;
    sum += analysis::reached_at(run.x[axis], run.losses, target);
    ++count;
  }
  return sum / count;
}

/// Whether the arm is slower somewhere, and most of that is the latency of more messages.
bool is_slower_by_messages(const Pair& pair) {
  return std::ranges::any_of(speeds_of(pair), [&](const Speed& speed) {
    return speed.ratio < 1 && grows_by_messages(pair.here, pair.there, speed.cluster);
  });
}

}  // namespace

std::string costs_text(const Report& report, const Verdict& verdict) {
  const Pair pair = pair_of(report, verdict);
  const std::string costs = both(bytes_saved_text(pair.here.bytes.mean, pair.there.bytes.mean),
                                 speeds_text(report.comparison.clusters, named_speeds(pair)));
  return costs.empty() ? "" : " " + in_same_steps(pair) + " " + costs + ".";
}

std::string conditions_text(const Report& report, const Verdict& verdict) {
  const Pair pair = pair_of(report, verdict);
  const std::vector<Speed> speeds = named_speeds(pair);
  if (speeds.empty()) return "";
  const std::vector<netmodel::Cluster>& clusters = report.comparison.clusters;
  std::vector<std::string> ranges;
  for (const Speed& speed : speeds) ranges.push_back(range_text(speed, clusters[speed.cluster]));
  std::erase(ranges, "");
  const std::vector<analysis::ComputingGroup>& computing = report.comparison.computing;
  std::string text;
  if (computing.size() == 1 && computing.front().runs > 0)
    text += " The times hold for steps that compute for " + seconds_text(computing.front().seconds) + ", as here.";
  if (!ranges.empty()) text += " Ranges: " + join(ranges, "; ") + ".";
  return text + reason_text(pair, speeds, clusters);
}

std::string stages_text(const Report& report, const Verdict& verdict) {
  const analysis::Run& run = example_of(pair_of(report, verdict).arm);
  double dense = 0, all = 0;
  for (const analysis::StepRange& range : run.exchanges) {
    all += range.steps();
    if (!range.compressed) dense += range.steps();
  }
  const double share = dense * run.summary.dense_step_bytes / run.summary.bytes;
  const double fewer = run.summary.dense_step_bytes / run.summary.compressed_step_bytes;
  constexpr double visible = 1.25;
  if (!(dense > 0 && dense < all && share > 0 && share <= 1 &&
        fewer > visible * all * run.summary.dense_step_bytes / run.summary.bytes))
    return "";
  return " Its " + number(dense, 6) + " dense steps send " + percent_text(std::round(100 * share) / 100) +
         " of its bytes; after them a step with an exchange sends " + number(fewer, 3) +
         " times fewer than a dense one.";
}

std::string target_costs_text(const Report& report, const Verdict& verdict) {
  constexpr double alike = 1.25;
  constexpr std::size_t bytes = 2, seconds = 3;  // axes of RunCurve::x
  const Pair pair = pair_of(report, verdict);
  const std::vector<const Arm*> arms = {&pair.arm, &pair.baseline};
  const double target = analysis::common_target(arms);
  if (!std::isfinite(target)) return "";
  const auto ratio = [&](std::size_t axis) {
    return reached_in_the_mean(pair.there, axis, target) / reached_in_the_mean(pair.here, axis, target);
  };
  const auto differ = [&](double a, double b) { return std::max(a / b, b / a) > alike; };
  const bool clusters = !pair.here.seconds.empty();
  const double of_run = pair.there.bytes.mean / pair.here.bytes.mean, time = clusters ? ratio(seconds) : kNone;
  const bool same_time =
      !clusters || !differ(time, pair.there.seconds.front().seconds.mean / pair.here.seconds.front().seconds.mean);
  if (!differ(ratio(bytes), of_run) && same_time) return "";
  std::string costs = bytes_saved_text(1, ratio(bytes));
  if (is_visible(time)) {
    costs = both(costs, (time > 1 ? "is an estimated " + number(time, 3) + " times as fast on "
                                  : "takes an estimated " + number(1 / time, 3) + " times as long on ") +
                            pair.here.seconds.front().cluster);
  }
  if (costs.empty()) return "";
  return " To reach a loss of " + number(target, 4) + ", as every run of both arms did, it " + costs + ".";
}

std::string messages_text(const Report& report, const Verdict& verdict) {
  const Pair pair = pair_of(report, verdict);
  const sim::LogHeader& header = pair.arm.runs.front().header;
  const std::size_t tensors = header.tensors.size();
  if (pair.here.seconds.empty() || tensors < 2) return "";
  if (analysis::option_of(header, "optimizer.granularity") != "tensor") return "";
  if (!optim::takes_option(analysis::option_of(header, "optimizer").value_or(""), "granularity")) return "";
  if (!is_slower_by_messages(pair)) return "";
  return " Each of its " + std::to_string(tensors) +
         " tensors is exchanged in messages of its own; where the codec allows it, --optimizer.granularity fused "
         "exchanges them as one vector (which also changes the results).";
}

}  // namespace onebit::experiments
