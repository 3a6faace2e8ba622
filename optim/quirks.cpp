#include "optim/quirks.hpp"

namespace onebit::optim {
namespace {

bool is_released(const OptimizerConfig& config) {
  return config.semantics == Semantics::deepspeed;
}

}  // namespace

AdamQuirks AdamQuirks::of(const OptimizerConfig& config) {
  return {.keeps_bias = is_released(config)};
}

TwoStageQuirks TwoStageQuirks::of(const OptimizerConfig& config) {
  const bool released = is_released(config);
  return {.dry_run = released,
          .counts_steps = released,
          .freezes_once = released,
          .masks_nothing = released,
          .padding_as_data = released,
          .idle_alone = released};
}

OnebitLambQuirks OnebitLambQuirks::of(const OptimizerConfig& config) {
  const bool released = is_released(config);
  return {.skips_unit_ratios = released,
          .misses_early_freeze = released,
          .divides_by_zero = released,
          .keeps_padding = released};
}

ZeroOneAdamQuirks ZeroOneAdamQuirks::of(const OptimizerConfig& config) {
  const bool released = is_released(config);
  return {.dry_run = released,
          .may_end_silent = released,
          .masks_nothing = released,
          .padding_as_data = released,
          .idle_alone = released,
          .subtracts_drift = released};
}

compress::ExchangeConfig exchange_of(const OptimizerConfig& config, bool padding_as_data) {
  compress::ExchangeConfig exchange = config.exchange;
  if (padding_as_data) exchange.padding = compress::Padding::as_data;
  return exchange;
}

}  // namespace onebit::optim
