#include "experiments/report/target_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/compare/arm_names.hpp"
#include "analysis/compare/target.hpp"
#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/report/answers.hpp"
#include "experiments/report/chart.hpp"
#include "experiments/report/costs.hpp"
#include "experiments/report/grids.hpp"
#include "experiments/report/html.hpp"
#include "experiments/report/ratios_until.hpp"

namespace onebit::experiments {
namespace {

using analysis::Arm;
using analysis::ArmFigures;
using analysis::Comparison;
using analysis::RunCurve;

/// Returns the number of an arm's runs that reached a loss, in words: "1 of 3 runs of a".
std::string reached_text(const ArmFigures& arm, double target) {
  const auto reached = std::ranges::count_if(arm.run_curves, [&](const RunCurve& run) {
    return std::isfinite(analysis::reached_at(run.x.front(), run.losses, target));
  });
  return std::to_string(reached) + " of " + html::counted(std::ssize(arm.run_curves), "run") + " of " +
         analysis::spoken_name(arm.name);
}

/// Whether a finished run of an arm reached a loss between evaluations that are too far apart to interpolate.
bool reached_roughly(const ArmFigures& arm, double target) {
  return std::ranges::any_of(arm.run_curves, [&](const RunCurve& run) {
    return run.outcome == analysis::Outcome::finished && analysis::is_rough(run.x[kSteps], run.losses, target);
  });
}

/// Whether no loss of an arm's finished runs rises between two evaluations until it reaches a loss.
bool falls_until(const ArmFigures& arm, double target) {
  return std::ranges::all_of(arm.run_curves, [&](const RunCurve& run) {
    return run.outcome != analysis::Outcome::finished || analysis::falls_until(run.losses, target);
  });
}

/// Whether every finished run of an arm reached a loss.
bool all_reached(const ArmFigures& arm, double target) {
  return std::isfinite(reached_in_the_mean(arm, kSteps, target));
}

/// Considers the arms in an arm's grid that have no diverged run and whose finished runs all reached a loss. Returns
/// the one that reached it soonest on an axis; the arm itself if no other is sooner.
const ArmFigures& quickest(const Report& report, const ArmFigures& arm, std::size_t axis, double target) {
  const Comparison& comparison = report.comparison;
  if (!is_at_best(comparison, arm.name)) return arm;  // a baseline that was asked for
  const double own = reached_in_the_mean(arm, axis, target);
  const ArmFigures* best = &arm;
  double least = std::isnan(own) ? std::numeric_limits<double>::infinity() : own;
  for (const std::size_t i : comparison.grids[grid_of(comparison, arm.name)].arms) {
    const ArmFigures& each = comparison.arms[i];
    const double cost =
        each.diverged == 0 ? reached_in_the_mean(each, axis, target) : std::numeric_limits<double>::quiet_NaN();
    if (!(cost < least)) continue;
    least = cost;
    best = &each;
  }
  return *best;
}

/// Returns " at the learning rates that get there soonest (signum 0.01, adam 0.1),"; empty if these are the best rates.
std::string quickest_text(const Report& report, const Pair& best, const Pair& quick) {
  if (&best.here == &quick.here && &best.there == &quick.there) return "";
  const auto rate_of = [&](const ArmFigures& arm) {
    if (!is_at_best(report.comparison, best.there.name) && &arm == &best.there) return analysis::spoken_name(arm.name);
    const std::string& grid = report.comparison.grids[grid_of(report.comparison, arm.name)].name;
    return analysis::spoken_name(grid) + " " + shortest(arm.rates.rate);
  };
  const std::vector<Speed> speeds = named_speeds(best);
  const std::string where =
      speeds.size() > 1 ? " on " + report.comparison.clusters[speeds.front().cluster].name : std::string();
  return " at the learning rates that get there soonest" + where + " (" + rate_of(quick.here) + ", " +
         rate_of(quick.there) + "),";
}

/// Returns "95% interval 3.1 to 3.9", of ratios over the seeds or, if they are `inverted`, of their inverses; empty for
/// one ratio, or if all are the same.
std::string interval_text(const std::vector<double>& ratios, bool inverted) {
  const Bounds interval = interval_of(ratios);
  if (!std::isfinite(interval.low)) return "";
  const std::string least = number(inverted ? 1 / interval.high : interval.low, 3),
                    most = number(inverted ? 1 / interval.low : interval.high, 3);
  return least == most ? "" : "95% interval " + least + " to " + most;
}

/// Returns " (95% interval 3.1 to 3.9; 1.6 to 7.8 with its exchange times ±50%)"; empty if both parts are.
std::string in_brackets(const std::string& interval, const std::string& range) {
  return interval.empty() && range.empty() ? "" : " (" + both(interval, range, "; ") + ")";
}

/// The time on a cluster until a loss is reached, in words: "may be " and "2.9 times as fast on eth1 (95% interval 0.96
/// to 3.7)".
struct TimeUntil {
  std::string verb, text;
  bool faster = false;
};

/// Returns the time with the range of the estimates, unless the seeds alone leave open which arm is faster; the verb is
/// "may" if this is open. No text if the times are about the same.
TimeUntil time_until(const Pair& pair, double target, std::size_t place, const netmodel::Cluster& cluster) {
  const double time = ratio_until(pair, kSeconds + place, target);
  if (!is_visible(time)) return {};
  const std::vector<double> seeds = ratios_until(pair, kSeconds + place, target);
  const Bounds interval = interval_of(seeds), of_estimate = range_of_estimate(pair, place);
  const Speed speed{.cluster = place,
                    .ratio = time,
                    .low = std::fmin(time, interval.low) * of_estimate.low,
                    .high = std::fmax(time, interval.high) * of_estimate.high,
                    .uncertain = uncertain_of(pair)};
  const bool open_by_seeds = interval.low < 1 && interval.high > 1;
  const std::string range = open_by_seeds ? "" : range_text(speed, cluster);
  return {verb_of(speed), speed_text(speed, cluster.name) + in_brackets(interval_text(seeds, time < 1), range),
          time > 1};
}

/// Returns the clusters that the answer on the whole run (with the arms of `best`) names, or else the first one.
std::vector<std::size_t> named_clusters(const Pair& best) {
  std::vector<std::size_t> places;
  for (const Speed& speed : named_speeds(best)) places.push_back(speed.cluster);
  if (places.empty() && !best.here.seconds.empty()) places = {0};
  return places;
}

/// Times on several clusters, in words. turns: whether the arm is faster on one and slower on the next.
struct TimesUntil {
  std::string text;
  bool turns = false;
};

/// Adds the time on one more cluster, unless it is about the same in both arms.
void add(const TimeUntil& next, TimeUntil& last, TimesUntil& times) {
  if (next.text.empty()) return;
  const bool turns = last.faster && !next.faster;
  times.text = both(times.text, (next.verb == last.verb ? "" : next.verb) + next.text, turns ? ", but " : " and ");
  times.turns = times.turns || turns;
  last = next;
}

/// Returns the times until a loss is reached on the named clusters: "may be 2.9 times as fast on eth1, but takes 3.3
/// times as long on eth25".
TimesUntil times_until(const Report& report, const Pair& best, const Pair& pair, double target) {
  TimesUntil times;
  TimeUntil last;
  for (const std::size_t place : named_clusters(best))
    add(time_until(pair, target, place, report.comparison.clusters[place]), last, times);
  return times;
}

/// Returns "sends 3.6 times fewer bytes (95% interval 3.4 to 3.9) and may be 2.9 times as fast on eth1", until a loss
/// is reached; empty if the costs are about the same.
std::string costs_until(const Report& report, const Pair& best, const Pair& pair, double target) {
  const double bytes = ratio_until(pair, kBytes, target);
  const std::vector<double> seeds = ratios_until(pair, kBytes, target);
  const Bounds interval = interval_of(seeds);
  const bool open = interval.low < 1 && interval.high > 1;
  std::string costs = bytes_saved_text(1, bytes, open && is_visible(bytes) ? "may send" : "sends");
  if (workers_differ(pair) && !costs.empty()) costs += " per worker";
  if (is_visible(bytes)) costs += in_brackets(interval_text(seeds, bytes < 1), "");
  const TimesUntil times = times_until(report, best, pair, target);
  return both(costs, times.text, times.turns ? ", " : " and ");
}

/// Returns the axes of the costs that an answer names: bytes, and seconds on the named clusters.
std::vector<std::size_t> named_axes(const Pair& best) {
  std::vector<std::size_t> axes = {kBytes};
  for (const std::size_t place : named_clusters(best)) axes.push_back(kSeconds + place);
  return axes;
}

/// Returns the baseline's cost of the whole run divided by the arm's, on one axis.
double ratio_of_run(const Pair& pair, std::size_t axis) {
  if (axis == kBytes) return pair.there.bytes.mean / pair.here.bytes.mean;
  const std::size_t cluster = axis - kSeconds;
  return pair.there.seconds[cluster].seconds.mean / pair.here.seconds[cluster].seconds.mean;
}

/// Whether the costs until a loss is reached are much like those of the whole run.
bool is_like_the_run(const Pair& pair, double target) {
  constexpr double alike = 1.1;
  return std::ranges::all_of(named_axes(pair), [&](std::size_t axis) {
    const double until = ratio_until(pair, axis, target), of_run = ratio_of_run(pair, axis);
    return !(std::max(until / of_run, of_run / until) > alike);
  });
}

/// Whether an arm saves clearly fewer bytes or clearly less time until a loss is reached (with the arms of `pair`) than
/// over the whole run (with those of `best`, of which the answer speaks): by a factor of more than 1.25, and with a 95%
/// interval over the seeds below the saving of the whole run. Also if it loses what it would save.
bool weakens(const Pair& best, const Pair& pair, double target) {
  constexpr double visible = 1.25;
  return std::ranges::any_of(named_axes(best), [&](std::size_t axis) {
    const double until = ratio_until(pair, axis, target), of_run = ratio_of_run(best, axis);
    const Bounds interval = interval_of(ratios_until(pair, axis, target));
    const bool clear = until * visible < of_run && !(interval.high >= of_run);  // no interval for one seed
    return of_run > 1 && (clear || until < 1);
  });
}

/// Returns the sentence on a loss that was reached between evaluations that are far apart. If the bounds show that the
/// arm sends more bytes or takes longer, the sentence says by how much at least; for a target that was given, also if
/// they show that it sends fewer or is faster. If the bounds show neither, the sentence says so for a target that was
/// given, and is empty for others. There are no bounds if a loss rises before it reaches the target. before: what
/// precedes "it".
TargetCosts rough_costs(const Report& report, const Pair& best, const Pair& pair, double target,
                        const std::string& before) {
  constexpr double least = 1.1;
  const bool given = report.comparison.target_is_given;
  const bool falls = falls_until(pair.here, target) && falls_until(pair.there, target);
  const auto text_of = [&](std::size_t axis, const auto& text) {
    const Bounds bounds = falls ? bounds_until(pair, axis, target) : Bounds();
    if (bounds.high > 0 && bounds.high * least < 1) return text(1 / bounds.high, false);
    return std::isfinite(bounds.low) && bounds.low > least && given ? text(bounds.low, true)
                                                                    : decltype(text(1, true)){};
  };
  const std::string bytes = text_of(kBytes, [&](double times, bool less) {
    return "sends at least " + number(times, 3) + (less ? " times fewer bytes" : " times as many bytes") +
           (workers_differ(pair) ? " per worker" : "");
  });
  TimesUntil times;
  TimeUntil last;
  for (const std::size_t place : named_clusters(best)) {
    add(text_of(kSeconds + place,
                [&](double ratio, bool faster) {
                  return TimeUntil{faster ? "is at least an estimated " : "takes at least an estimated ",
                                   number(ratio, 3) + (faster ? " times as fast on " : " times as long on ") +
                                       report.comparison.clusters[place].name,
                                   faster};
                }),
        last, times);
  }
  const std::string loss = number(target, 4);
  if (!bytes.empty() || !times.text.empty())
    return {"To reach a loss of " + loss + before + " it " + both(bytes, times.text, times.turns ? ", " : " and ") +
                "; evaluations are too far apart for a closer estimate.",
            true};
  if (!given) return {};
  return {"A loss of " + loss +
              " is reached between evaluations that are too far apart to compare the costs of reaching it (with a "
              "smaller --eval.every, runs are evaluated more often).",
          true};
}

/// Says where a target comes from that was not given.
std::string origin_text(const Comparison& comparison, const Pair& best, double target) {
  const bool rates = (best.here.rates.tried.size() > 1 || best.there.rates.tried.size() > 1) &&
                     is_at_best(comparison, best.there.name);
  return number(target, 4) + " is the lowest loss that every finished run of both arms" +
         (rates ? " at their best learning rates" : "") + " reached.";
}

/// Says that a loss may have been reached between two evaluations, if losses come near it and rise again before they
/// reach it.
std::string between_text(const Pair& pair, double target) {
  const auto comes_near = [&](const ArmFigures& arm) {
    return std::ranges::any_of(arm.run_curves, [&](const RunCurve& run) {
      return run.outcome == analysis::Outcome::finished && analysis::turns_near(run.x[kSteps], run.losses, target);
    });
  };
  return comes_near(pair.here) || comes_near(pair.there) ? "Losses came near it earlier and rose again, so a run may "
                                                           "have reached it then, between two evaluations."
                                                         : "";
}

/// Returns the sentence on a target that was given if a run misses it or starts there; otherwise empty.
std::string unusual_text(const Pair& pair, double target) {
  if (!(all_reached(pair.here, target) && all_reached(pair.there, target)))
    return "A loss of " + number(target, 4) + " was reached at an evaluation by " + reached_text(pair.here, target) +
           " and " + reached_text(pair.there, target) + ".";
  for (const ArmFigures* arm : {&pair.here, &pair.there}) {
    const auto starts_there = [&](const RunCurve& run) {
      return run.outcome == analysis::Outcome::finished && analysis::reached_at(run.x[kSteps], run.losses, target) == 0;
    };
    const Index started = std::ranges::count_if(arm->run_curves, starts_there);
    if (started == 0) continue;
    const bool all = started == std::ssize(arm->run_curves);
    return (all ? "" : std::to_string(started) + " of " + html::counted(std::ssize(arm->run_curves), "run") + " of ") +
           analysis::spoken_name(arm->name) + (started == 1 || all ? " starts" : " start") + " at or below a loss of " +
           number(target, 4) + ".";
  }
  return "";
}

}  // namespace

TargetCosts target_costs(const Report& report, const analysis::Verdict& verdict) {
  const Pair best = pair_of(report, verdict);
  const bool given = report.comparison.target_is_given;
  const double target =
      given ? report.comparison.target : analysis::common_target(std::vector{&best.arm, &best.baseline});
  if (!std::isfinite(target)) return {};
  const std::vector<std::size_t> axes = named_axes(best);
  const std::size_t axis = axes[axes.size() > 1 ? 1 : 0];  // the first cluster that the sentence names, or else bytes
  const Pair pair{best.arm, best.baseline, quickest(report, best.here, axis, target),
                  quickest(report, best.there, axis, target)};
  if (std::string text = given ? unusual_text(pair, target) : ""; !text.empty()) return {text, true};
  const std::string rates = quickest_text(report, best, pair);
  const std::string origin = given ? "" : origin_text(report.comparison, best, target);
  if (reached_roughly(pair.here, target) || reached_roughly(pair.there, target)) {
    TargetCosts rough = rough_costs(report, best, pair, target, rates);
    if (!rough.text.empty()) rough.note = origin;
    return rough;
  }
  if (!given && rates.empty() && is_like_the_run(pair, target)) return {};
  const std::string costs = costs_until(report, best, pair, target);
  if (costs.empty())
    return {given ? "Both reach a loss of " + number(target, 4) + " at about the same cost." : "", given};
  return {"To reach a loss of " + number(target, 4) + rates + " it " + costs + ".",
          given || weakens(best, pair, target), both(origin, between_text(pair, target), " ")};
}

}  // namespace onebit::experiments
