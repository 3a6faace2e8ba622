#include "experiments/report/savings.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/log/log_options.hpp"
#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/report/clusters.hpp"
#include "experiments/report/costs.hpp"
#include "optim/read_options.hpp"

namespace onebit::experiments {
namespace {

using analysis::Arm;
using analysis::Verdict;

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

/// Returns the training samples of an arm's first run that finished; 0 if none did.
double samples_of(const Arm& arm) {
  const analysis::Run& run = example_of(arm);
  return outcome_of(run) == analysis::Outcome::finished && !run.evaluations.empty()
             ? static_cast<double>(run.evaluations.back().samples)
             : 0;
}

/// Returns "In the same 300 steps it", "In the same 300 steps, with 8 times as many samples, it", or "It" if the
/// finished runs of the two arms did not all take as many steps.
std::string in_same_steps(const Pair& pair) {
  std::set<Index> steps;
  for (const Arm* arm : {&pair.arm, &pair.baseline}) {
    for (const analysis::Run& run : arm->runs) {
      if (outcome_of(run) == analysis::Outcome::finished) steps.insert(run.summary.steps);
    }
  }
  if (steps.size() != 1) return "It";
  const double samples = samples_of(pair.arm) / samples_of(pair.baseline);
  const std::string more = !is_visible(samples) ? ""
                           : samples > 1        ? ", with " + number(samples, 3) + " times as many samples,"
                                                : ", with " + number(1 / samples, 3) + " times fewer samples,";
  return "In the same " + std::to_string(*steps.begin()) + " steps" + more + " it";
}

/// Returns "; it is slower on 2 of the 4 clusters, and may be slower on 1 more" or "; it may be slower on 2 of the 4
/// clusters"; empty if there are no such clusters, if there is only one, or if all of them are named.
std::string slower_text(const Pair& pair, const std::vector<Speed>& named) {
  const std::vector<Speed> speeds = speeds_of(pair);
  const auto may_be_slower = [](const Speed& speed) {
    return speed.low < 1 && is_visible(speed.low) && is_visible(speed.ratio);
  };
  const Index all = std::ssize(speeds), slower_or_open = std::ranges::count_if(speeds, may_be_slower);
  const Index slower =
      std::ranges::count_if(speeds, [&](const Speed& speed) { return may_be_slower(speed) && speed.high < 1; });
  const Index open = slower_or_open - slower;
  if (named.empty() || slower_or_open < 2) return "";
  if (slower_or_open == std::ranges::count_if(named, may_be_slower)) return "";
  const auto of_all = [all](Index some) {
    const std::string count = std::to_string(all);
    return (some < all ? std::to_string(some) + " of the " + count : all == 2 ? "both" : "all " + count) + " clusters";
  };
  if (slower == 0) return "; it may be slower on " + of_all(open);
  return "; it is slower on " + of_all(slower) +
         (open > 0 ? ", and may be slower on " + std::to_string(open) + " more" : "");
}

/// Whether the arm is slower somewhere, and most of that is the latency of more messages.
bool is_slower_by_messages(const Pair& pair) {
  return std::ranges::any_of(speeds_of(pair), [&](const Speed& speed) {
    return speed.ratio < 1 && grows_by_messages(pair.here, pair.there, speed.cluster);
  });
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
  bool alternates = false;
  for (const analysis::StepRange& range : run.exchanges) {
    if (!range.compressed && range.each.empty()) return "";
    alternates |= !range.compressed && dense < all;
    all += range.steps();
    if (!range.compressed) dense += range.steps();
  }
  const double share = dense * run.summary.dense_step_bytes / run.summary.bytes;
  const double fewer = run.summary.dense_step_bytes / run.summary.compressed_step_bytes;
  const double fewer_in_all = all * run.summary.dense_step_bytes / run.summary.bytes;
  constexpr double visible = 1.25;
  if (!(dense > 1 && dense < all && share > 0 && share <= 1 && fewer > visible * fewer_in_all)) return "";
  return "Its " + number(dense, 6) + " dense steps send " +
         percent_text(std::clamp(std::round(100 * share) / 100, 0.01, 0.99)) + " of its bytes; " +
         (!alternates                       ? "after them"
          : run.exchanges.back().compressed ? "between and after them"
                                            : "between them") +
         " a step with an exchange sends " + number(fewer, 3) + " times fewer than a dense one.";
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
  return "Its " + std::to_string(tensors) +
         " tensors are exchanged in separate messages; where the codec allows it, --optimizer.granularity fused "
         "exchanges them as one vector (which also changes the results).";
}

}  // namespace

std::string costs_text(const Report& report, const Verdict& verdict) {
  const Pair pair = pair_of(report, verdict);
  const std::vector<Speed> named = named_speeds(pair);
  const bool alike = named.empty() && !speeds_of(pair).empty();
  const bool two_verbs = named.size() == 2 && !turns(named) && verb_of(named[0]) != verb_of(named[1]);
  const bool slower = pair.here.bytes.mean < pair.there.bytes.mean && !named.empty() &&
                      std::ranges::all_of(named, [](const Speed& speed) { return speed.ratio < 1; });
  const std::string bytes = bytes_saved_text(pair.here.bytes.mean, pair.there.bytes.mean);
  const std::string costs =
      both(bytes + (workers_differ(pair) && !bytes.empty() ? " per worker" : "") + fp16_text(pair),
           alike ? "takes about the same time" : speeds_text(report.comparison.clusters, named),
           slower      ? ", but "
           : two_verbs ? ", "
                       : " and ");
  const std::string whole = costs.empty() ? "" : in_same_steps(pair) + " " + costs + slower_text(pair, named) + ".";
  const TargetCosts& until = report.target_costs.at(verdict.arm);
  const std::string target = until.in_answer ? until.text : "";
  return whole + (whole.empty() || target.empty() ? "" : " ") + target;
}

std::vector<std::string> cost_notes(const Report& report, const Verdict& verdict) {
  const Pair pair = pair_of(report, verdict);
  const std::vector<netmodel::Cluster>& clusters = report.comparison.clusters;
  const std::vector<Speed> speeds = named_speeds(pair);
  const TargetCosts& until = report.target_costs.at(verdict.arm);
  std::vector<std::string> notes = {stages_text(pair), computing_text(pair, speeds),
                                    reason_text(pair, speeds, clusters), messages_text(pair),
                                    until.in_answer ? until.note : both(until.text, until.note, " ")};
  std::erase(notes, "");
  return notes;
}

}  // namespace onebit::experiments
