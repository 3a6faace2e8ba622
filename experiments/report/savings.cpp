#include "experiments/report/savings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "analysis/compare/arm_names.hpp"
#include "analysis/compare/target.hpp"
#include "analysis/log/log_options.hpp"
#include "experiments/output/interval_output.hpp"
#include "experiments/report/answers.hpp"
#include "experiments/report/chart.hpp"
#include "experiments/report/clusters.hpp"
#include "experiments/report/html.hpp"
#include "experiments/report/speeds.hpp"
#include "optim/read_options.hpp"

namespace onebit::experiments {
namespace {

using analysis::Arm;
using analysis::ArmFigures;
using analysis::Comparison;
using analysis::RunCurve;
using analysis::Verdict;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kSteps = 0, kBytes = 2, kSeconds = 3;  // axes of RunCurve::x; kSeconds: on the first cluster

/// Says why an arm that sends less is slower on the cluster where it gains least; otherwise empty.
std::string reason_text(const Pair& pair, const std::vector<Speed>& speeds,
                        const std::vector<netmodel::Cluster>& clusters) {
  if (speeds.empty() || !(pair.here.bytes.mean < pair.there.bytes.mean)) return "";
  const Speed& least = *std::ranges::min_element(speeds, {}, &Speed::ratio);
  const std::string part = least.ratio < 1 ? grown_part(pair.here, pair.there, least.cluster) : "";
  return part.empty()
             ? ""
             : (least.high > 1 ? "If it is slower on " + clusters[least.cluster].name + ", the reason is " + part + "."
                               : "It is slower on " + clusters[least.cluster].name + " because of " + part + ".");
}

/// Returns "sends 4.43 times fewer bytes", or another such text.
std::string bytes_saved_text(double here, double there) {
  if (here == there) return here > 0 ? "sends the same number of bytes" : "sends nothing, either";
  const double ratio = there / here;
  if (!is_visible(ratio)) return "";
  return ratio > 1 ? "sends " + number(ratio, 3) + " times fewer bytes"
                   : "sends " + number(1 / ratio, 3) + " times as many bytes";
}

/// Returns " (2.22 times fewer than fp16 gradients)" or " (1.03 times as many as fp16 gradients)" if the baseline sends
/// fp32 gradients at every step.
std::string fp16_text(const Pair& pair) {
  const double ratio = pair.there.bytes.mean / pair.here.bytes.mean, fp16 = pair.here.ratio_fp16.times.mean;
  const bool dense = std::abs(pair.here.ratio_fp32.times.mean / ratio - 1) < 0.01;
  if (!dense || !is_visible(ratio) || !std::isfinite(fp16)) return "";
  if (!is_visible(fp16)) return " (as many as fp16 gradients)";
  return fp16 > 1 ? " (" + number(fp16, 3) + " times fewer than fp16 gradients)"
                  : " (" + number(1 / fp16, 3) + " times as many as fp16 gradients)";
}

std::string both(const std::string& bytes, const std::string& speeds, const std::string& between = " and ") {
  return bytes + (bytes.empty() || speeds.empty() ? "" : between) + speeds;
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

/// Returns the place on an axis at which an arm's finished runs first reached a loss, as the mean over these runs.
double reached_in_the_mean(const ArmFigures& arm, std::size_t axis, double target) {
  double sum = 0, count = 0;
  for (const analysis::RunCurve& run : arm.run_curves) {
    if (run.outcome != analysis::Outcome::finished) continue;
    sum += analysis::reached_at(run.x[axis], run.losses, target);
    ++count;
  }
  return sum / count;
}

/// Returns " (3.1 to 3.9 over 3 seeds)", the range over the common seeds of bytes_saved_text's number for the bytes
/// until a loss is reached; empty for one seed, or if all give the same.
std::string seeds_range_text(const Pair& pair, std::size_t axis, double target, bool fewer) {
  std::vector<double> ratios;
  for (const RunCurve& there : pair.there.run_curves) {
    const auto here = std::ranges::find(pair.here.run_curves, there.seed, &RunCurve::seed);
    if (here == pair.here.run_curves.end()) continue;
    const double ratio = analysis::reached_at(there.x[axis], there.losses, target) /
                         analysis::reached_at(here->x[axis], here->losses, target);
    if (std::isfinite(ratio) && ratio > 0) ratios.push_back(fewer ? ratio : 1 / ratio);
  }
  if (ratios.size() < 2) return "";
  const auto [least, most] = std::ranges::minmax(ratios);
  if (number(least, 3) == number(most, 3)) return "";
  return " (" + number(least, 3) + " to " + number(most, 3) + " over " + html::counted(std::ssize(ratios), "seed") +
         ")";
}

/// Whether the arm is slower somewhere, and most of that is the latency of more messages.
bool is_slower_by_messages(const Pair& pair) {
  return std::ranges::any_of(speeds_of(pair), [&](const Speed& speed) {
    return speed.ratio < 1 && grows_by_messages(pair.here, pair.there, speed.cluster);
  });
}

/// Says by how much the times in costs_text may be wrong; empty without speeds.
std::string ranges_text(const std::vector<Speed>& speeds, const std::vector<netmodel::Cluster>& clusters) {
  if (speeds.empty()) return "";
  std::vector<std::string> shares, all;  // without and with the clusters
  for (const Speed& speed : speeds) {
    const netmodel::Cluster& cluster = clusters[speed.cluster];
    const std::string share = percent_text(netmodel::uncertainty_of(cluster));
    if (std::ranges::find(shares, share) == shares.end()) shares.push_back(share);
    all.push_back(share + " (" + cluster.name + ")");
  }
  return "The ranges hold if its exchanges take up to " + (shares.size() == 1 ? shares.front() : join(all, " or ")) +
         " more or less time than estimated; some compressed exchanges were measured at up to 2.9 times the estimate.";
}

/// Says how long a step computes; empty without speeds, or if a step does not compute.
std::string computing_text(const Pair& pair, const std::vector<Speed>& speeds) {
  if (speeds.empty()) return "";
  const netmodel::StepEstimate& step = analysis::example_times(pair.here).steps[speeds.front().cluster];
  const netmodel::Seconds computing = step.forward + step.backward;
  if (!(computing.value > 0)) return "";
  return "A step computes for " + seconds_text(computing.value) +
         "; the longer it computes, the less the exchanges matter.";
}

/// Says which share of an arm's bytes its dense steps send, and how many times fewer a compressed step sends; empty
/// unless it has both and the factor is above that of the whole run.
std::string stages_text(const Pair& pair) {
  const analysis::Run& run = example_of(pair.arm);
  if (outcome_of(run) != analysis::Outcome::finished) return "";
  double dense = 0, all = 0;
  for (const analysis::StepRange& range : run.exchanges) {
    if (!range.compressed && dense < all) return "";  // dense and compressed steps alternate
    all += range.steps();
    if (!range.compressed) dense += range.steps();
  }
  const double share = dense * run.summary.dense_step_bytes / run.summary.bytes;
  const double fewer = run.summary.dense_step_bytes / run.summary.compressed_step_bytes;
  const double fewer_in_all = all * run.summary.dense_step_bytes / run.summary.bytes;
  constexpr double visible = 1.25;
  if (!(dense > 1 && dense < all && share > 0 && share <= 1 && fewer > visible * fewer_in_all)) return "";
  return "Its " + number(dense, 6) + " dense steps send " +
         percent_text(std::clamp(std::round(100 * share) / 100, 0.01, 0.99)) +
         " of its bytes; after them a step with an exchange sends " + number(fewer, 3) +
         " times fewer than a dense one.";
}

/// Returns the number of an arm's runs that reached a loss, in words: "1 of 3 runs of a".
std::string reached_text(const ArmFigures& arm, double target) {
  const auto reached = std::ranges::count_if(arm.run_curves, [&](const RunCurve& run) {
    return std::isfinite(analysis::reached_at(run.x.front(), run.losses, target));
  });
  return std::to_string(reached) + " of " + html::counted(std::ssize(arm.run_curves), "run") + " of " +
         analysis::spoken_name(arm.name);
}

/// Whether every finished run of an arm reached a loss.
bool all_reached(const ArmFigures& arm, double target) {
  return std::isfinite(reached_in_the_mean(arm, kSteps, target));
}

/// Considers the arms in an arm's grid that have no diverged run and whose finished runs all reached a loss. Returns
/// the one that reached it soonest, in time on the first cluster or else in bytes; the arm itself if no other is
/// sooner.
const ArmFigures& quickest(const Report& report, const ArmFigures& arm, double target) {
  const Comparison& comparison = report.comparison;
  const std::size_t axis = arm.seconds.empty() ? kBytes : kSeconds;
  const double own = reached_in_the_mean(arm, axis, target);
  const ArmFigures* best = &arm;
  double least = std::isnan(own) ? std::numeric_limits<double>::infinity() : own;
  for (const std::size_t i : comparison.grids[grid_of(comparison, arm.name)].arms) {
    const ArmFigures& each = comparison.arms[i];
    const double cost = each.diverged == 0 ? reached_in_the_mean(each, axis, target) : kNone;
    if (!(cost < least)) continue;
    least = cost;
    best = &each;
  }
  return *best;
}

/// Whether --best left out other rates of an arm, which may reach a loss sooner.
bool lacks_rates(const Report& report, const ArmFigures& arm) {
  const Comparison& comparison = report.comparison;
  return comparison.grids[grid_of(comparison, arm.name)].arms.size() < arm.rates.tried.size();
}

bool lacks_rates(const Report& report, const Pair& pair) {
  return lacks_rates(report, pair.here) || lacks_rates(report, pair.there);
}

/// Returns " at the learning rates that get there soonest (signum 0.01, adam 0.1),", or " at their best learning rates
/// (...)," if --best left out the others; empty if the best rates get there soonest.
std::string quickest_text(const Report& report, const Pair& best, const Pair& quick) {
  const bool lacks = lacks_rates(report, best);
  if (!lacks && &best.here == &quick.here && &best.there == &quick.there) return "";
  const auto rate_of = [&](const ArmFigures& arm) {
    return analysis::spoken_name(name_at_best(report.comparison, arm.name)) + " " + shortest(arm.rates.rate);
  };
  return std::string(lacks ? " at their best learning rates" : " at the learning rates that get there soonest") + " (" +
         rate_of(quick.here) + ", " + rate_of(quick.there) + "),";
}

/// Returns the cost of the baseline until a loss is reached divided by that of the arm, on one axis.
double ratio_until(const Pair& pair, std::size_t axis, double target) {
  return reached_in_the_mean(pair.there, axis, target) / reached_in_the_mean(pair.here, axis, target);
}

/// Returns "sends 3.6 times fewer bytes (3.4 to 3.9 over 4 seeds) and may be 2.9 times as fast on eth1", until a loss
/// is reached; empty if the costs are about the same.
std::string costs_until(const Pair& pair, double target) {
  const double bytes = ratio_until(pair, kBytes, target);
  const double time = pair.here.seconds.empty() ? kNone : ratio_until(pair, kSeconds, target);
  std::string costs = bytes_saved_text(1, bytes);
  if (is_visible(bytes)) costs += seeds_range_text(pair, kBytes, target, bytes > 1);
  if (!is_visible(time)) return costs;
  const std::vector<Speed> speeds = speeds_of(pair);
  Speed speed{.ratio = time};
  if (!speeds.empty() && speeds.front().cluster == 0) {  // with the range of the whole run, relative to its estimate
    speed.low = time * speeds.front().low / speeds.front().ratio;
    speed.high = time * speeds.front().high / speeds.front().ratio;
  }
  return both(costs, verb_of(speed) + speed_text(speed, pair.here.seconds.front().cluster));
}

/// Whether the costs until a loss is reached are much like those of the whole run.
bool is_like_the_run(const Pair& pair, double target) {
  constexpr double alike = 1.1;
  const auto is_like = [&](std::size_t axis, double of_run) {
    const double until = ratio_until(pair, axis, target);
    return !(std::max(until / of_run, of_run / until) > alike);
  };
  return is_like(kBytes, pair.there.bytes.mean / pair.here.bytes.mean) &&
         (pair.here.seconds.empty() ||
          is_like(kSeconds, pair.there.seconds.front().seconds.mean / pair.here.seconds.front().seconds.mean));
}

/// Returns a sentence on the costs of reaching the lowest loss that all runs of both arms reached, or the given target,
/// with each arm at the learning rate that gets there soonest; empty where they are much like those of the whole run,
/// or no run finished.
std::string target_costs_text(const Report& report, const Pair& best) {
  const std::vector<const Arm*> arms = {&best.arm, &best.baseline};
  const bool given = report.comparison.target_is_given;
  const double target = given ? report.comparison.target : analysis::common_target(arms);
  if (!std::isfinite(target) || (!given && lacks_rates(report, best))) return "";
  const Pair pair{best.arm, best.baseline, quickest(report, best.here, target), quickest(report, best.there, target)};
  if (given && !(all_reached(pair.here, target) && all_reached(pair.there, target)))
    return "A loss of " + number(target, 4) + " was reached by " + reached_text(pair.here, target) + " and " +
           reached_text(pair.there, target) + ".";
  for (const ArmFigures* arm : {&pair.here, &pair.there}) {
    if (given && reached_in_the_mean(*arm, kSteps, target) == 0)
      return analysis::spoken_name(arm->name) + " starts at or below a loss of " + number(target, 4) + ".";
  }
  const std::string rates = quickest_text(report, best, pair);
  if (!given && rates.empty() && is_like_the_run(pair, target)) return "";
  const std::string costs = costs_until(pair, target);
  if (costs.empty()) return given ? "Both reach a loss of " + number(target, 4) + " at about the same cost." : "";
  return "To reach a loss of " + number(target, 4) + (given ? "" : ", as every finished run of both arms did,") +
         rates + " it " + costs + ".";
}

/// Says why an arm sends more messages than its baseline, if they cost it time: its tensors are exchanged one by one.
/// Otherwise empty.
std::string messages_text(const Pair& pair) {
  const sim::LogHeader& header = pair.arm.runs.front().header;
  const std::size_t tensors = header.tensors.size();
  if (pair.here.seconds.empty() || tensors < 2) return "";
  if (analysis::option_of(header, "optimizer.granularity") != "tensor") return "";
  if (!optim::takes_option(analysis::option_of(header, "optimizer").value_or(""), "granularity")) return "";
  if (!is_slower_by_messages(pair)) return "";
  return "Each of its " + std::to_string(tensors) +
         " tensors is exchanged in messages of its own; where the codec allows it, --optimizer.granularity fused "
         "exchanges them as one vector (which also changes the results).";
}

}  // namespace

std::string costs_text(const Report& report, const Verdict& verdict) {
  const Pair pair = pair_of(report, verdict);
  const std::vector<Speed> named = named_speeds(pair);
  const bool alike = named.empty() && !speeds_of(pair).empty();
  const bool two_verbs = named.size() == 2 && !turns(named) && verb_of(named[0]) != verb_of(named[1]);
  const std::string costs = both(bytes_saved_text(pair.here.bytes.mean, pair.there.bytes.mean) + fp16_text(pair),
                                 alike ? "takes about the same time" : speeds_text(report.comparison.clusters, named),
                                 two_verbs ? ", " : " and ");
  const std::string whole = costs.empty() ? "" : in_same_steps(pair) + " " + costs + ".";
  const std::string target = report.comparison.target_is_given ? target_costs_text(report, pair) : "";
  return whole + (whole.empty() || target.empty() ? "" : " ") + target;
}

std::vector<std::string> cost_notes(const Report& report, const Verdict& verdict) {
  const Pair pair = pair_of(report, verdict);
  const std::vector<netmodel::Cluster>& clusters = report.comparison.clusters;
  const std::vector<Speed> speeds = named_speeds(pair);
  std::vector<std::string> notes = {stages_text(pair),
                                    ranges_text(speeds, clusters),
                                    computing_text(pair, speeds),
                                    reason_text(pair, speeds, clusters),
                                    messages_text(pair),
                                    report.comparison.target_is_given ? "" : target_costs_text(report, pair)};
  std::erase(notes, "");
  return notes;
}

}  // namespace onebit::experiments
