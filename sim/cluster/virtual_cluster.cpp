#include "sim/cluster/virtual_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/base/error.hpp"
#include "device/base/system.hpp"
#include "device/launch/stopwatch.hpp"
#include "sim/run/run_header.hpp"
#include "sim/run/step_rows.hpp"
#include "sim/run/weights_file.hpp"

namespace onebit::sim {
namespace {

DataConfig data_config(const RunConfig& config) {
  DataConfig data = config.data;
  data.seed = config.seed;
  data.workers = config.workers;
  data.context = config.model.context;
  data.target = model_entry(config.model.name).target;
  return data;
}

optim::ScheduleConfig schedule_config(const RunConfig& config, Index steps) {
  optim::ScheduleConfig schedule = config.schedule;
  schedule.total_steps = steps;
  return schedule;
}

optim::OptimizerConfig optimizer_config(const RunConfig& config) {
  optim::OptimizerConfig optimizer = config.optimizer;
  optimizer.exchange.seed = config.seed;
  optimizer.exchange.audit_every = config.probe.every;
  optimizer.shadow = config.probe.every > 0;
  return optimizer;
}

optim::Problem problem_of(const RunConfig& config, const device::Shard& shard, const Model& model, Index steps) {
  return {.shard = shard, .tensors = model.tensors(), .total_steps = steps, .lr_warmup = config.schedule.warmup};
}

/// Names what became non-finite first in an update: the compressed vector of a worker or, failing that, a tensor.
std::string bad_in(const Replica& replica) {
  const compress::CompressedMean* exchange = replica.optimizer->state().exchange;
  const std::string worker = exchange != nullptr ? exchange->first_bad() : "";
  return worker.empty() ? replica.first_bad_tensor(true) : worker + " became non-finite first";
}

}  // namespace

RunResources make_resources(const RunConfig& config) {
  DataCache data;
  return make_resources(config, data);
}

RunResources make_resources(const RunConfig& config, DataCache& data) {
  const RunConfig complete = completed(config);
  const std::shared_ptr<device::ProcessGroup>& processes = device::processes();
  const int threads = complete.threads == 0 ? processes->threads() : complete.threads;
  std::vector<device::Device> devices = device::parse_devices(complete.device, threads);
  for (device::Device& device : devices) device = device.with_recordings(complete.graphs);
  return {data.get(data_config(complete)), std::move(devices), processes};
}

RunConfig with_evaluations(RunConfig config, const DataSource& data) {
  const Index steps = total_steps(config, data.train_size());
  config.eval = planned_evaluations(config, steps, data.size(config.eval.split));
  return config;
}

VirtualCluster::VirtualCluster(const RunConfig& config, const RunResources& resources)
    : config_(with_evaluations(completed(config), *resources.data)),
      group_(resources.devices, config.workers, resources.processes),
      data_(resources.data),
      steps_(total_steps(config, data_->train_size())),
      schedule_(schedule_config(config, steps_)) {
  for (Index device = 0; device < group_.size(); ++device) {
    replicas_.push_back(make_replica(group_.shard(device), resources.keeps_examples));
  }
  for (const Replica& replica : replicas_) {
    if (config_.probe.every == 0) break;
    probes_.emplace_back(config_, replica, data_, group_size(replica.shard, replica.model->parameters()));
  }
  const std::string& file = config_.model.init;
  if (!file.empty()) check_weights(file, model().all_tensors());
  if (resources.devices.front().plans()) return;
  const std::vector<float> weights = file.empty()
                                         ? model().initial_weights(config_.seed)
                                         : read_weights(file, model().all_tensors(), {0, model().parameters()});
  for (Replica& replica : replicas_) {
    for (Index at = 0; at < replica.weights.size(); at += model().parameters()) replica.weights.upload(weights, at);
  }
  if (!file.empty()) read_owned(file);
}

Replica VirtualCluster::make_replica(const device::Shard& shard, bool keeps_examples) const {
  std::unique_ptr<Model> model = make_model(shard.device, config_.model, *data_);
  auto optimizer = make_optimizer(problem_of(config_, shard, *model, steps_), optimizer_config(config_));
  const Index parameters = model->parameters();
  const Index rows = optimizer->local_weights() ? shard.own().count : 1;
  const Index group = group_size(shard, parameters), gradients = group * parameters;
  const Index extra = optimizer->wants_extra_gradients() ? gradients : 0;
  std::optional<ExampleTable> examples;
  if (keeps_examples && shard.device.is_gpu() && !model->reads_host_features()) {
    examples = ExampleTable::of(shard.device, *data_);
  }
  std::optional<BoundaryProbe> boundary;
  if (crosses_boundary() && config_.log.workers_every > 0) boundary.emplace(shard, parameters, group);
  return {.shard = shard,
          .model = std::move(model),
          .optimizer = std::move(optimizer),
          .weights = device::Buffer<float>(shard.device, rows * parameters),
          .gradients = device::Buffer<float>(shard.device, gradients),
          .extra_gradients = device::Buffer<float>(shard.device, extra),
          .examples = std::move(examples),
          .boundary_probe = std::move(boundary)};
}

/// Returns the number of workers of a device whose gradients are held at the same time. If the configuration leaves the
/// number open, a GPU takes all workers. A CPU takes groups of similar size, small enough that their gradients stay in
/// the caches from the backward pass to the encoding, but with enough rows for efficient matrix products.
Index VirtualCluster::group_size(const device::Shard& shard, Index parameters) const {
  constexpr Index cache = Index{8} << 20, examples = 128;
  const Index own = shard.own().count;
  if (config_.worker_group > 0) return std::min(own, config_.worker_group);
  if (shard.device.is_gpu()) return own;
  const Index cached = cache / (parameters * Index{sizeof(float)});
  const Index size = std::max({cached, ceil_div(examples, config_.batch), Index{shard.device.threads()}});
  return ceil_div(own, ceil_div(own, size));
}

Index VirtualCluster::variance_lag() const {
  return variance_lag_of(config_.optimizer);
}

std::string VirtualCluster::devices() const {
  Index threads = 0;
  for (const Replica& replica : replicas_) threads += replica.shard.device.threads();
  const std::string text = device::devices_text(config_.device, threads);
  const Index ranks = group_.processes().size();
  return ranks == 1 ? text : std::to_string(ranks) + " ranks of " + text + " each";
}

Index VirtualCluster::broadcast(Index own) {
  const auto number = static_cast<double>(own);
  on_each_device([&](const Replica& replica) {
    const std::vector<double> all = replica.shard.communicator->all_gather({&number, 1});
    if (&replica == &replicas_.front()) own = static_cast<Index>(all.front());
  });
  return own;
}

std::vector<RankShare> VirtualCluster::shares() {
  std::vector<RankShare> shares;
  on_each_device([&](const Replica& replica) {
    const double own = static_cast<double>(replica.shard.communicator->bytes_received());
    const std::vector<double> bytes = replica.shard.communicator->all_gather({&own, 1});
    if (&replica != &replicas_.front()) return;
    for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
      shares.push_back({replica.shard.ranges[rank], static_cast<Index>(bytes[rank])});
    }
  });
  return shares;
}

void VirtualCluster::on_each_device(const std::function<void(Replica&)>& work) {
  group_.run([&](Index device) { work(replicas_[static_cast<std::size_t>(device)]); });
}

std::string VirtualCluster::first_bad_tensor() const {
  for (const Replica& replica : replicas_) {
    const std::string bad = replica.bad_tensor(step_ > 0);
    if (!bad.empty()) return bad;
  }
  return replicas_.front().first_bad_tensor(step_ > 0);
}

void VirtualCluster::visit_state(const std::function<void(const device::Shard&, const Visit&)>& each) {
  for (std::size_t device = 0; device < replicas_.size(); ++device) {
    each(replicas_[device].shard, [&](device::StateVisitor& visitor) {
      visitor.number("step", step_);
      replicas_[device].visit_state(visitor);
      if (!probes_.empty()) visitor.group("probe", [&] { probes_[device].visit_state(visitor); });
    });
  }
}

StepOutcome VirtualCluster::advance() {
  ++step_;
  std::vector<StepOutcome> outcomes(replicas_.size());
  group_.run([&](Index device) {
    const auto at = static_cast<std::size_t>(device);
    advance_probed(at, outcomes[at]);
  });
  StepOutcome outcome = std::move(outcomes.front());  // what workers share is the same on every device
  const double sum = std::accumulate(outcome.worker_losses.begin(), outcome.worker_losses.end(), 0.0);
  outcome.loss = sum / static_cast<double>(config_.workers);
  return outcome;
}

/// Runs the step, between the two halves of a probe if one is due.
void VirtualCluster::advance_probed(std::size_t device, StepOutcome& outcome) {
  Replica& replica = replicas_[device];
  const bool probed = !probes_.empty() && probes_[device].due(step_);
  if (probed) probes_[device].before(replica, step_);
  advance(replica, outcome);
  if (probed) outcome.probe = probes_[device].after(replica, step_);
}

void VirtualCluster::advance(Replica& replica, StepOutcome& outcome) const {
  outcome.step = step_;
  outcome.samples = step_ * config_.workers * config_.batch * config_.accumulation;
  outcome.lr = config_.optimizer.lr * schedule_.factor(step_);
  replica.optimizer->begin(step_, outcome.lr);
  const Range own = replica.shard.own();
  const Index group = group_size(replica.shard, replica.model->parameters());
  for (Index first = own.first; first < own.end(); first += group) {
    run_group(replica, {first, std::min(group, own.end() - first)}, outcome);
  }
  outcome.worker_losses = replica.shard.communicator->all_gather(outcome.worker_losses);
  if (measures_boundary(replica)) outcome.boundary.emplace();
  outcome.report = replica.optimizer->finish(replica.weights);
  replica.optimizer->require_finite();
  if (outcome.report.phase != optim::Phase::dry_run && !std::isfinite(double{outcome.report.update_norm})) {
    throw NumericError("the update is not finite: " + bad_in(replica), "step " + std::to_string(step_),
                       "lower the learning rate or clip gradients");
  }
  device::Stopwatch watch(replica.shard.device);
  BoundarySums* measured = outcome.boundary ? &*outcome.boundary : nullptr;
  replica.model->end_step({replica.shard, outcome.lr, schedule_.factor(step_), outcome.report.traffic, measured});
  outcome.seconds.owned = watch.lap();
  if (measured != nullptr) replica.boundary_probe->add(measured->gradients);
}

/// Whether the step measures what crosses between workers.
bool VirtualCluster::measures_boundary(const Replica& replica) const {
  const bool probed = !probes_.empty() && probes_.front().due(step_);
  return replica.boundary_probe.has_value() && rows_due(config_.log, step_, probed, steps_).workers;
}

/// Samples each part in turn, runs its forward and backward pass, and passes the summed gradients to the optimizer.
/// While a GPU works on what was launched, the host draws the next batch and only then reads the losses, unless the
/// optimizer waits in between.
void VirtualCluster::run_group(Replica& replica, Range group, StepOutcome& outcome) const {
  const Index parameters = replica.model->parameters();
  const optim::Optimizer::Point extra = replica.optimizer->extra_point();
  const bool measured = measures_boundary(replica);
  std::vector<GradientPass> passes;
  for (BatchPlace place{step_, group, 0}; place.part < config_.accumulation; ++place.part) {
    if (place.part > 0) draw_next(replica, place, outcome.seconds);
    device::Stopwatch watch(replica.shard.device);
    take_batch(replica, place);
    outcome.seconds.sample += watch.lap();
    const Weights own = replica.weights_from(group.first);
    if (measured) replica.batch.boundaries = AtBoundaries::measured;
    passes.push_back(run_part(replica, own, replica.gradients, place, outcome.seconds));
    if (measured) replica.boundary_probe->pass(*replica.model, own, replica.batch, rows_of(replica.gradients, place));
    if (extra.data == nullptr) continue;
    replica.batch.freeze_running_stats = true;
    const Weights weights{extra.data + (group.first - replica.shard.own().first) * extra.stride, extra.stride};
    run_part(replica, weights, replica.extra_gradients, place, outcome.seconds);
  }
  if (extra.data != nullptr) replica.optimizer->absorb_extra(group, replica.extra_gradients.data(), parameters);
  if (measured) replica.boundary_probe->absorb(group, replica.gradients.data());
  replica.optimizer->absorb(group, replica.gradients.data(), parameters);
  draw_next(replica, following({step_, group, 0}, replica), outcome.seconds);
  const std::vector<double> losses = take_losses(replica, group, passes);
  outcome.worker_losses.insert(outcome.worker_losses.end(), losses.begin(), losses.end());
}

/// Draws examples into the replica's batch, if they have not been drawn already.
void VirtualCluster::take_batch(Replica& replica, const BatchPlace& place) const {
  if (replica.next_place == place) {
    std::swap(replica.batch, replica.next);
    replica.next_place = {};
  } else {
    replica.draw(*data_, place.step, place.group, config_.batch, place.part * config_.batch, replica.batch);
  }
  replica.place_batch();
}

/// Returns the place of the first part of the next group or step.
BatchPlace VirtualCluster::following(const BatchPlace& place, const Replica& replica) const {
  const Range own = replica.shard.own();
  const bool last = place.group.end() == own.end();
  const Index group = group_size(replica.shard, replica.model->parameters());
  const Index first = last ? own.first : place.group.end();
  return {place.step + (last ? 1 : 0), {first, std::min(group, own.end() - first)}, 0};
}

/// Draws the next batch while the GPU is busy. Does nothing on a CPU.
void VirtualCluster::draw_next(Replica& replica, const BatchPlace& next, ComputeSeconds& seconds) const {
  const device::Device& device = replica.shard.device;
  if (!device.is_gpu() || device.plans() || replica.next_place == next || next.step > steps_) return;
  device::Stopwatch idle(device);  // counts from the end of the GPU's work to the end of drawing, if that is later
  replica.next_place = {};
  replica.draw(*data_, next.step, next.group, config_.batch, next.part * config_.batch, replica.next);
  replica.next_place = next;
  seconds.sample += idle.lap();
}

/// Rows for the gradients of one of config.accumulation parts.
GradientRows VirtualCluster::rows_of(device::Buffer<float>& gradients, const BatchPlace& place) const {
  const float share = 1.0f / static_cast<float>(config_.accumulation);
  return {gradients.data(), model().parameters(), place.part > 0, share};
}

/// Computes the gradients of the replica's batch, which is one of config.accumulation parts, and adds them to those of
/// the earlier parts.
GradientPass VirtualCluster::run_part(Replica& replica, const Weights& weights, device::Buffer<float>& gradients,
                                      const BatchPlace& place, ComputeSeconds& seconds) const {
  GradientPass pass = replica.model->gradients(weights, replica.batch, rows_of(gradients, place));
  seconds.forward += pass.forward;
  seconds.backward += pass.backward;
  return pass;
}

/// Returns the mean loss of every worker over the parts. Throws NumericError if one is not finite.
std::vector<double> VirtualCluster::take_losses(const Replica& replica, Range group,
                                                const std::vector<GradientPass>& passes) const {
  std::vector<double> losses(static_cast<std::size_t>(group.count));
  const double share = 1.0 / static_cast<double>(passes.size());
  for (const GradientPass& pass : passes) {
    const std::vector<double> part = pass.losses();
    for (std::size_t g = 0; g < losses.size(); ++g) losses[g] += share * part[g];
  }
  for (std::size_t g = 0; g < losses.size(); ++g) {
    if (std::isfinite(losses[g])) continue;
    throw NumericError(
        "loss is not finite: " + replica.first_bad_tensor(true),
        "step " + std::to_string(step_) + ", worker " + std::to_string(group.first + static_cast<Index>(g)),
        "lower the learning rate or clip gradients");
  }
  return losses;
}

}  // namespace onebit::sim
