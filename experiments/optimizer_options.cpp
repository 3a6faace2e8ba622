// Options of optimizers, of the freeze of their variance and of learning-rate schedules. Ranges are checked where they
// are used: optimizers check them, here is only said what they are.

#include "experiments/option_fields.hpp"

namespace onebit::experiments {
namespace {

std::vector<RunOption> common_options() {
  using optim::Semantics;
  return {
      field("optimizer", "see 'onebit list optimizers'", ONEBIT_PLACE(optimizer.name)),
      field("optimizer.lr", "base learning rate, above 0", ONEBIT_PLACE(optimizer.lr)),
      field("optimizer.beta1", "decay of the momentum, in [0, 1)", ONEBIT_PLACE(optimizer.beta1)),
      field("optimizer.beta2", "decay of the variance, in [0, 1)", ONEBIT_PLACE(optimizer.beta2)),
      field("optimizer.eps", "added to the root of the variance, above 0", ONEBIT_PLACE(optimizer.eps)),
      field("optimizer.momentum", "SGD family: decay of the momentum, in [0, 1)", ONEBIT_PLACE(optimizer.momentum)),
      field("optimizer.nesterov", "SGD family: true for Nesterov's momentum", ONEBIT_PLACE(optimizer.nesterov)),
      field("optimizer.weight-decay", "decoupled weight decay, at least 0", ONEBIT_PLACE(optimizer.weight_decay)),
      list("optimizer.no-decay", "tensors without weight decay: names with * and ?, separated by commas", "patterns",
           ONEBIT_PLACE(optimizer.no_decay)),
      field("optimizer.bias-correction", "true or false; none in deepspeed semantics",
            ONEBIT_PLACE(optimizer.bias_correction)),
      field("optimizer.clip", "largest global gradient norm; 0: no clipping", ONEBIT_PLACE(optimizer.clip)),
      choice("optimizer.semantics", "the published algorithm, or DeepSpeed's released code with its quirks",
             ONEBIT_PLACE(optimizer.semantics),
             std::map<std::string, Semantics>{{"paper", Semantics::paper}, {"deepspeed", Semantics::deepspeed}}),
  };
}

std::vector<RunOption> lamb_options() {
  return {
      field("optimizer.max-coeff", "LAMB, 1-bit LAMB: largest trust ratio, at least min-coeff",
            ONEBIT_PLACE(optimizer.lamb.max_coeff)),
      field("optimizer.min-coeff", "LAMB, 1-bit LAMB: least trust ratio, at least 0",
            ONEBIT_PLACE(optimizer.lamb.min_coeff)),
      field("optimizer.coeff-beta", "1-bit LAMB: decay of the average trust ratio that is frozen, in [0, 1)",
            ONEBIT_PLACE(optimizer.lamb.coeff_beta)),
      field("optimizer.factor-max", "1-bit LAMB: largest factor on the frozen ratio, at least factor-min",
            ONEBIT_PLACE(optimizer.lamb.factor_max)),
      field("optimizer.factor-min", "1-bit LAMB: least factor on the frozen ratio, above 0",
            ONEBIT_PLACE(optimizer.lamb.factor_min)),
      field("optimizer.factor-threshold", "1-bit LAMB: largest relative change of the factor in a step, in [0, 1)",
            ONEBIT_PLACE(optimizer.lamb.factor_threshold)),
  };
}

std::vector<RunOption> local_step_options() {
  return {
      field("optimizer.var-freeze-step", "0/1 Adam: steps before the variance is frozen, at least 1",
            ONEBIT_PLACE(optimizer.zeroone.var_freeze_step)),
      field("optimizer.var-update-scaler", "0/1 Adam: variance updates after which their interval doubles, at least 1",
            ONEBIT_PLACE(optimizer.zeroone.var_update_scaler)),
      field("optimizer.local-step-scaler", "0/1 Adam: steps after which the interval of exchanges doubles, at least 1",
            ONEBIT_PLACE(optimizer.zeroone.local_step_scaler)),
      field("optimizer.local-step-clipper", "0/1 Adam: longest interval of exchanges in steps, at least 1",
            ONEBIT_PLACE(optimizer.zeroone.local_step_clipper)),
      field("optimizer.local-period", "local SGD, local Adam, DiLoCo: steps between two exchanges, at least 1",
            ONEBIT_PLACE(optimizer.local.period)),
      field("optimizer.outer-lr", "DiLoCo: learning rate of the outer step, above 0",
            ONEBIT_PLACE(optimizer.local.outer_lr)),
      field("optimizer.outer-momentum", "DiLoCo: Nesterov momentum of the outer step, in [0, 1)",
            ONEBIT_PLACE(optimizer.local.outer_momentum)),
      field("optimizer.cada-threshold", "CADA: constant c of the upload rule, at least 0",
            ONEBIT_PLACE(optimizer.cada.threshold)),
      field("optimizer.cada-window", "CADA: past steps that the rule looks at, at least 1",
            ONEBIT_PLACE(optimizer.cada.window)),
      field("optimizer.cada-delay", "CADA: longest time without an upload and rule 1's period, in steps, at least 1",
            ONEBIT_PLACE(optimizer.cada.max_delay)),
      field("optimizer.ef21-momentum", "EF21 with momentum: share of the fresh gradient, in (0, 1]",
            ONEBIT_PLACE(optimizer.ef21_momentum)),
      field("optimizer.ramp", "DGC: steps over which the density falls from 1/4 to codec.k; 0: none",
            ONEBIT_PLACE(optimizer.ramp)),
  };
}

std::vector<RunOption> freeze_and_schedule_options() {
  return {
      field("freeze", "when the variance is frozen: fixed:K, fraction:F, auto or never",
            ONEBIT_PLACE(optimizer.freeze.policy)),
      field("freeze.threshold", "auto: least stability ratio of ||v||_1", ONEBIT_PLACE(optimizer.freeze.threshold)),
      field("freeze.lag", "auto: steps between the two norms; 0: 1/(1-beta2)", ONEBIT_PLACE(optimizer.freeze.lag)),
      field("freeze.after", "auto: least number of dense updates", ONEBIT_PLACE(optimizer.freeze.after)),
      field("schedule", "learning-rate schedule, see 'onebit list schedules'", ONEBIT_PLACE(schedule.name)),
      field("schedule.warmup", "steps of linear warm-up", ONEBIT_PLACE(schedule.warmup)),
      field("schedule.decay", "exponential, step: factor per decay-steps", ONEBIT_PLACE(schedule.decay)),
      field("schedule.decay-steps", "exponential, step: steps per factor", ONEBIT_PLACE(schedule.decay_steps)),
      field("schedule.final", "cosine: factor at the last step", ONEBIT_PLACE(schedule.final)),
  };
}

}  // namespace

std::vector<RunOption> optimizer_options() {
  std::vector<RunOption> all;
  for (auto part : {common_options(), lamb_options(), local_step_options(), freeze_and_schedule_options()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace onebit::experiments
