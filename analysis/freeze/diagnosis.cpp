#include "analysis/freeze/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "analysis/compare/arm_names.hpp"
#include "analysis/log/log_options.hpp"
#include "analysis/log/loss_window.hpp"
#include "analysis/log/summary.hpp"
#include "compress/codecs/codec.hpp"
#include "device/base/text.hpp"
#include "optim/optimizer.hpp"
#include "optim/read_options.hpp"
#include "optim/stages.hpp"
#include "optim/two_stage/variance_floor.hpp"

namespace onebit::analysis {
namespace {

constexpr double kRounding = 1e-4;   ///< share of an exchange's input; rounding in float32 explains no more than this
constexpr double kExplained = 0.05;  ///< share of a residual that may remain if a cause explains it
constexpr double kEarly = 0.1;       ///< share of the variance's memory 1/(1 - beta2); fewer updates give no average
constexpr double kDrifted = 0.69;    ///< mean |ln| of the ratio of rates: a factor of 2 for the typical coordinate
constexpr double kNoise = 0.01;      ///< rise of the evaluated loss that may be noise, as a share of the loss
constexpr double kLossRise = 0.1;    ///< rise of the training loss, as a share of the loss
constexpr double kManyMasked = 0.5;  ///< share of the coordinates
constexpr double kExploded = 100;    ///< multiple of the longest step before the freeze, in units of the learning rate

/// Inputs of all checks, read once.
struct Facts {
  const sim::LogReader& log;
  std::vector<sim::StepRow> steps;
  std::vector<sim::ProbeRow> probes;
  std::vector<sim::Event> events;
  Index freeze_step = 0;
  double parameters = 0;

  explicit Facts(const sim::LogReader& reader)
      : log(reader),
        steps(reader.steps()),
        probes(reader.header().probed ? reader.probes() : std::vector<sim::ProbeRow>()),
        events(reader.events()),
        freeze_step(freeze_step_of(events)) {
    for (const compress::Tensor& tensor : log.header().tensors) parameters += static_cast<double>(tensor.size);
  }

  /// Root mean square of a step over its coordinates, in units of its learning rate; for Adam it stays at about 1 or
  /// below.
  double rate_of(const sim::StepRow& row) const {
    const double moving = parameters - static_cast<double>(row.masked);
    return row.lr > 0 && moving > 0 ? row.update_norm / row.lr / std::sqrt(moving) : std::nan("");
  }
};

using Found = std::vector<Finding>;

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string at_step(Index step) {
  return "step " + std::to_string(step);
}

/// Returns the probe with the largest relative residual of the error balance; none if rounding explains all residuals.
std::optional<sim::ProbeRow> worst_balance(const Facts& facts) {
  std::optional<sim::ProbeRow> worst;
  for (const sim::ProbeRow& probe : facts.probes) {
    const bool open = probe.feedback_residual > kRounding * probe.feedback_size;
    if (!open) continue;
    if (!worst || probe.feedback_residual * worst->feedback_size > worst->feedback_residual * probe.feedback_size)
      worst = probe;
  }
  return worst;
}

/// What the vectors of one side (workers or servers) lose in an exchange, relative to their norm.
using Lack = double (*)(const sim::StepRow& row);

double lack_of_workers(const sim::StepRow& row) {
  return std::fmax(row.worker_codec_error, row.worker_mean_distance);
}
double lack_of_servers(const sim::StepRow& row) {
  return row.server_codec_error;
}

/// Whether a codec sends elements as float32, so that it loses nothing; false for a codec that this program lacks.
bool sends_floats(const std::string& codec) {
  const auto row = std::ranges::find(compress::codecs(), codec, &compress::CodecEntry::name);
  return row != compress::codecs().end() && row->make({})->traits().wire == netmodel::WireType::fp32;
}

/// Whether a step exchanged encoded vectors that may lack something: none do with an exact codec, or if all known
/// errors are 0.
bool compresses(const Facts& facts) {
  const std::string optimizer = option_of(facts.log.header(), "optimizer").value_or("");
  bool encoded = false, exact = false;
  for (const sim::StepRow& row : facts.steps) {
    const double lack = lack_of_workers(row);
    if (lack > 0) return true;
    const std::optional<optim::Phase> phase = optim::phase_of(row.phase);
    const bool encodes = phase && optim::compresses(optimizer, *phase);
    encoded |= encodes;
    exact |= encodes && !std::isnan(lack);
  }
  return encoded && !exact && !sends_floats(option_of(facts.log.header(), "codec").value_or(""));
}

/// Whether a side never keeps an error although its vectors lose something, over all steps where both are known.
bool leaves_none(const Facts& facts, double sim::StepRow::*norm, Lack lack) {
  Index seen = 0;
  for (const sim::StepRow& row : facts.steps) {
    if (!(lack(row) > 1e-6)) continue;
    if (row.*norm > 0) return false;
    ++seen;
  }
  return seen > 0;
}

const char* const kCarryHint = "each exchange has to start with the errors that the previous one left";

Finding lost(Cause cause, const std::string& what, const std::string& evidence) {
  return {Severity::problem, cause, what + ": " + evidence, kCarryHint};
}

/// Looks for lost errors. The telescoping identity shows which side lost them; without probes, only errors that are
/// always 0 can be detected.
void check_feedback(const Facts& facts, Found& found) {
  const bool wanted = option_of(facts.log.header(), "feedback").value_or("auto") != "none";
  const bool workers_none = leaves_none(facts, &sim::StepRow::worker_error_norm, lack_of_workers);
  const bool servers_none = leaves_none(facts, &sim::StepRow::server_error_norm, lack_of_servers);
  const char* const workers = "the workers' errors are not carried from step to step";
  const char* const servers = "the servers' errors are dropped";
  if (const std::optional<sim::ProbeRow> probe = worst_balance(facts)) {
    const std::string evidence = "the sum of the parts sent and kept differs by " +
                                 text_of(100 * probe->feedback_residual / probe->feedback_size) +
                                 "% from the input of the exchange at " + at_step(probe->step);
    const double explained = kExplained * probe->feedback_residual;
    if (probe->residual_without_workers < explained) {
      found.push_back(
          lost(Cause::worker_errors_not_carried, workers, evidence + ", which matches the workers' errors"));
    } else if (probe->residual_without_servers < explained || servers_none) {
      found.push_back(lost(Cause::server_errors_dropped, servers, evidence + ", which matches the servers' errors"));
    } else if (workers_none) {
      found.push_back(lost(Cause::worker_errors_not_carried, workers, evidence));
    } else {
      found.push_back(lost(Cause::errors_lost, "error feedback loses part of the errors", evidence));
    }
    return;
  }
  if (!wanted) return;
  if (workers_none)
    found.push_back(lost(Cause::worker_errors_not_carried, workers, "their norm is 0 although the codec is not exact"));
  if (servers_none)
    found.push_back(lost(Cause::server_errors_dropped, servers, "their norm is 0 although the codec is not exact"));
}

/// Returns the median of 1 - (relative error of the workers' codec)^2 after the freeze; NaN if none was measured.
double delta_after(const Facts& facts) {
  std::vector<double> deltas;
  for (const sim::StepRow& row : facts.steps) {
    if (row.step > facts.freeze_step && row.worker_codec_error > 0)
      deltas.push_back(1 - row.worker_codec_error * row.worker_codec_error);
  }
  return deltas.empty() ? std::nan("") : median(deltas);
}

/// The longest steps before and after the freeze; `step` is the number of the longest step after it.
struct Explosion {
  double before = 0, after = 0;
  Index step = 0;
};

std::optional<Explosion> explosion_of(const Facts& facts) {
  Explosion worst;
  for (const sim::StepRow& row : facts.steps) {
    const double rate = facts.rate_of(row);
    if (row.step <= facts.freeze_step) worst.before = std::fmax(worst.before, rate);
    if (row.step <= facts.freeze_step || !(rate > worst.after)) continue;
    worst.after = rate;
    worst.step = row.step;
  }
  const bool exploded = facts.freeze_step > 0 && worst.before > 0 && worst.after > kExploded * worst.before;
  return exploded ? std::optional(worst) : std::nullopt;
}

/// Remedies for steps that explode over small denominators (docs/freeze.md).
std::string explosion_hint(const std::string& optimizer, bool compressed, Index freeze_step) {
  const bool floor = optim::takes_option(optimizer, "variance-floor");
  const std::string bound =
      floor ? "a floor on the variance (optimizer.variance-floor) or a larger optimizer.eps" : "a larger optimizer.eps";
  if (!compressed) return bound + " bounds the steps";
  const std::string arm = floor ? std::string(" --arm floor:optimizer.variance-floor=") + optim::kFloorToTry
                                : " --arm eps:optimizer.eps=1e-5";
  return "the freeze may do no harm without compression: try " + bound +
         ", or a codec with more bits, with 'onebit analyze --validate --seeds 5 --freeze-at " +
         std::to_string(freeze_step) + arm + " --arm int8:codec=int8 -o DIR' and the run's options other than --freeze";
}

/// Looks for steps that explode. Coordinates with a tiny frozen variance move far when something large is divided by
/// its root: the tensor-wide scale of one-bit codes, or a gradient that has grown.
void check_steps(const Facts& facts, Found& found) {
  const std::optional<Explosion> explosion = explosion_of(facts);
  if (!explosion) return;
  const double delta = delta_after(facts);
  const bool compressed =
      optim::compresses(option_of(facts.log.header(), "optimizer").value_or("onebit-adam"), optim::Phase::compression);
  const LossChange change = loss_change(facts.steps, facts.freeze_step);
  const double before = change.before, after = change.at_end;
  const bool harm = facts.log.status() == sim::RunStatus::diverged || after > before + kLossRise * std::fabs(before);
  std::string text = compressed ? "the compressed momentum is divided by small frozen denominators"
                                : "momenta are divided by small frozen denominators";
  text += ": after the freeze at " + at_step(facts.freeze_step) + ", a step moves coordinates by up to " +
          text_of(explosion->after) + " times the learning rate (root mean square, at " + at_step(explosion->step) +
          "); before it, at most " + text_of(explosion->before);
  if (compressed && delta < 0)
    text += "; the codec's error is longer than its vector (delta " + text_of(delta) +
            ": the elements of its vectors differ widely in size)";
  if (harm) text += "; the mean training loss goes from " + text_of(before) + " to " + text_of(after);
  const std::string optimizer = option_of(facts.log.header(), "optimizer").value_or("onebit-adam");
  const std::string hint = explosion_hint(optimizer, compressed, facts.freeze_step);
  found.push_back({harm ? Severity::problem : Severity::warning,
                   compressed ? Cause::compressed_steps_explode : Cause::frozen_steps_explode, text, hint});
}

/// Returns the number of steps that a run was to take; of a run by epochs, those that it took.
double steps_of(const Facts& facts) {
  const double wanted = number_of(facts.log.header(), "steps", 0);
  return wanted > 0 || facts.steps.empty() ? wanted : static_cast<double>(facts.steps.back().step);
}

void check_freeze(const Facts& facts, Found& found) {
  if (facts.freeze_step == 0) return;
  const double memory = 1 / (1 - number_of(facts.log.header(), "optimizer.beta2", 0.999));
  const auto updates = static_cast<double>(facts.freeze_step);
  double drift = 0;
  Index drift_step = 0;
  for (const sim::ProbeRow& probe : facts.probes) {
    if (probe.step <= facts.freeze_step || !(probe.rate_drift > drift)) continue;
    drift = probe.rate_drift;
    drift_step = probe.step;
  }
  const bool few = updates < kEarly * memory;
  const bool drifted = drift > kDrifted && !explosion_of(facts);  // a drift would be a consequence of exploding steps
  if (!few && !drifted) return;
  std::string text = "the variance was frozen early, after " + std::to_string(facts.freeze_step) + " steps";
  const double needed = kEarly * memory;
  const bool short_run = few && steps_of(facts) < needed;
  if (few) {
    text += "; with its beta2 it averages over about " + std::to_string(std::llround(memory)) +
            " steps, and needs at least " + std::to_string(std::llround(needed)) + " of them";
  }
  if (drifted) {
    text += "; by " + at_step(drift_step) +
            ", an unfrozen variance would give rates that differ from the frozen ones by a factor of " +
            text_of(std::exp(drift)) + " (geometric mean)";
  }
  found.push_back({drifted ? Severity::problem : Severity::warning, Cause::variance_frozen_early, text,
                   short_run ? "train longer, or lower --optimizer.beta2"
                             : "freeze later; 'onebit analyze' shows the step that each threshold would have chosen"});
}

void check_loss_at_freeze(const Facts& facts, Found& found) {
  if (facts.freeze_step == 0 || facts.steps.empty() || explosion_of(facts)) return;
  const LossChange change = loss_change(facts.steps, facts.freeze_step);
  const double before = change.before, after = change.after;
  if (!(after > before + kLossRise * std::fabs(before))) return;
  found.push_back({Severity::warning, Cause::loss_rose_at_freeze,
                   "the training loss rose at the freeze: mean " + text_of(before) + " over the " +
                       std::to_string(change.window) + " steps before, " + text_of(after) + " after",
                   "freeze later, or lower the learning rate"});
}

std::string warmup_advice(const Facts& facts) {
  const std::string steps = option_of(facts.log.header(), "schedule.warmup").value_or("0");
  return steps == "0" ? "add a warm-up (schedule.warmup)" : "lengthen schedule.warmup";
}

/// Looks for a run that ended above its starting loss by more than noise.
void check_rise(const Facts& facts, Found& found) {
  const std::vector<sim::EvaluationRow> rows = facts.log.evaluations();
  if (facts.log.status() != sim::RunStatus::finished || rows.empty()) return;
  const sim::EvaluationRow &first = rows.front(), &last = rows.back();
  if (!(last.loss > first.loss + kNoise * std::fabs(first.loss))) return;
  found.push_back({Severity::problem, Cause::ended_above_start,
                   "the evaluated loss ended at " + text_of(last.loss) + ", above the " + text_of(first.loss) + " of " +
                       at_step(first.step),
                   "lower optimizer.lr, or " + warmup_advice(facts)});
}

/// Returns the finding for a run that diverged. A divergence in dense steps is unrelated to the freeze and the codec.
Finding divergence(const Facts& facts, const std::string& event) {
  const std::string reason = event.substr(0, event.find("; lower the learning rate"));  // the finding has its own hint
  if (facts.freeze_step > 0 || compresses(facts))
    return {Severity::problem, Cause::diverged, reason, "lower optimizer.lr, or clip gradients (optimizer.clip)"};
  const bool has_losses = !is_replay(facts.log.header());
  if (facts.steps.empty() || (has_losses && !std::isfinite(facts.steps.front().loss))) {
    const std::string when =
        facts.steps.empty() ? ": in the first step" : ": the first loss is not finite, before any update";
    return {Severity::problem, Cause::bad_data, reason + when,
            "check the data for values that are not finite or far too large, and check the initial weights"};
  }
  const sim::StepRow& last = facts.steps.back();
  std::string text = "it diverged";
  const std::map<std::string, std::string> options = {facts.log.header().config.begin(),
                                                      facts.log.header().config.end()};
  if (has_effect("freeze", options) || has_effect("codec", options))
    text += " in dense steps, before anything was frozen or compressed";
  text += "; the learning rate was " + text_of(last.lr);
  if (has_losses) {
    text += ", the loss " + text_of(facts.steps.front().loss) + " at first and " + text_of(last.loss) + " at " +
            at_step(last.step);
  }
  text += "; " + reason;
  return {Severity::problem, Cause::rate_too_high, text,
          "lower optimizer.lr, " + warmup_advice(facts) + ", or clip gradients (optimizer.clip)"};
}

/// Whether a failed run's reason is that it never compressed (TwoStage::failed_expectation). Older logs word it
/// differently.
bool says_never_compressed(const std::string& reason) {
  constexpr const char* wordings[] = {"before its compression stage", "was asked to compress but never did"};
  return std::ranges::any_of(wordings, [&](const char* words) { return reason.find(words) != std::string::npos; });
}

void check_end(const Facts& facts, Found& found) {
  const std::string reason = sim::reason_of_end(facts.events);
  const sim::RunStatus status = facts.log.status();
  if (status == sim::RunStatus::diverged) found.push_back(divergence(facts, reason));
  if (status == sim::RunStatus::failed) {
    const bool never = says_never_compressed(reason);

    found.push_back({Severity::problem, never ? Cause::never_compressed : Cause::not_finished, reason, ""});
  }
  if (status == sim::RunStatus::stopped || status == sim::RunStatus::running) {
    const std::string last = facts.steps.empty() ? "has no steps yet" : "ends at " + at_step(facts.steps.back().step);
    found.push_back({Severity::note, Cause::not_finished,
                     "the run is not finished: its log " + last + (reason.empty() ? "" : ", " + reason),
                     facts.log.closed() ? "--resume continues it" : "it is still running, or was killed"});
  }
}

void check_masked(const Facts& facts, Found& found) {
  if (facts.steps.empty()) return;
  const auto masked = static_cast<double>(facts.steps.back().masked);
  if (!(masked > kManyMasked * facts.parameters)) return;
  found.push_back(
      {Severity::warning, Cause::many_masked,
       text_of(100 * masked / facts.parameters) + "% of the coordinates are masked: their variance was 0 at the freeze",
       "freeze later, when every coordinate has had a gradient"});
}

void check_no_feedback(const Facts& facts, Found& found) {
  if (!compresses(facts) || option_of(facts.log.header(), "feedback") != "none") return;
  found.push_back(
      {Severity::note, Cause::no_feedback, "the run compresses without error feedback (feedback none)", ""});
}

}  // namespace

std::string_view name(Severity severity) {
  constexpr std::array<std::string_view, 3> names = {"note", "warning", "problem"};
  return names[static_cast<std::size_t>(severity)];
}

std::vector<Finding> diagnose(const sim::LogReader& log) {
  const Facts facts(log);
  Found found;
  for (const auto check : {check_feedback, check_steps, check_freeze, check_loss_at_freeze, check_rise, check_end,
                           check_masked, check_no_feedback})
    check(facts, found);
  std::ranges::stable_sort(found, [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return found;
}

}  // namespace onebit::analysis
