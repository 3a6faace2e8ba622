#include "optim/optimizer.hpp"

namespace onebit::optim {

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::dense:
      return "dense";
    case Phase::warmup:
      return "warmup";
    case Phase::compression:
      return "compression";
    case Phase::dry_run:
      return "dry_run";
    case Phase::local:
      return "local";
  }
  return "";
}

void Optimizer::begin(Index step, double lr) {
  step_ = step;
  lr_ = lr;
  do_begin();
}

void Optimizer::absorb(Range group, const float* gradients, Index stride) {
  do_absorb(group, gradients, stride);
}

StepReport Optimizer::finish(device::Buffer<float>& parameters) {
  return do_finish(parameters);
}

void Optimizer::require_finite() const {
  const compress::CompressedMean* exchange = state().exchange;
  if (exchange != nullptr) exchange->require_finite();
}

}  // namespace onebit::optim
