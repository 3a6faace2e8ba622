#include "optim/freeze.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "device/error.hpp"
#include "device/text.hpp"

namespace onebit::optim {
namespace {

const char* const kForms = "use fixed:K, fraction:F, auto or never";

template <class Number>
Number parse_number(const std::string& policy, const std::string& text) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) {
    throw ConfigError("malformed freeze policy", "freeze " + policy, kForms);
  }
  return value;
}

Index fixed_point(const std::string& policy, Index total_steps) {
  const std::size_t colon = policy.find(':');
  const std::string kind = policy.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : policy.substr(colon + 1);
  if (kind == "fixed") return parse_number<Index>(policy, value);
  if (kind != "fraction") throw ConfigError("unknown freeze policy", "freeze " + policy, kForms);
  const auto fraction = parse_number<double>(policy, value);
  if (!(fraction > 0 && fraction < 1))
    throw ConfigError("freeze fraction out of range", "freeze " + policy, "in (0, 1)");
  return std::max<Index>(1, std::llround(fraction * static_cast<double>(total_steps)));
}

}  // namespace

double StabilityRatio::push(double norm) {
  double before = 0;
  if (static_cast<Index>(history_.size()) == lag_) {
    before = history_.front();
    history_.pop_front();
  }
  history_.push_back(norm);
  if (before <= 0 || norm <= 0) return std::numeric_limits<double>::quiet_NaN();
  return std::min(norm / before, before / norm);
}

FreezePolicy::FreezePolicy(const FreezeConfig& config, Index total_steps, Index lr_warmup, double beta2,
                           Index dry_runs) {
  if (!(config.threshold > 0 && config.threshold <= 1)) {
    throw ConfigError("freeze threshold out of range", "freeze.threshold " + shortest(config.threshold), "in (0, 1]");
  }
  if (config.lag < 0 || config.after < 0) throw ConfigError("negative number of steps", "freeze.lag, freeze.after");
  lag_ = config.lag > 0 ? config.lag : std::max<Index>(1, std::llround(1 / (1 - beta2)));
  threshold_ = config.threshold;
  if (config.policy == "never") return;
  const bool automatic = config.policy == "auto";
  kind_ = automatic ? Kind::automatic : Kind::fixed;
  after_ = std::max(config.after, lr_warmup);
  if (!automatic) updates_ = fixed_point(config.policy, total_steps);
  if (updates_ < 0) throw ConfigError("negative number of dense updates", "freeze " + config.policy, kForms);
  const Index earliest = automatic ? std::max(after_, lag_ + 1) + dry_runs : std::max(updates_, 1 + dry_runs);
  if (earliest < total_steps) return;
  throw ConfigError("the run would never reach the compression stage",
                    "freeze " + config.policy + " comes after " + std::to_string(earliest) + " steps or later, steps " +
                        std::to_string(total_steps),
                    automatic ? "shorten --freeze.lag, train longer, or use fraction:F"
                              : "freeze earlier, train longer, or say --freeze never");
}

bool FreezePolicy::freeze_now(Index updates, double ratio) const {
  switch (kind_) {
    case Kind::fixed:
      return updates >= updates_;
    case Kind::automatic:
      return updates >= after_ && ratio >= threshold_;
    case Kind::never:
      return false;
  }
  return false;
}

}  // namespace onebit::optim
