#include "sim/probe/theory_probe.hpp"

#include <algorithm>
#include <cmath>

#include "device/launch/sums.hpp"
#include "device/math/philox.hpp"
#include "optim/adam/adam_kernels.hpp"
#include "sim/probe/probe_kernels.hpp"
#include "sim/probe/theory_kernels.hpp"

namespace onebit::sim {
namespace {

/// Returns the smallest value above 0. Reads in pieces, because a copy of the whole vector may not fit in memory.
double least_positive(const device::Buffer<float>& values) {
  constexpr Index piece = Index{1} << 20;
  float least = std::numeric_limits<float>::infinity();
  std::vector<float> host(static_cast<std::size_t>(std::min(piece, values.size())));
  for (Index first = 0; first < values.size(); first += piece) {
    const auto part = std::span(host).first(static_cast<std::size_t>(std::min(piece, values.size() - first)));
    values.download(part, first);
    for (const float value : part) {
      if (value > 0) least = std::min(least, value);
    }
  }
  return static_cast<double>(least);
}

}  // namespace

TheoryProbe::TheoryProbe(const RunConfig& config, const Replica& replica, std::shared_ptr<const DataSource> data,
                         Index group)
    : config_(config),
      data_(std::move(data)),
      shard_(replica.shard),
      parameters_(replica.model->parameters()),
      group_(group),
      whole_(parameters_),
      first_sum_(shard_, parameters_),
      second_sum_(shard_, parameters_),
      second_rows_(shard_.device, group * parameters_),
      point_(shard_.device, parameters_),
      first_(shard_.device, parameters_),
      second_(shard_.device, parameters_),
      moved_point_(shard_.device, parameters_),
      scratch_(shard_.device, parameters_),
      old_variance_(Floats::zeros(shard_.device, parameters_)) {}

template <class Term>
std::vector<double> TheoryProbe::sums_of(Index rows, const Term& term) const {
  return device::sums(shard_.device, rows, whole_, term);
}

double TheoryProbe::norm(const Floats& values) const {
  return std::sqrt(sums_of(1, optim::SquareTerm{values.data(), 0})[0]);
}

double TheoryProbe::distance(const Floats& a, const Floats& b) const {
  return std::sqrt(sums_of(1, DistanceTerm{a.data(), 0, b.data()})[0]);
}

void TheoryProbe::set_point(const Replica& replica, Floats& point) const {
  point.upload(replica.optimizer->local_weights() ? replica.mean_weights().to_host() : replica.weights.to_host());
}

/// Computes the gradients of the group's workers over as many parts as a step has, starting with first_part.
void TheoryProbe::pass(Replica& replica, Index step, Range group, const Floats& point, Index first_part, Floats& rows) {
  const float share = 1.0f / static_cast<float>(config_.accumulation);
  for (Index part = 0; part < config_.accumulation; ++part) {
    const Index first_draw = (first_part + part) * config_.batch;
    replica.draw(*data_, step, group, config_.batch, first_draw, replica.batch);
    replica.place_batch();
    replica.batch.freeze_running_stats = true;
    replica.model->gradients({point.data(), 0}, replica.batch, {rows.data(), parameters_, part > 0, share});
  }
}

/// Computes the mean gradient over the step's own examples.
void TheoryProbe::mean_gradient(Replica& replica, Index step, const Floats& point, Floats& mean) {
  const Range own = shard_.own();
  for (Index first = own.first; first < own.end(); first += group_) {
    const Range group{first, std::min(group_, own.end() - first)};
    pass(replica, step, group, point, 0, replica.gradients);
    first_sum_.absorb(group, replica.gradients.data(), parameters_);
  }
  first_sum_.take_mean(mean.data());
}

void TheoryProbe::before(Replica& replica, Index step) {
  set_point(replica, point_);
  pairs_.clear();
  const Range own = shard_.own();
  for (Index first = own.first; first < own.end(); first += group_) {
    const Range group{first, std::min(group_, own.end() - first)};
    pass(replica, step, group, point_, 0, replica.gradients);
    pass(replica, step, group, point_, config_.accumulation, second_rows_);
    const GradientPairTerm term{replica.gradients.data(), second_rows_.data(), parameters_};
    const std::vector<double> squares = sums_of(group.count * GradientPairTerm::kinds, term);
    pairs_.insert(pairs_.end(), squares.begin(), squares.end());
    first_sum_.absorb(group, replica.gradients.data(), parameters_);
    second_sum_.absorb(group, second_rows_.data(), parameters_);
  }
  first_sum_.take_mean(first_.data());
  second_sum_.take_mean(second_.data());
}

ProbeRow TheoryProbe::after(Replica& replica, Index step) {
  ProbeRow row{.step = step};
  const optim::StateView state = replica.optimizer->state();
  measure_noise(replica, pairs_, row);
  measure_gradient(state, row);
  measure_path(replica, step, row);
  measure_variance(state, row);
  if (config_.probe.curvature > 0) row.smoothness = largest_curvature(replica, step);
  if (state.exchange != nullptr && state.exchanged && state.exchange->balance()) {
    const compress::FeedbackBalance& balance = *state.exchange->balance();
    row.feedback_size = balance.size;
    row.feedback_residual = balance.residual;
    row.residual_without_workers = balance.residual_without_workers;
    row.residual_without_servers = balance.residual_without_servers;
    if (!state.exchange->worker_errors().exact()) row.feedback_rounding = balance.rounding;
  }
  return row;
}

/// If s^2 is the noise of one gradient, the mean of a worker's two gradients has the noise s^2/2; subtracting the mean
/// over n workers removes 1/n of that.
void TheoryProbe::measure_noise(const Replica& replica, const std::vector<double>& own, ProbeRow& row) const {
  const std::vector<double> all = replica.shard.communicator->all_gather(own);
  const auto n = static_cast<double>(shard_.workers());
  double difference = 0, sum = 0, square = 0;
  for (std::size_t i = 0; i < all.size(); i += GradientPairTerm::kinds) {
    difference += all[i];
    sum += all[i + 1];
    square += all[i + 2];
  }
  row.worker_gradient_square = square / n;
  row.noise_square = difference / (2 * n);
  const double mean = sums_of(1, optim::SquareTerm{first_.data(), 0})[0] +
                      2 * sums_of(1, GradientProductTerm{first_.data(), second_.data(), nullptr, 0, 0})[0] +
                      sums_of(1, optim::SquareTerm{second_.data(), 0})[0];
  row.heterogeneity_square = sum / (4 * n) - mean / 4 - (1 - 1 / n) * row.noise_square / 2;
}

void TheoryProbe::measure_gradient(const optim::StateView& state, ProbeRow& row) const {
  GradientProductTerm term{first_.data(), second_.data(), nullptr, 0, 0};
  row.gradient_square = sums_of(1, term)[0];
  const optim::Denominator& denominator = state.denominator;
  if (denominator.variance == nullptr) return;
  term.variance = denominator.variance->data();
  term.correction = static_cast<double>(denominator.correction);
  term.eps = static_cast<double>(denominator.eps);
  row.scaled_gradient_square = sums_of(1, term)[0];
  row.least_denominator = std::sqrt(least_positive(*denominator.variance)) * term.correction + term.eps;
}

/// Uses the same examples at both ends of the path, so that their noise cancels.
void TheoryProbe::measure_path(Replica& replica, Index step, ProbeRow& row) {
  set_point(replica, moved_point_);
  mean_gradient(replica, step, moved_point_, scratch_);
  const double length = distance(moved_point_, point_);
  if (length > 0) row.path_smoothness = distance(scratch_, first_) / length;
}

/// Runs a power iteration at x with central differences of the mean gradient. Their steps are a thousandth of the norm
/// of the weights: long enough for single precision, short enough for smooth functions.
double TheoryProbe::largest_curvature(Replica& replica, Index step) {
  std::vector<float> start(static_cast<std::size_t>(parameters_));
  for (Index i = 0; i < parameters_; ++i) {
    start[static_cast<std::size_t>(i)] = device::normal({config_.seed, device::Purpose::curvature}, {step, 0, i});
  }
  Floats direction = Floats::copy_of(shard_.device, start);
  const double weights = norm(point_);
  const double length = 1e-3 * (weights > 0 ? weights : 1.0);
  double curvature = 0;
  for (Index iteration = 0; iteration < config_.probe.curvature; iteration += 2) {
    const double size = norm(direction);
    if (!(size > 0)) return size;  // flat, or not finite
    const auto factor = static_cast<float>(length / size);
    for_each(shard_.device, parameters_, AlongKernel{point_.data(), direction.data(), factor, moved_point_.data()});
    mean_gradient(replica, step, moved_point_, scratch_);
    for_each(shard_.device, parameters_, AlongKernel{point_.data(), direction.data(), -factor, moved_point_.data()});
    mean_gradient(replica, step, moved_point_, direction);
    for_each(shard_.device, parameters_, MinusKernel{scratch_.data(), direction.data(), direction.data()});
    curvature = norm(direction) / (2 * length);
  }
  return curvature;
}

/// Compares the shadow variance with the frozen one or, before the freeze, with the variance at the previous probe.
void TheoryProbe::measure_variance(const optim::StateView& state, ProbeRow& row) {
  const optim::Denominator& shadow = state.shadow;
  if (shadow.variance == nullptr) return;
  row.shadow_l1 = sums_of(1, optim::AbsoluteTerm{shadow.variance->data()})[0];
  row.shadow_l2 = norm(*shadow.variance);
  const bool frozen = state.denominator.variance != shadow.variance;
  const float* old = frozen ? state.denominator.variance->data() : old_variance_.data();
  const double old_correction = frozen ? static_cast<double>(state.denominator.correction) : old_correction_;
  if (old_correction > 0) {
    const DriftTerm term{old,
                         shadow.variance->data(),
                         old_correction,
                         static_cast<double>(shadow.correction),
                         static_cast<double>(shadow.eps),
                         config_.probe.moved};
    const std::vector<double> sums = sums_of(DriftTerm::kinds, term);
    row.rate_drift = sums[2] > 0 ? sums[0] / sums[2] : 0;
    row.moved_share = sums[2] > 0 ? sums[1] / sums[2] : 0;
  }
  if (frozen) return;
  old_variance_.upload(shadow.variance->to_host());
  old_correction_ = static_cast<double>(shadow.correction);
}

void TheoryProbe::visit_state(device::StateVisitor& visitor) {
  visitor.shared("old_variance", old_variance_);
  visitor.number("old_correction", old_correction_);
}

}  // namespace onebit::sim
