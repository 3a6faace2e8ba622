#include "optim/stages.hpp"

#include "optim/parent.hpp"

namespace onebit::optim {

bool compresses(std::string_view optimizer, Phase phase) {
  if (phase != Phase::compression && phase != Phase::local) return false;
  OptimizerConfig config;
  config.name = optimizer;
  return codecs_of(config) != Codecs::none;
}

bool exchanges_gradients(std::string_view optimizer, Phase phase) {
  if (phase == Phase::local) return false;
  return phase != Phase::compression || !is_dense_until_freeze(optimizer);
}

Index gradients_per_step(std::string_view optimizer) {
  return optimizer == "cada1" || optimizer == "cada2" ? 2 : 1;
}

std::optional<Phase> phase_of(Index number) {
  for (const Phase phase : {Phase::dense, Phase::warmup, Phase::compression, Phase::dry_run, Phase::local}) {
    if (static_cast<Index>(phase) == number) return phase;
  }
  return std::nullopt;
}

}  // namespace onebit::optim
