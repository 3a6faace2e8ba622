#pragma once
// Decides when the variance is frozen, which ends the warm-up stage of 1-bit Adam and 1-bit LAMB.

#include <optional>
#include <string>

#include "optim/two_stage/stability.hpp"

namespace onebit::optim {

/// Scope of a rule: whether it freezes the variances of all tensors together, or each tensor's variance when it becomes
/// stable.
enum class FreezeScope { run, tensor };

struct FreezeConfig {
  std::string policy = "fraction:0.15";  ///< fixed:K | fraction:F | auto | published | never
  /// Threshold of the rules: the variance counts as stable if min(r, 1/r) is at least this, where r = ||v_t||_1 /
  /// ||v_{t-lag}||_1.
  double threshold = 0.96;
  Index lag = 0;    ///< rules: steps between the two norms; 0 means round(1 / (1 - beta2))
  Index after = 0;  ///< rules: dense updates before which nothing is frozen; at least the learning-rate warm-up
  Index dwell = 0;  ///< auto: steps for which the ratio has to stay at the threshold or above; 0: default_dwell(lag)
  FreezeScope scope = FreezeScope::run;  ///< rules: what is frozen together

  /// Whether each tensor is frozen separately, which requires a rule as the policy and the scope `tensor`.
  bool by_tensor() const;
};

/// Returns F of a policy fraction:F; empty for other policies. Throws ConfigError if F is not in (0, 1).
std::optional<double> freeze_fraction(const std::string& policy);

/// The default dwell: a tenth of the lag, at least one step.
Index default_dwell(Index lag);

/// Decides after each dense update whether to freeze the variance now. DeepSpeed has only the fixed policy.
///
/// published: freezes at the first update at which the ratio of the stored variance reaches the threshold (1-bit Adam,
/// Tang et al. 2021, section 7.1; here the ratio is symmetric). Under both rules, ratios are ignored until the number
/// of updates has reached `after` and the learning-rate warm-up is over. The stored variance starts at 0, so its ratio
/// begins far below 1; if gradients shrink, the ratio rises to 1 and then falls again. While it rises, it may reach any
/// threshold.
///
/// auto: freezes when the ratio of the corrected variance, which preconditions the steps, has stayed at or above the
/// threshold for `dwell` steps.
class FreezePolicy {
 public:
  /// Makes a policy for one run. total_steps, lr_warmup and dry_runs (steps that update nothing) are numbers of steps;
  /// beta2 gives the default lag. Throws ConfigError for a malformed policy, values out of range, or a freeze that
  /// cannot come before the end of the run, because the run would then never compress.
  FreezePolicy(const FreezeConfig& config, Index total_steps, Index lr_warmup, double beta2, Index dry_runs = 0);

  enum class Kind { fixed, automatic, published, never };
  Kind kind() const { return kind_; }
  /// Number of updates (or steps, as in freeze_now) after which to freeze, for Kind::fixed.
  Index fixed_updates() const { return updates_; }
  Index lag() const { return lag_; }
  /// Whether each tensor is frozen separately; each then has a copy of the policy.
  bool by_tensor() const { return by_tensor_; }

  /// Whether to freeze now. updates: dense updates so far, or steps if the optimizer counts those
  /// (TwoStageQuirks::counts_steps); stability: the ratios after the last update. Called once per update.
  bool freeze_now(Index updates, const Stability& stability);

  void visit_state(device::StateVisitor& visitor) { dwell_.visit_state(visitor); }

 private:
  Kind kind_ = Kind::never;
  Index updates_ = 0;
  Index lag_ = 0;
  Index after_ = 0;
  bool by_tensor_ = false;
  Dwell dwell_;
};

}  // namespace onebit::optim
