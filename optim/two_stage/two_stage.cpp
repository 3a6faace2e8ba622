#include "optim/two_stage/two_stage.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/error.hpp"
#include "device/launch/stopwatch.hpp"
#include "optim/two_stage/variance_floor.hpp"

namespace onebit::optim {

TwoStage::TwoStage(const Problem& problem, const OptimizerConfig& config)
    : problem_(problem),
      config_(config),
      quirks_(TwoStageQuirks::of(config)),
      core_(problem, config, quirks_.dry_run ? 1 : 0),
      clipping_(problem, config.clip),
      phase_(quirks_.dry_run ? Phase::dry_run : Phase::warmup),
      least_roots_(device::Buffer<float>::zeros(problem.shard.device, static_cast<Index>(problem.tensors.size()))) {
  refuse_what_cannot_be();
  if (core_.freeze_policy().by_tensor()) tensors_.emplace(problem, core_.bias(), core_.freeze_policy());
}

void TwoStage::refuse_what_cannot_be() const {
  const FreezePolicy& policy = core_.freeze_policy();
  const std::string refresh = "optimizer.variance-refresh " + std::to_string(config_.variance_refresh);
  if (quirks_.freezes_once && refreshes()) {
    throw ConfigError("the released code never refreshes a frozen variance", refresh,
                      "use --optimizer.semantics paper");
  }
  if (!quirks_.counts_steps && policy.kind() == FreezePolicy::Kind::fixed && policy.fixed_updates() < 1) {
    throw ConfigError("the variance cannot be frozen before the first update", "freeze " + config_.freeze.policy,
                      "freeze after at least 1 dense update");
  }
  if (!policy.by_tensor()) return;
  if (quirks_.freezes_once) {
    throw ConfigError("the released code freezes all tensors at once", "freeze.scope tensor",
                      "use --optimizer.semantics paper");
  }
  if (refreshes()) {
    throw ConfigError("freeze.scope tensor cannot be combined with refreshes of the variance",
                      "freeze.scope tensor, " + refresh, "leave out one of the two options");
  }
}

StateView TwoStage::state() const {
  StateView view{.momentum = &core_.momentum(), .variance = &core_.variance()};
  view.exchange = exchange_.get();
  view.exchanged = exchange_ && exchanged_now_ && exchanges();
  const bool frozen = phase_ == Phase::compression;
  view.denominator = core_.denominator(core_.variance(), frozen ? variance_updates_ : updates_);
  if (!frozen) view.shadow = view.denominator;
  if (shadow_) view.shadow = core_.denominator(shadow_->variance(), updates_);
  return view;
}

void TwoStage::visit_state(device::StateVisitor& visitor) {
  core_.visit_state(visitor);
  if (tensors_) visitor.group("tensor_freeze", [&] { tensors_->visit_state(visitor); });
  auto phase = static_cast<Index>(phase_);
  visitor.number("phase", phase);
  phase_ = static_cast<Phase>(phase);
  visitor.number("updates", updates_);
  visitor.number("frozen_updates", frozen_updates_);
  if (phase_ != Phase::compression) return;
  if (visitor.loads()) variance_updates_ = tensors_ ? 0 : frozen_updates_;
  if (refreshes()) visitor.number("variance_updates", variance_updates_);
  if (parse_variance_floor(config_.variance_floor).value > 0) visitor.shared("least_roots", least_roots_);
  if (visitor.loads()) begin_compression();
  if (masked_) visitor.group("masked", [&] { masked_->visit_state(visitor); });
  if (shadow_) visitor.group("shadow", [&] { shadow_->visit_state(visitor); });
  if (exchange_) exchange_->visit_state(visitor);
}

std::string TwoStage::failed_expectation() const {
  const FreezePolicy& policy = core_.freeze_policy();
  const bool compressed = phase_ == Phase::compression && updates_ > frozen_updates_;
  if (policy.kind() == FreezePolicy::Kind::never || compressed) return "";
  // analysis/freeze/diagnosis.cpp recognises this wording in logs.
  std::string text = "the run ended before its compression stage (freeze " + config_.freeze.policy + ")";
  if (policy.kind() != FreezePolicy::Kind::fixed)
    text += ": the variance ratio reached the threshold too late or never";
  return text;
}

LocalMomentaKernel TwoStage::local_momenta(const float* gradients, Index stride, const float* factors, float* out,
                                           Index out_stride) const {
  return {core_.momentum().data(), static_cast<float>(config_.beta1), gradients, stride, factors, out, out_stride};
}

void TwoStage::receive_compressed(float* result, StepReport& report) {
  const compress::ExchangeSeconds seconds = exchange_->exchange(result, report.traffic);
  report.seconds.exchange = seconds.exchange;
  report.seconds.server = seconds.server;
}

void TwoStage::do_begin() {
  encode_seconds_ = 0;
  clipping_.begin();
  refresh_now_ =
      phase_ == Phase::compression && refreshes() && (updates_ + 1 - frozen_updates_) % config_.variance_refresh == 0;
  if (exchange_ && tensors_ && tensors_->froze_by(updates_) && updates_ > frozen_updates_) renew_exchange();
  if (exchange_ && !refresh_now_) exchange_->begin(step());
}

void TwoStage::do_absorb(Range group, const float* gradients, Index stride) {
  if (shadow_) shadow_->absorb(group, gradients, stride);
  if (phase_ != Phase::compression || refresh_now_) return core_.absorb_dense(group, gradients, stride);
  const float* factors = clipping_.factors(group, gradients, stride, 1 - config_.beta1);
  if (masked_) masked_->watch(group, gradients, stride);
  device::Stopwatch watch(device());
  send(group, gradients, stride, factors);
  encode_seconds_ += watch.lap();
}

StepReport TwoStage::do_finish(device::Buffer<float>& parameters) {
  StepReport report;
  report.phase = refresh_now_ ? Phase::warmup : phase_;
  exchanged_now_ = phase_ == Phase::compression && !refresh_now_;
  switch (phase_) {
    case Phase::dry_run:
      core_.average_dense(core_.mean(), report);
      phase_ = Phase::warmup;
      break;
    case Phase::compression:
      refresh_now_ ? finish_refresh(parameters, report) : finish_compression(parameters, report);
      break;
    default:
      finish_warmup(parameters, report);
  }
  report.masked = masked_ ? masked_->count() : 0;
  return report;
}

void TwoStage::finish_warmup(device::Buffer<float>& parameters, StepReport& report) {
  ++updates_;
  dense_update(parameters, report);
  if (freeze_now(report)) freeze(report);
}

bool TwoStage::freeze_now(StepReport& report) {
  if (tensors_) return tensors_->freeze_stable(updates_, tensors_->norms(core_));
  return core_.freeze_now(quirks_.counts_steps ? step() : updates_, report);
}

void TwoStage::freeze(StepReport& report) {
  phase_ = Phase::compression;
  frozen_updates_ = variance_updates_ = updates_;
  begin_compression();
  if (tensors_) {
    tensors_->remove_bias(core_.variance(), updates_);
    variance_updates_ = 0;
  }
  raise_variance(report);
  start_compression();
  report.events.push_back({"freeze", frozen_text() + " frozen after " + std::to_string(updates_) +
                                         " dense updates (freeze " + config_.freeze.policy + "), " +
                                         std::to_string(masked_ ? masked_->count() : 0) + " coordinates masked"});
  if (tensors_) tensors_->tell(updates_, report);
}

std::string TwoStage::frozen_text() const {
  return tensors_ ? "variance of " + tensors_->progress() : "variance";
}

/// Handles tensors that were frozen during the compression stage.
void TwoStage::freeze_more(StepReport& report) {
  raise_variance(report);
  masked_->follow(core_.variance(), frozen_parts());
  tensors_->tell(updates_, report);
}

std::vector<Range> TwoStage::frozen_parts() const {
  return tensors_ ? tensors_->frozen() : std::vector{Range{0, core_.parameters()}};
}

void TwoStage::renew_exchange() {
  const std::unique_ptr<compress::CompressedMean> last = std::move(exchange_);
  dense_tensors_ = tensors_->moving_after(updates_);
  make_exchange();
  exchange_->adopt_errors(*last);
}

/// Applies the floor to the variance that the last update froze, and reports how many coordinates it raised.
void TwoStage::raise_variance(StepReport& report) {
  const Index raised = raise_variance();
  if (parse_variance_floor(config_.variance_floor).value == 0) return;
  report.events.push_back({"floor", std::to_string(raised) + " coordinates of the frozen variance were raised to " +
                                        "optimizer.variance-floor " + config_.variance_floor});
}

/// Applies the floor to the variance that the last update froze. Returns the number of raised coordinates.
Index TwoStage::raise_variance() {
  const double weight = core_.bias().weight(variance_updates_);
  const VarianceFloor floor = parse_variance_floor(config_.variance_floor);
  const std::vector<char> left_out = tensors_ ? tensors_->all_but_frozen_by(updates_) : std::vector<char>();
  const RaisedVariance raised = raise(floor, problem_.tensors, weight, core_.variance(), left_out);
  std::vector<float> roots;
  for (const double least : raised.least) roots.push_back(static_cast<float>(std::sqrt(least)));
  least_roots_.upload(roots);
  return raised.raised;
}

/// Creates the objects of the compression stage, given the frozen variance. A checkpoint contains the state of the last
/// update's exchange, so the tensors that were dense in that update are dense here.
void TwoStage::begin_compression() {
  if (tensors_) dense_tensors_ = tensors_->moving_after(std::max(frozen_updates_, updates_ - 1));
  if (!quirks_.masks_nothing) masked_.emplace(problem_.shard, core_.variance(), frozen_parts());
  if (config_.shadow) shadow_.emplace(problem_, config_, core_.variance());
  make_exchange();
}

void TwoStage::finish_compression(device::Buffer<float>& parameters, StepReport& report) {
  ++updates_;
  if (exchanges()) receive(report);
  report.seconds.encode = encode_seconds_;
  clipping_.report(report);
  device::Future<double> norms;
  if (moves()) norms = tensors_->follow(core_, updates_);
  frozen_update(parameters, report);
  if (masked_) masked_->report(report);
  if (shadow_) shadow_->update(core_.numbers(updates_, updates_, lr()));
  if (moves() && tensors_->freeze_stable(updates_, norms)) freeze_more(report);
}

void TwoStage::finish_refresh(device::Buffer<float>& parameters, StepReport& report) {
  ++updates_;
  ++variance_updates_;
  core_.average_dense(core_.mean(), report);
  AdamStep step = core_.clipped_step(updates_, lr(), report);
  step.root_correction = frozen_step().root_correction;
  refreshing_update(step, parameters, report);
  report.stability = {};  // refreshes are not in consecutive steps
  raise_variance();
  if (masked_) masked_->follow(core_.variance(), frozen_parts());
  if (shadow_) shadow_->update(core_.numbers(updates_, updates_, lr()));
}

}  // namespace onebit::optim
