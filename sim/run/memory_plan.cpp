#include "sim/run/memory_plan.hpp"

#include <algorithm>
#include <new>
#include <numeric>

#include "device/base/error.hpp"
#include "device/base/system.hpp"
#include "device/base/text.hpp"
#include "device/plan/memory.hpp"
#include "sim/probe/probe.hpp"

namespace onebit::sim {
namespace {

using Rows = std::vector<MemoryPlan::Row>;

constexpr Index kSteps = 6;

/// Bytes that an open log takes in the program and in HDF5, whatever it contains. HDF5's code takes half of them.
/// Measured with HDF5 1.10.
constexpr Index kLog = 6'500'000;

Index total_of(const Rows& rows) {
  return std::accumulate(rows.begin(), rows.end(), Index{0},
                         [](Index sum, const auto& row) { return sum + row.bytes; });
}

/// Returns a short run that reaches every stage of the optimizer that the run will reach.
RunConfig first_steps(const RunConfig& config, Index steps) {
  RunConfig run = with_short_stages(config, kSteps);
  optim::ZeroOneConfig& zeroone = run.optimizer.zeroone;
  zeroone.var_update_scaler = 1;
  zeroone.var_freeze_step = zeroone.var_freeze_step < steps ? std::min<Index>(zeroone.var_freeze_step, 3) : kSteps;
  run.optimizer.local.period = 2;
  run.probe.every = std::min<Index>(run.probe.every, 1);
  run.probe.curvature = std::min<Index>(run.probe.curvature, 2);
  return run;
}

/// Does, at least once, everything that a run does, so that all its allocations are counted.
void take_steps(VirtualCluster& cluster, const RunConfig& config) {
  const LogConfig& log = config.log;
  const bool evaluates = cluster.data().size(config.eval.split) > 0;
  const auto evaluate = [&] {
    if (evaluates) cluster.evaluate();
    if (evaluates && cluster.crosses_boundary()) cluster.evaluate(true);
  };
  evaluate();
  while (cluster.step() < cluster.steps()) {
    const StepOutcome outcome = cluster.advance();
    WorkerRow workers;
    if (log.workers_every > 0) workers = measure_workers(cluster, outcome);
    StepRow row = measure_step(cluster, outcome);
    if (log.workers_every > 0) measure_errors(cluster, workers, row);
    if (log.tensors_every > 0) measure_tensors(cluster, outcome.step);
    evaluate();
  }
}

template <class T>
Index bytes_of(const device::Buffer<T>* buffer) {
  return buffer == nullptr ? 0 : buffer->size() * static_cast<Index>(sizeof(T));
}

/// Releases a part and returns how much it held.
template <class Part>
Index take_apart(const device::Memory& memory, Part& part) {
  const Index before = memory.use().used;
  part = Part();
  return before - memory.use().used;
}

/// Counts the bytes of a state in device memory.
class StateBytes final : public device::StateVisitor {
 public:
  using StateVisitor::StateVisitor;
  Index bytes() const { return bytes_; }
  bool loads() const override { return false; }

 protected:
  void device(const std::string&, const device::Elements& elements, std::span<const device::Piece> pieces, Index,
              Held) override {
    for (const device::Piece& piece : pieces) bytes_ += piece.count * device::bytes_of(elements.type);
  }
  void host(const std::string&, std::vector<double>&) override {}
  void host(const std::string&, std::vector<Index>&) override {}

 private:
  Index bytes_ = 0;
};

Index state_bytes(const device::Shard& shard, Model& model) {
  StateBytes state(shard);
  model.visit_state(state);
  return state.bytes();
}

/// Returns the memory of a device by purpose; what was held beyond the parts at the peak counts as temporary. renews:
/// whether tensors freeze one by one, so that for a moment an exchange exists next to its successor.
Rows device_rows(Replica& replica, bool renews) {
  const device::Memory& memory = replica.shard.device.memory();
  const optim::StateView state = replica.optimizer->state();
  const Index moments = bytes_of(state.momentum) + bytes_of(state.variance);
  const Index worker_errors = state.exchange == nullptr ? 0 : state.exchange->worker_errors().bytes();
  const Index server_errors = state.exchange == nullptr ? 0 : bytes_of(&state.exchange->server_error());
  const Index layers = state_bytes(replica.shard, *replica.model);
  Rows rows = {{"weights", take_apart(memory, replica.weights)},
               {"gradients", take_apart(memory, replica.gradients) + take_apart(memory, replica.extra_gradients) +
                                 take_apart(memory, replica.boundary_probe)},
               {"activations", take_apart(memory, replica.model) - layers},
               {"tables and statistics", layers},
               {"examples", take_apart(memory, replica.examples)},
               {"moments", moments},
               {"worker errors", worker_errors},
               {"server errors", server_errors}};
  const Index optimizer = take_apart(memory, replica.optimizer);
  const Index payloads = std::max<Index>(0, optimizer - moments - worker_errors - server_errors);
  rows.push_back({"sums and payloads", payloads});
  rows.push_back({"temporary", std::max<Index>(0, memory.use().peak - total_of(rows))});
  if (renews) rows.push_back({"second exchange", worker_errors + server_errors + payloads});
  return rows;
}

/// Returns the bytes on the host: the batch, which stays, and the largest other copy, which is temporary.
Index host_bytes(const Replica& replica) {
  const Batch& batch = replica.batch;
  const auto bytes = [](const auto& values) { return static_cast<Index>(values.capacity() * sizeof(values[0])); };
  const Index kept = bytes(batch.features) + bytes(batch.examples) + bytes(batch.tokens) + bytes(batch.labels);
  const auto& memory = dynamic_cast<const device::plan::PlanMemory&>(replica.shard.device.memory());
  return kept + (memory.largest_transfer() > kept ? memory.largest_transfer() : 0);
}

/// Returns resources whose devices only count allocations. They stand for the devices of all processes, because every
/// process plans for all of them.
RunResources planned(const RunResources& resources) {
  RunResources plan{.data = resources.data, .devices = {}, .keeps_examples = resources.keeps_examples};
  for (const device::Device& device : resources.devices) plan.devices.push_back(device.plan());
  while (std::ssize(plan.devices) < resources.processes->size())
    plan.devices.push_back(resources.devices.front().plan());
  return plan;
}

/// Returns the sum of what the devices hold or, if they are separate, what the fullest device holds.
Rows joined(const std::vector<Rows>& devices, bool separate) {
  if (separate) {
    return *std::max_element(devices.begin(), devices.end(),
                             [](const Rows& a, const Rows& b) { return total_of(a) < total_of(b); });
  }
  Rows sum = devices.front();
  for (std::size_t d = 1; d < devices.size(); ++d) {
    for (std::size_t r = 0; r < sum.size(); ++r) sum[r].bytes += devices[d][r].bytes;
  }
  return sum;
}

/// Returns the memory that every run with this model needs.
Rows least_rows(const RunConfig& config, const RunResources& resources) {
  const Index row = make_model(resources.devices.front(), completed(config).model, *resources.data)->parameters() *
                    Index{sizeof(float)};
  return {{"weights", row}, {"gradients", row}};
}

/// Plans one run with several sizes of the worker group.
class Planner {
 public:
  Planner(const RunConfig& config, const RunResources& resources)
      : renews_(config.optimizer.freeze.by_tensor()),
        config_(
            first_steps(with_evaluations(config, *resources.data), total_steps(config, resources.data->train_size()))),
        resources_(planned(resources)),
        processes_(resources.processes),
        on_host_(!resources.devices.front().is_gpu()),
        separate_(!on_host_ || processes_->size() > 1),
        limit_(memory_limit(config, resources)),
        own_(device::resident_memory().own) {
    MemoryPlan least{.rows = least_rows(config, resources_), .limit = limit_};
    agree(least);
    if (!least.fits()) refuse(least);
    VirtualCluster(config, resources_);  // throws errors that no amount of memory would avoid
  }

  /// Plans the run with this worker group. Takes no steps if even the starting state does not fit.
  MemoryPlan at(Index group) const {
    RunConfig config = config_;
    config.worker_group = group;
    const RunResources resources = planned(resources_);
    VirtualCluster cluster(config, resources);
    MemoryPlan plan{.rows = {}, .limit = limit_, .keeps_examples = resources_.keeps_examples};
    plan.worker_group = cluster.replicas().front().gradients.size() / cluster.model().parameters();
    Index host = on_host_ ? batch_bytes(cluster, config) : 0;
    if (held(resources) <= limit_ - host) take_steps(cluster, config);
    Index taken = 0;
    for (const Replica& replica : cluster.replicas()) add(host_bytes(replica), taken);
    host = std::max(host, taken);
    std::vector<Rows> devices(resources.devices.size());
    cluster.on_each_device([&](Replica& replica) {
      devices[static_cast<std::size_t>(replica.shard.rank())] = device_rows(replica, renews_);
    });
    plan.rows = joined(devices, separate_);
    if (on_host_) {
      plan.rows.push_back({"copies on the host", host});
      plan.rows.push_back({"log", kLog});
      plan.rows.push_back({"data and program", own_ + device::resident_memory().files});
    }
    agree(plan);
    return plan;
  }

  /// Plans without examples on the devices from now on. Returns whether `plan` has any.
  bool leave_examples(const MemoryPlan& plan) {
    resources_.keeps_examples = false;
    return std::ranges::find(plan.rows, "examples", &MemoryPlan::Row::name)->bytes > 0;
  }

  /// Makes the plans of all processes agree: takes the largest need and the smallest limit of any of them.
  /// Collective.
  void agree(MemoryPlan& plan) const {
    std::vector<double> own = {static_cast<double>(plan.worker_group), -static_cast<double>(plan.limit)};
    for (const auto& row : plan.rows) own.push_back(static_cast<double>(row.bytes));
    std::vector<double> most = own;
    const std::vector<double> all = processes_->communicator()->all_gather(own);
    for (std::size_t i = 0; i < all.size(); ++i) most[i % own.size()] = std::max(most[i % own.size()], all[i]);
    plan.worker_group = static_cast<Index>(most[0]);
    plan.limit = static_cast<Index>(-most[1]);
    for (std::size_t row = 0; row < plan.rows.size(); ++row) plan.rows[row].bytes = static_cast<Index>(most[2 + row]);
  }

  /// Adds a device's share to a sum or, if devices are separate, takes the maximum.
  void add(Index bytes, Index& sum) const { sum = separate_ ? std::max(sum, bytes) : sum + bytes; }

  /// Returns the bytes that the devices' batches take on the host, without drawing any.
  Index batch_bytes(const VirtualCluster& cluster, const RunConfig& config) const {
    const DataSource& data = cluster.data();
    Index workers = 0;
    for (const Replica& replica : cluster.replicas()) {
      add(replica.gradients.size() / cluster.model().parameters(), workers);
    }
    const Index example = data.feature_count() + data.context() + data.targets();
    return workers * config.batch * example * Index{sizeof(float)};
  }

  /// Returns the bytes that all devices hold or, if they are separate, those of the fullest device.
  Index held(const RunResources& resources) const {
    Index sum = 0;
    for (const device::Device& device : resources.devices) add(device.memory().use().held, sum);
    return sum;
  }

  [[noreturn]] void refuse(const MemoryPlan& plan) const {
    std::string hint = plan.worker_group > 1 ? "use a smaller --worker-group, fewer workers or a smaller batch"
                                             : "use fewer workers, a smaller batch or a smaller model";
    if (resources_.devices.front().records()) hint += "; on GPUs, --graphs false takes less memory";
    throw ConfigError("the run does not fit in memory", "it needs at least " + plan.text(), hint);
  }

 private:
  bool renews_;
  RunConfig config_;
  RunResources resources_;  ///< resources whose devices only count allocations
  std::shared_ptr<device::ProcessGroup> processes_;
  bool on_host_;   ///< whether the devices compute in host memory
  bool separate_;  ///< whether devices have their own memory or are processes; the plan is then for the fullest device
  Index limit_;
  Index own_;  ///< bytes of memory that the process has already written
};

}  // namespace

namespace {

/// Returns the memory that a device may take: the free memory, divided among the devices on the same GPU.
Index share_of_memory(const device::Device& device, const RunResources& resources) {
  const Index free = device.memory().available();
  if (!device.is_gpu()) return free;
  return free / std::count_if(resources.devices.begin(), resources.devices.end(),
                              [&](const device::Device& other) { return other.name() == device.name(); });
}

}  // namespace

Index memory_limit(const RunConfig& config, const RunResources& resources) {
  if (config.memory > 0) return config.memory;
  Index least = resources.devices.front().memory().available();
  for (const device::Device& device : resources.devices) least = std::min(least, share_of_memory(device, resources));
  least /= resources.processes->neighbours();
  if (!resources.devices.front().is_gpu()) least += device::resident_memory().total();
  return least - least / 10;  // the plan is accurate to within a tenth
}

Index MemoryPlan::total() const {
  return total_of(rows);
}

std::string MemoryPlan::text() const {
  const auto most =
      std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  const auto words = [](Index bytes) { return bytes_text(static_cast<double>(bytes)); };
  return words(total()) + ", " + words(most->bytes) + " of it for " + most->name + "; the limit is " + words(limit);
}

VirtualCluster PreparedRun::start() const {
  RunConfig fitting = config;
  fitting.worker_group = plan.worker_group;
  try {
    return VirtualCluster(fitting, resources);
  } catch (const std::bad_alloc&) {
    throw Error(out_of_memory(plan.text()));
  }
}

std::string out_of_memory(const std::string& plan) {
  return std::string("out of memory") + (plan.empty() ? "" : " (planned: " + plan + ")") +
         "; other programs may use memory: stop them, or give a smaller --worker-group or --memory";
}

MemoryPlan plan_memory(const RunConfig& config, const RunResources& resources) {
  Planner planner(config, resources);
  MemoryPlan plan = planner.at(config.worker_group);
  if (plan.fits()) return plan;
  Index too_large = plan.worker_group;
  const Index least = std::max<Index>(1, config.worker_group);
  if (config.worker_group == 0) plan = planner.at(least);
  if (!plan.fits() && planner.leave_examples(plan)) plan = planner.at(least);
  if (!plan.fits()) planner.refuse(plan);
  if (config.worker_group > 0) return plan;
  while (too_large - plan.worker_group > 1) {
    const Index group = (plan.worker_group + too_large) / 2;
    MemoryPlan candidate = planner.at(group);
    if (candidate.fits()) {
      plan = std::move(candidate);
    } else {
      too_large = group;
    }
  }
  return plan;
}

PreparedRun prepare(const RunConfig& config) {
  DataCache data;
  return prepare(config, data);
}

PreparedRun prepare(const RunConfig& config, DataCache& data) {
  PreparedRun run{config, make_resources(config, data), {}};
  run.config = with_evaluations(config, *run.resources.data);
  run.plan = plan_memory(run.config, run.resources);
  run.resources.keeps_examples = run.plan.keeps_examples;
  return run;
}

}  // namespace onebit::sim
