#include "optim/two_stage/freeze.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::optim {
namespace {

const char* const kForms = "use fixed:K, fraction:F, auto, published or never";

template <class Number>
Number parse_number(const std::string& policy, const std::string& text) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) {
    throw ConfigError("malformed freeze policy", "freeze " + policy, kForms);
  }
  return value;
}

/// Returns what follows "<kind>:" in a policy; empty if the policy is of a different kind.
std::optional<std::string> value_of(const std::string& policy, const std::string& kind) {
  const std::size_t colon = policy.find(':');
  if (policy.substr(0, colon) != kind) return std::nullopt;
  return colon == std::string::npos ? "" : policy.substr(colon + 1);
}

/// Returns advice on a policy of no known kind. A number alone was probably meant as a share of the steps, or as a
/// number of steps.
std::string advice_on(const std::string& policy) {
  double number = 0;
  const auto [end, code] = std::from_chars(policy.data(), policy.data() + policy.size(), number);
  if (code != std::errc() || end != policy.data() + policy.size() || !(number > 0)) return kForms;
  return "did you mean " + std::string(number < 1 ? "fraction:" : "fixed:") + policy + "?";
}

Index fixed_point(const std::string& policy, Index total_steps) {
  if (const auto fraction = freeze_fraction(policy))
    return std::max<Index>(1, std::llround(*fraction * static_cast<double>(total_steps)));
  const auto steps = value_of(policy, "fixed");
  if (!steps) throw ConfigError("unknown freeze policy", "freeze " + policy, advice_on(policy));
  return parse_number<Index>(policy, *steps);
}

FreezePolicy::Kind kind_of(const std::string& policy) {
  if (policy == "never") return FreezePolicy::Kind::never;
  if (policy == "auto") return FreezePolicy::Kind::automatic;
  return policy == "published" ? FreezePolicy::Kind::published : FreezePolicy::Kind::fixed;
}

bool is_rule(FreezePolicy::Kind kind) {
  return kind == FreezePolicy::Kind::automatic || kind == FreezePolicy::Kind::published;
}

}  // namespace

bool FreezeConfig::by_tensor() const {
  return is_rule(kind_of(policy)) && scope == FreezeScope::tensor;
}

std::optional<double> freeze_fraction(const std::string& policy) {
  const auto text = value_of(policy, "fraction");
  if (!text) return std::nullopt;
  const auto fraction = parse_number<double>(policy, *text);
  if (!(fraction > 0 && fraction < 1))
    throw ConfigError("freeze fraction out of range", "freeze " + policy, "in (0, 1)");
  return fraction;
}

Index default_dwell(Index lag) {
  return std::max<Index>(1, lag / 10);
}

FreezePolicy::FreezePolicy(const FreezeConfig& config, Index total_steps, Index lr_warmup, double beta2, Index dry_runs)
    : lag_(config.lag > 0 ? config.lag : std::max<Index>(1, std::llround(1 / (1 - beta2)))),
      dwell_(config.threshold, 1) {
  if (!(config.threshold > 0 && config.threshold <= 1)) {
    throw ConfigError("freeze threshold out of range", "freeze.threshold " + shortest(config.threshold), "in (0, 1]");
  }
  constexpr Index most = Index{1} << 40;  // sums of such numbers are representable
  for (const auto& [option, steps] :
       {std::pair{"freeze.lag", config.lag}, {"freeze.after", config.after}, {"freeze.dwell", config.dwell}}) {
    if (steps < 0 || steps > most)
      throw ConfigError("option out of range", option + (" " + std::to_string(steps)), "0 to 2^40 steps");
  }
  kind_ = kind_of(config.policy);
  if (kind_ == Kind::never) return;
  const bool rule = is_rule(kind_);
  by_tensor_ = config.by_tensor();
  after_ = std::max(config.after, lr_warmup);
  const Index dwell = kind_ == Kind::published ? 1 : config.dwell > 0 ? config.dwell : default_dwell(lag_);
  dwell_ = Dwell(config.threshold, dwell);
  if (!rule) updates_ = fixed_point(config.policy, total_steps);
  if (updates_ < 0) throw ConfigError("negative number of dense updates", "freeze " + config.policy, kForms);
  const Index earliest = rule ? std::max(after_, lag_ + 1) + dwell - 1 + dry_runs : std::max(updates_, 1 + dry_runs);
  if (earliest < total_steps) return;
  throw ConfigError("the run would never reach the compression stage",
                    "freeze " + config.policy + " needs more than " + std::to_string(earliest) +
                        " steps, but the run has " + std::to_string(total_steps),
                    !rule ? "freeze earlier, use more steps, or --freeze never"
                    : after_ > lag_ + 1
                        ? "use a smaller --freeze.after or --schedule.warmup, more steps, or --freeze fraction:F"
                        : "use a shorter --freeze.lag, more steps, or --freeze fraction:F");
}

bool FreezePolicy::freeze_now(Index updates, const Stability& stability) {
  switch (kind_) {
    case Kind::fixed:
      return updates >= updates_;
    case Kind::automatic:
      return updates >= after_ && dwell_.push(updates, stability.corrected);
    case Kind::published:
      return updates >= after_ && dwell_.push(updates, stability.raw);
    case Kind::never:
      return false;
  }
  return false;
}

}  // namespace onebit::optim
