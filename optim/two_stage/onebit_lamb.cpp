#include "optim/two_stage/onebit_lamb.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/base/error.hpp"
#include "device/launch/stopwatch.hpp"
#include "device/memory/grow.hpp"
#include "optim/lamb/lamb_kernels.hpp"

namespace onebit::optim {

OnebitLamb::OnebitLamb(const Problem& problem, const OptimizerConfig& config)
    : TwoStage(problem, config),
      lamb_(config.lamb),
      lamb_quirks_(OnebitLambQuirks::of(config)),
      average_(problem.tensors.size(), 0.0) {
  if (core().freeze_policy().by_tensor()) {
    throw ConfigError("1-bit LAMB exchanges all tensors as one vector and freezes them together", "freeze.scope tensor",
                      "leave out --freeze.scope, or use --optimizer onebit-adam");
  }
  numbers_.coefficient_factor.assign(problem.tensors.size(), 1.0);
  numbers_.scaling_coefficient.assign(problem.tensors.size(), 1.0);
  compress::check(problem.shard, exchanged_tensors(), fused());  // throws now rather than at the freeze
}

StateView OnebitLamb::state() const {
  StateView view = TwoStage::state();
  view.tensors = &numbers_;
  return view;
}

void OnebitLamb::dense_update(device::Buffer<float>& x, StepReport& report) {
  numbers_.trust_ratio = lamb_update(core(), lamb_, updates(), lr(), x, report);
  average_ratios();
}

void OnebitLamb::average_ratios() {
  const double weight = core().bias().removed ? 1 - std::pow(lamb_.coeff_beta, static_cast<double>(updates())) : 1;
  numbers_.frozen_coefficient = average_;
  for (std::size_t l = 0; l < average_.size(); ++l) {
    const double ratio = numbers_.trust_ratio[l];
    const bool skip = lamb_quirks_.skips_unit_ratios && ratio == 1;
    if (!skip) average_[l] = lamb_.coeff_beta * average_[l] + (1 - lamb_.coeff_beta) * ratio;
    numbers_.frozen_coefficient[l] = average_[l] / weight;
  }
}

void OnebitLamb::visit_state(device::StateVisitor& visitor) {
  TwoStage::visit_state(visitor);
  visitor.numbers("average_coefficient", average_);
  visitor.numbers("trust_ratio", numbers_.trust_ratio);
  visitor.numbers("frozen_coefficient", numbers_.frozen_coefficient);
  visitor.numbers("coefficient_factor", numbers_.coefficient_factor);
  visitor.numbers("scaling_coefficient", numbers_.scaling_coefficient);
  if (!compressing()) return;
  visitor.shared("fresh_variance", fresh_);
  visitor.shared("scaling", scaling_);
  visitor.shared("exchanged", exchanged_);
}

void OnebitLamb::make_room(Index exchanged) {
  exchanged_ = device::Buffer<float>::zeros(device(), exchanged);
  fresh_ = device::Buffer<float>::zeros(device(), core().parameters());
  scaling_ = device::Buffer<float>(device(), core().parameters());
}

void OnebitLamb::make_exchange() {
  const std::vector<compress::Tensor> tensors = exchanged_tensors();
  make_room(compress::total_size(tensors));
  if (lamb_quirks_.keeps_padding) {
    const std::vector<float> ones(static_cast<std::size_t>(problem().shard.own().count), 1.0f);
    ones_ = device::Buffer<float>::copy_of(device(), ones);
  }
  exchange_ = std::make_unique<compress::CompressedMean>(problem().shard, tensors, fused());
}

void OnebitLamb::start_compression() {
  start_fresh_variance();
  fix_scaling();
}

/// The tensors of the exchange. Padding that is kept is exchanged like a tensor.
std::vector<compress::Tensor> OnebitLamb::exchanged_tensors() const {
  std::vector<compress::Tensor> tensors = problem().tensors;
  const Index size = core().parameters();
  const Index padding = round_up(size, compress::padding_quantum(problem().shard.workers())) - size;
  if (lamb_quirks_.keeps_padding && padding > 0) tensors.push_back({"padding", padding});
  return tensors;
}

compress::ExchangeConfig OnebitLamb::fused() const {
  compress::ExchangeConfig exchange = config().exchange;
  exchange.granularity = compress::Granularity::fused;
  return exchange;
}

/// Starts the fresh variance at v. The released code copies v in the step whose counter equals freeze_step; if the
/// first dense update comes after that step, fresh stays 0.
void OnebitLamb::start_fresh_variance() {
  const FreezePolicy& policy = core().freeze_policy();
  const bool missed =
      lamb_quirks_.misses_early_freeze && policy.kind() == FreezePolicy::Kind::fixed && step() > policy.fixed_updates();
  if (!missed) fresh_.refill(core().device(), [&] { return core().variance().to_host(); });
}

void OnebitLamb::fix_scaling() {
  const std::vector<compress::Tensor>& tensors = problem().tensors;
  std::vector<double> sizes = core().tensor_sums(1, TensorSquareTerm{core().rules().data(), core().momentum().data()});
  double sum = 0, count = 0;
  for (std::size_t l = 0; l < tensors.size(); ++l) {
    if (tensors[l].size > 0) sizes[l] = std::sqrt(sizes[l] / static_cast<double>(tensors[l].size));
    if (lamb_quirks_.divides_by_zero && tensors[l].size > 0 && sizes[l] == 0) {
      throw NumericError("the momentum is zero at the freeze, and the released code divides by its norm",
                         "tensor " + tensors[l].name, "use --optimizer.semantics paper");
    }
    sum += sizes[l];
    count += sizes[l] > 0 ? 1 : 0;
  }
  for (std::size_t l = 0; l < tensors.size(); ++l) {
    numbers_.scaling_coefficient[l] = sizes[l] > 0 ? sum / count / sizes[l] : 1;
  }
  scaling_.refill(core().device(), [&] {
    std::vector<float> scaling;
    for (std::size_t l = 0; l < tensors.size(); ++l) {
      const auto coefficient = static_cast<float>(numbers_.scaling_coefficient[l]);
      scaling.insert(scaling.end(), static_cast<std::size_t>(tensors[l].size), coefficient);
    }
    return scaling;
  });
}

void OnebitLamb::send(Range group, const float* gradients, Index stride, const float* factors) {
  if (lamb_quirks_.keeps_padding) return send_padded(group, gradients, stride, factors);
  exchange_->absorb(group, {.shared = core().momentum().data(),
                            .shared_factor = static_cast<float>(config().beta1),
                            .rows = gradients,
                            .stride = stride,
                            .factors = factors,
                            .weights = scaling_.data()});
}

PaddedMomentaKernel OnebitLamb::scaled_momenta(const float* gradients, Index stride, const float* factors, float* out,
                                               Index out_stride) const {
  return {local_momenta(gradients, stride, factors, out, out_stride), scaling_.data(), core().parameters(),
          exchanged_.data()};
}

void OnebitLamb::send_padded(Range group, const float* gradients, Index stride, const float* factors) {
  const Index padded = exchanged_.size();
  grow(rows_, device(), group.count * padded);
  float* out = exchanges() ? rows_.data() : exchanged_.data();  // a single worker's momentum is the new one
  for_each_row(device(), group.count, padded, scaled_momenta(gradients, stride, factors, out, padded));
  if (exchanges()) exchange_->absorb(group, {.rows = rows_.data(), .stride = padded, .factors = ones_.data()});
}

void OnebitLamb::receive(StepReport& report) {
  receive_compressed(exchanged_.data(), report);
}

void OnebitLamb32::send(Range group, const float* gradients, Index stride, const float* factors) {
  const Index parameters = core().parameters();
  grow(rows_, device(), group.count * parameters);
  float* out = exchanges() ? rows_.data() : exchanged_.data();  // a single worker's momentum is the new one
  for_each_row(device(), group.count, parameters, scaled_momenta(gradients, stride, factors, out, parameters));
  if (exchanges()) core().absorb_dense(group, rows_.data(), parameters);
}

void OnebitLamb32::receive(StepReport& report) {
  core().average_dense(exchanged_, report);
}

void OnebitLamb::frozen_update(device::Buffer<float>& x, StepReport& report) {
  device::Stopwatch watch(device());
  const AdamStep step = frozen_step();
  refresh(step);
  update_factors(step, x);
  report.seconds.update += watch.lap();
  core().apply(step, /*mask=*/false, x, report);
}

void OnebitLamb::refreshing_update(const AdamStep& step, device::Buffer<float>& x, StepReport& report) {
  device::Stopwatch watch(device());
  const float* gradient = core().mean().data();
  for_each(device(), core().parameters(),
           MomentKernel{step, core().momentum().data(), core().variance().data(), gradient});
  for_each(device(), core().parameters(), VarianceKernel{step, gradient, fresh_.data()});
  update_factors(step, x);
  report.seconds.update += watch.lap();
  core().apply(step, /*mask=*/false, x, report);
}

void OnebitLamb::refresh(const AdamStep& step) {
  for_each(device(), core().parameters(),
           FreshVarianceKernel{step, /*mask=*/!quirks().masks_nothing, exchanged_.data(), scaling_.data(),
                               core().variance().data(), core().momentum().data(), fresh_.data()});
}

/// The largest (sqrt(v) + eps) / (sqrt(fresh) + eps) in each of kLanes parts of every chunk of the tensors.
device::Future<float> OnebitLamb::largest_parts(const AdamStep& step) const {
  const Index count = core().tensors().count();
  device::Buffer<float> lanes(device(), count * LargestRatioKernel::kLanes);
  const float fresh_correction = core().numbers(updates(), updates(), lr()).root_correction;
  for_each(device(), lanes.size(),
           LargestRatioKernel{core().tensors().view(), core().rules().data(), /*mask=*/!quirks().masks_nothing,
                              step.eps, step.root_correction, fresh_correction, least_roots().data(),
                              core().variance().data(), fresh_.data(), lanes.data()});
  return lanes.fetch_large(device());
}

/// The largest ratio of every tensor; 1 if no coordinate counts, or in a plan.
std::vector<double> OnebitLamb::largest_ratios(const device::Future<float>& parts) const {
  if (parts.size() == 0) return std::vector<double>(problem().tensors.size(), 1.0);
  std::vector<double> ratios;
  const float* next = parts.begin();
  for (const compress::Tensor& tensor : problem().tensors) {
    const float* end = next + ceil_div(tensor.size, device::kChunk) * LargestRatioKernel::kLanes;
    const float largest = std::accumulate(next, end, 0.0f, [](float a, float b) { return std::max(a, b); });
    ratios.push_back(largest > 0 ? static_cast<double>(largest) : 1.0);
    next = end;
  }
  return ratios;
}

void OnebitLamb::update_factors(const AdamStep& step, const device::Buffer<float>& x) {
  const device::Future<float> parts = largest_parts(step);
  device::Future<double> squares;  // squared norms of the directions, then of the directions without weight decay
  if (core().decays()) {
    squares = core().tensor_sums(
        2, DirectionTerm{step, core().rules().data(), x.data(), core().momentum().data(), core().variance().data()});
  }
  std::vector<double> factors = largest_ratios(parts);
  for (std::size_t l = 0; squares.size() > 0 && l < factors.size(); ++l) {
    const double whole = squares[l], adaptive = squares[factors.size() + l];
    const double share = whole > 0 ? std::min(1.0, std::sqrt(adaptive / whole)) : 1.0;
    factors[l] = factors[l] * share + (1 - share);
  }
  for (std::size_t l = 0; l < factors.size(); ++l) {
    const double last = numbers_.coefficient_factor[l];
    double r = std::max(std::min(factors[l], lamb_.factor_max), lamb_.factor_min);
    r = std::max(std::min(r, last * (1 + lamb_.factor_threshold)), last * (1 - lamb_.factor_threshold));
    numbers_.coefficient_factor[l] = r;
    numbers_.trust_ratio[l] = numbers_.frozen_coefficient[l] * r;
  }
  core().set_coefficients(numbers_.trust_ratio);
}

}  // namespace onebit::optim
