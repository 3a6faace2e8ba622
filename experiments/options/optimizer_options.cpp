// Options of optimizers, of freezing their variance and of learning-rate schedules. The optimizers check the ranges;
// this table only describes them.

#include "experiments/options/option_fields.hpp"

namespace onebit::experiments {
namespace {

std::vector<RunOption> common_options() {
  using optim::Semantics;
  return {
      named(field("optimizer", "optimizer, see 'onebit list optimizers'", ONEBIT_PLACE(optimizer.name)),
            [] { return names_of(optim::optimizers()); }),
      also("lr", field("optimizer.lr", "base learning rate, above 0", ONEBIT_PLACE(optimizer.lr))),
      also("beta1", field("optimizer.beta1", "decay of the momentum, in [0, 1)", ONEBIT_PLACE(optimizer.beta1))),
      also("beta2", field("optimizer.beta2", "decay of the variance, in [0, 1)", ONEBIT_PLACE(optimizer.beta2))),
      field("optimizer.eps", "constant added to the square root of the variance, above 0", ONEBIT_PLACE(optimizer.eps)),
      also("momentum", field("optimizer.momentum", "SGD family, local-sgd: decay of the momentum, in [0, 1)",
                             ONEBIT_PLACE(optimizer.momentum))),
      field("optimizer.nesterov", "SGD family: use Nesterov's momentum", ONEBIT_PLACE(optimizer.nesterov)),
      also("wd",
           field("optimizer.weight-decay", "decoupled weight decay, at least 0", ONEBIT_PLACE(optimizer.weight_decay))),
      list("optimizer.no-decay", "tensors without weight decay: names with * and ?, separated by commas", "patterns",
           ONEBIT_PLACE(optimizer.no_decay)),
      field("optimizer.bias-correction", "correct the bias of momentum and variance; no effect in deepspeed semantics",
            ONEBIT_PLACE(optimizer.bias_correction)),
      field("optimizer.variance-floor",
            "two-stage optimizers: floor on the frozen variance: an absolute value, or mean:S for S times the tensor's "
            "mean; 0: no floor",
            ONEBIT_PLACE(optimizer.variance_floor)),
      field("optimizer.variance-refresh",
            "two-stage optimizers: steps between dense steps that update the variance after the freeze; 0: none",
            ONEBIT_PLACE(optimizer.variance_refresh)),
      field("optimizer.clip", "largest global gradient norm; 0: no clipping", ONEBIT_PLACE(optimizer.clip)),
      choice("optimizer.semantics", "the published algorithm, or DeepSpeed's released code with its quirks",
             ONEBIT_PLACE(optimizer.semantics),
             std::map<std::string, Semantics>{{"paper", Semantics::paper}, {"deepspeed", Semantics::deepspeed}}),
  };
}

std::vector<RunOption> lamb_options() {
  return {
      field("optimizer.max-coeff", "lamb, onebit-lamb: largest trust ratio, above 0 and at least min-coeff",
            ONEBIT_PLACE(optimizer.lamb.max_coeff)),
      field("optimizer.min-coeff", "lamb, onebit-lamb: smallest trust ratio, at least 0",
            ONEBIT_PLACE(optimizer.lamb.min_coeff)),
      field("optimizer.coeff-beta", "onebit-lamb: decay of the average trust ratio that is frozen, in [0, 1)",
            ONEBIT_PLACE(optimizer.lamb.coeff_beta)),
      field("optimizer.factor-max", "onebit-lamb: largest factor on the frozen ratio, above 0 and at least factor-min",
            ONEBIT_PLACE(optimizer.lamb.factor_max)),
      field("optimizer.factor-min", "onebit-lamb: smallest factor on the frozen ratio, at least 0",
            ONEBIT_PLACE(optimizer.lamb.factor_min)),
      field("optimizer.factor-threshold", "onebit-lamb: largest relative change of the factor in a step, in (0, 1)",
            ONEBIT_PLACE(optimizer.lamb.factor_threshold)),
  };
}

std::vector<RunOption> local_step_options() {
  return {
      field("optimizer.var-freeze-step", "zeroone-adam: steps before the variance is frozen, at least 1",
            ONEBIT_PLACE(optimizer.zeroone.var_freeze_step)),
      field("optimizer.var-update-scaler",
            "zeroone-adam: number of variance updates after which their interval doubles, at least 1",
            ONEBIT_PLACE(optimizer.zeroone.var_update_scaler)),
      field("optimizer.local-step-scaler",
            "zeroone-adam: number of steps after which the interval between exchanges doubles, at least 1",
            ONEBIT_PLACE(optimizer.zeroone.local_step_scaler)),
      field("optimizer.local-step-clipper", "zeroone-adam: longest interval between exchanges in steps, at least 1",
            ONEBIT_PLACE(optimizer.zeroone.local_step_clipper)),
      field("optimizer.local-period", "local-sgd, local-adam, diloco: steps between two exchanges, at least 1",
            ONEBIT_PLACE(optimizer.local.period)),
      field("optimizer.outer-lr", "diloco: learning rate of the outer step, above 0",
            ONEBIT_PLACE(optimizer.local.outer_lr)),
      field("optimizer.outer-momentum", "diloco: Nesterov momentum of the outer step, in [0, 1)",
            ONEBIT_PLACE(optimizer.local.outer_momentum)),
      field("optimizer.cada-threshold", "cada1, cada2: constant c of the upload rule, at least 0",
            ONEBIT_PLACE(optimizer.cada.threshold)),
      field("optimizer.cada-window", "cada1, cada2: number of past steps that the rule uses, at least 1",
            ONEBIT_PLACE(optimizer.cada.window)),
      field("optimizer.cada-delay",
            "cada1, cada2: largest number of steps from one upload to the next; cada1: also the period of its "
            "snapshot; at least 1",
            ONEBIT_PLACE(optimizer.cada.max_delay)),
      field("optimizer.ef21-momentum", "ef21-sgdm: share of the new gradient in the momentum, in (0, 1]",
            ONEBIT_PLACE(optimizer.ef21_momentum)),
      field("optimizer.ramp", "dgc: steps over which the density falls from 1/4 to codec.k; 0: none",
            ONEBIT_PLACE(optimizer.ramp)),
  };
}

}  // namespace

std::vector<RunOption> optimizer_options() {
  return joined<sim::RunConfig>({common_options(), lamb_options(), local_step_options()});
}

std::vector<RunOption> freeze_options() {
  return {
      field("freeze", "when to freeze the variance: fixed:K, fraction:F, auto, published or never",
            ONEBIT_PLACE(optimizer.freeze.policy)),
      field("freeze.threshold", "auto, published: stability ratio of ||v||_1 at which to freeze, in (0, 1]",
            ONEBIT_PLACE(optimizer.freeze.threshold)),
      field("freeze.lag", "auto, published: steps between the two norms of the ratio; 0: 1/(1-beta2)",
            ONEBIT_PLACE(optimizer.freeze.lag)),
      field("freeze.after", "auto, published: smallest number of dense updates before a freeze",
            ONEBIT_PLACE(optimizer.freeze.after)),
      field("freeze.dwell",
            "auto: steps for which the ratio has to stay at or above the threshold; 0: a tenth of the lag",
            ONEBIT_PLACE(optimizer.freeze.dwell)),
      choice("freeze.scope",
             "auto, published: freeze the variances of all tensors together, or each one when it is stable",
             ONEBIT_PLACE(optimizer.freeze.scope),
             std::map<std::string, optim::FreezeScope>{{"run", optim::FreezeScope::run},
                                                       {"tensor", optim::FreezeScope::tensor}}),
  };
}

std::vector<RunOption> schedule_options() {
  return {
      named(field("schedule", "learning-rate schedule, see 'onebit list schedules'", ONEBIT_PLACE(schedule.name)),
            [] { return names_of(optim::schedules()); }),
      field("schedule.warmup", "steps of linear warm-up, at least 0", ONEBIT_PLACE(schedule.warmup)),
      field("schedule.decay", "exponential, step: factor per decay-steps, in (0, 1]", ONEBIT_PLACE(schedule.decay)),
      field("schedule.decay-steps", "exponential, step: steps after which the factor applies, at least 1",
            ONEBIT_PLACE(schedule.decay_steps)),
      field("schedule.final", "cosine: factor at the last step, in [0, 1]", ONEBIT_PLACE(schedule.final)),
  };
}

}  // namespace onebit::experiments
