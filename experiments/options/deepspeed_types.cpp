#include "experiments/options/deepspeed_types.hpp"

#include "experiments/options/options.hpp"

namespace onebit::experiments::deepspeed {
namespace {

void real(const std::string& place, const std::string& text) {
  parse_real(place, text);
}
void whole(const std::string& place, const std::string& text) {
  parse_integer(place, text);
}
void boolean(const std::string& place, const std::string& text) {
  parse_boolean(place, text);
}

const std::vector<Parameter> kAdam = {
    {"lr", {"optimizer.lr"}, {"0.001"}, real},
    {"betas", {"optimizer.beta1", "optimizer.beta2"}, {"0.9", "0.999"}, real},
    {"eps", {"optimizer.eps"}, {"1e-8"}, real},
    {"weight_decay", {"optimizer.weight-decay"}, {"0"}, real},
};
const std::vector<Parameter> kBiasCorrection = {
    {"bias_correction", {"optimizer.bias-correction"}, {"true"}, boolean},
};
const std::vector<Parameter> kFreeze = {{"freeze_step", {"freeze"}, {"100000"}, whole, "fixed:"}};
const std::vector<Parameter> kTrustRatio = {
    {"max_coeff", {"optimizer.max-coeff"}, {"10"}, real},
    {"min_coeff", {"optimizer.min-coeff"}, {"0.01"}, real},
};
const std::vector<Parameter> kFrozenRatio = {
    {"coeff_beta", {"optimizer.coeff-beta"}, {"0.9"}, real},
    {"factor_max", {"optimizer.factor-max"}, {"4"}, real},
    {"factor_min", {"optimizer.factor-min"}, {"0.5"}, real},
    {"factor_threshold", {"optimizer.factor-threshold"}, {"0.1"}, real},
};
const std::vector<Parameter> kIntervals = {
    {"var_freeze_step", {"optimizer.var-freeze-step"}, {"100000"}, whole},
    {"var_update_scaler", {"optimizer.var-update-scaler"}, {"16"}, whole},
    {"local_step_scaler", {"optimizer.local-step-scaler"}, {"32678"}, whole},
    {"local_step_clipper", {"optimizer.local-step-clipper"}, {"16"}, whole},
};

const std::vector<Unused> kFused = {
    {"torch_adam", "another implementation of the same update"},
    {"adam_w_mode", "weight decay is always decoupled, as if this were true"},
    {"amsgrad", "AMSGrad is not supported, so only false is accepted", "false"},
    {"set_grad_none", "gradients are not kept between steps"},
};
const std::vector<Unused> kFusedLamb = {
    {"bias_correction", "not used in deepspeed semantics; --optimizer.semantics paper uses it"},
    {"eps_inside_sqrt", "eps is always added outside the root, as if this were false", "false"},
    {"amsgrad", "AMSGrad is not supported, so only false is accepted", "false"},
};
const std::vector<Unused> kCompressed = {
    {"bias_correction", "accepted by the released code, but not used"},
    {"eps_inside_sqrt", "accepted by the released code, but not used"},
    {"amsgrad", "AMSGrad is not supported, so only false is accepted", "false"},
    {"cuda_aware", "the workers are simulated"},
    {"comm_backend_name", "the workers are simulated"},
};

std::vector<Parameter> operator+(std::vector<Parameter> first, const std::vector<Parameter>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

constexpr Unused kBeside[] = {
    {"fp16",
     "everything is computed in fp32; for DeepSpeed's one exchange per parameter group use "
     "--optimizer.granularity fused"},
    {"bf16",
     "everything is stored in fp32; --model.precision bf16 rounds the operands of matrix products; for DeepSpeed's one "
     "exchange per parameter group use --optimizer.granularity fused"},
    {"amp", "everything is computed in fp32"},
    {"zero_optimization", "no optimizer state is sharded; the released code refuses it with compressed optimizers"},
    {"scheduler", "its warm-up and decay have no exact counterpart; use --schedule and --schedule.warmup"},
    {"communication_data_type", "dense exchanges use fp32"},
    {"prescale_gradients", "the workers' gradients are summed in double precision"},
    {"gradient_predivide_factor", "the workers' gradients are summed in double precision"},
    {"sparse_gradients", "gradients are dense"},
};

}  // namespace

const std::vector<Type>& types() {
  static const std::vector<Type> table = {
      {"Adam", "adam", "paper", kAdam + kBiasCorrection, kFused},
      {"AdamW", "adam", "paper", kAdam + kBiasCorrection, kFused},
      {"Lamb", "lamb", "deepspeed", kAdam + kTrustRatio, kFusedLamb},
      {"OneBitAdam", "onebit-adam", "deepspeed", kAdam + kFreeze, kCompressed},
      {"OneBitLamb", "onebit-lamb", "deepspeed", kAdam + kFreeze + kTrustRatio + kFrozenRatio, kCompressed},
      {"ZeroOneAdam", "zeroone-adam", "deepspeed", kAdam + kIntervals, kCompressed},
  };
  return table;
}

const std::vector<Parameter>& parameters_beside() {
  static const std::vector<Parameter> table = {
      {"gradient_clipping", {"optimizer.clip"}, {"0"}, real},
      {.key = "train_micro_batch_size_per_gpu",
       .options = {"batch"},
       .fallback = {},
       .check = whole,
       .automatic = true},
      {.key = "gradient_accumulation_steps",
       .options = {"accumulation"},
       .fallback = {},
       .check = whole,
       .automatic = true},
  };
  return table;
}

std::span<const Unused> unused_beside() {
  return kBeside;
}

}  // namespace onebit::experiments::deepspeed
