#include "sim/probe/probe.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "device/launch/sums.hpp"
#include "optim/adam/adam_kernels.hpp"
#include "optim/common/rows.hpp"
#include "sim/cluster/mean_rows.hpp"
#include "sim/probe/denominators.hpp"
#include "sim/probe/probe_kernels.hpp"

namespace onebit::sim {
namespace {

/// A vector, which may be null, and what to measure in it.
struct Measured {
  const device::Buffer<float>* vector;
  Measure measure;
};

using Wanted = std::array<Measured, MeasureTerm::most>;

/// Sums measures of several vectors over the parameters. If a vector has a row for each worker, only the first row
/// counts. All sums are computed in one pass, because starting a pass takes as long as reading a small vector. Null
/// vectors have no sum.
device::Future<double> measure(const MeasuredDevice& device, const Wanted& wanted) {
  MeasureTerm term{};
  Index count = 0;
  for (const Measured& one : wanted) {
    if (one.vector != nullptr) term.rows[count++] = {one.vector->data(), one.measure};
  }
  return sums(device.shard.device, count, device::Chunks(compress::total_size(device.tensors)), term);
}

/// Puts the sums in the places of their measures, and not_applicable in those of null vectors.
std::array<double, MeasureTerm::most> placed(const Wanted& wanted, const device::Future<double>& measured) {
  std::array<double, MeasureTerm::most> result;
  const double* sum = measured.begin();
  std::ranges::transform(wanted, result.begin(),
                         [&](const Measured& one) { return one.vector == nullptr ? not_applicable : *sum++; });
  return result;
}

void add_traffic(const netmodel::TrafficList& traffic, StepRow& row) {
  row.bytes_up = 0;
  row.bytes_down = 0;
  for (const netmodel::Traffic& exchange : traffic) {
    row.bytes_up += sent_bytes(exchange, netmodel::Direction::up).value;
    row.bytes_down += sent_bytes(exchange, netmodel::Direction::down).value;
    row.messages += exchange.messages;
  }
}

/// Returns the norm of the errors of all servers. Reading the result is collective.
device::Number server_error_norm(const optim::StateView& state) {
  if (state.exchange == nullptr) return not_applicable;
  return state.exchange->server_error_norm();
}

/// Returns the measures for the columns that are the same on every device. weights: the workers' mean if they have
/// their own weights.
Wanted shared_measures(const device::Buffer<float>& weights, const optim::StateView& state,
                       const StepOutcome& outcome) {
  const bool compressed = outcome.report.phase == optim::Phase::compression;
  return {{{&weights, Measure::square},
           {state.momentum, Measure::square},
           {compressed ? state.momentum : nullptr, Measure::positive},
           {state.variance, Measure::square},
           {state.variance, Measure::absolute}}};
}

void place_shared(const std::array<double, MeasureTerm::most>& measured, Index parameters, StepRow& row) {
  const auto [weight_squares, momentum_squares, positive, variance_squares, variance_sum] = measured;
  row.param_norm = std::sqrt(weight_squares);
  row.momentum_norm = std::sqrt(momentum_squares);
  row.sign_density = positive / static_cast<double>(parameters);
  row.variance_l2 = std::sqrt(variance_squares);
  row.variance_l1 = variance_sum;
}

/// Returns the root mean square distance of the workers from their mean. Reading the result is collective.
device::Number replica_distance(const MeasuredDevice& device, const device::Buffer<float>& mean) {
  const DistanceTerm term{device.weights.data(), mean.size(), mean.data()};
  const auto squares = sums(device.shard.device, device.shard.own().count, device::Chunks(mean.size()), term);
  return device::Number([shard = device.shard, squares] {
    return optim::root_mean_square(shard, {squares.begin(), squares.end()});
  });
}

/// Columns with a number for each tensor.
class TensorTable {
 public:
  TensorTable(const device::Device& device, const std::vector<compress::Tensor>& tensors)
      : device_(device),
        chunks_(device, compress::sizes_of(tensors)),
        ranges_(device::Buffer<Range>::copy_of(device, compress::ranges_of(tensors))) {}

  std::vector<double> l2(const device::Buffer<float>* values) const {
    if (values == nullptr) return all({});
    std::vector<double> norms = tensor_sums(optim::SquareTerm{values->data(), 0});
    for (double& norm : norms) norm = std::sqrt(norm);
    return norms;
  }

  std::vector<double> l1(const device::Buffer<float>* values) const {
    return values == nullptr ? all({}) : tensor_sums(optim::AbsoluteTerm{values->data()});
  }

  /// Returns what an optimizer has measured, or not_applicable for every tensor.
  std::vector<double> all(std::vector<double> numbers) const {
    if (numbers.empty()) numbers.assign(static_cast<std::size_t>(chunks_.segments()), not_applicable);
    return numbers;
  }

 private:
  template <class Term>
  std::vector<double> tensor_sums(const Term& term) const {
    return sums(device_, 1, chunks_, TensorTerm<Term>{ranges_.data(), term});
  }

  device::Device device_;
  device::Chunks chunks_;
  device::Buffer<Range> ranges_;
};

MeasuredDevice measured(const Replica& replica) {
  return {replica.shard, *replica.optimizer, replica.weights, replica.model->tensors()};
}

}  // namespace

MeasuredDevices::MeasuredDevices(VirtualCluster& cluster)
    : on_each_([&cluster](const Work& work) {
        cluster.on_each_device([&](const Replica& replica) { work(measured(replica)); });
      }) {}

StepRow measure_step(const MeasuredDevices& devices, const StepOutcome& outcome) {
  const optim::StepReport& report = outcome.report;
  StepRow row;
  row.step = outcome.step;
  row.samples = outcome.samples;
  row.lr = outcome.lr;
  row.loss = outcome.loss;
  row.grad_norm = report.grad_norm;
  row.clip_share = report.clip_share;
  row.update_norm = report.update_norm;
  row.variance_ratio = report.stability.raw;
  row.variance_ratio_corrected = report.stability.corrected;
  row.masked = report.masked;
  row.phase = static_cast<Index>(report.phase);
  if (outcome.boundary) {
    row.boundary_sent_share = outcome.boundary->sent_share;
    row.boundary_forward_kept = outcome.boundary->forward.kept();
    row.boundary_backward_kept = outcome.boundary->backward.kept();
    row.boundary_gradient_cosine = outcome.boundary->cosine();
  }
  add_traffic(report.traffic, row);
  devices.on_each([&](const MeasuredDevice& device) {
    const optim::StateView state = device.optimizer.state();
    const bool local = device.optimizer.local_weights();
    const Index parameters = compress::total_size(device.tensors);
    const device::Buffer<float> mean =
        local ? mean_of_rows(device.shard, device.weights, parameters) : device::Buffer<float>();
    const device::Number server_error = server_error_norm(state);
    const device::Number distance = local ? replica_distance(device, mean) : device::Number(not_applicable);
    const Wanted wanted =
        device.shard.rank() == 0 ? shared_measures(local ? mean : device.weights, state, outcome) : Wanted{};
    const device::Future<double> measured = measure(device, wanted);
    const std::array<double, 2> of_all = {server_error, distance};  // waits here, after all work has been launched
    if (device.shard.rank() > 0) return;
    row.server_error_norm = of_all[0];
    row.replica_distance = of_all[1];
    place_shared(placed(wanted, measured), parameters, row);
  });
  return row;
}

void measure_errors(const MeasuredDevices& devices, const WorkerRow& workers, StepRow& row) {
  double squares = 0;
  for (double norm : workers.error_norm) squares += norm * norm;
  row.worker_error_norm = std::sqrt(squares / static_cast<double>(workers.error_norm.size()));
  devices.on_each([&](const MeasuredDevice& device) {
    const optim::StateView state = device.optimizer.state();
    if (!state.exchanged) return;
    const compress::CodecMeasures workers_codec = state.exchange->worker_codec();
    const double server_error = state.exchange->server_codec_error();
    if (device.shard.rank() > 0) return;
    (state.exchange->decodes_sums() ? row.worker_mean_distance : row.worker_codec_error) = workers_codec.error;
    row.worker_sent_share = workers_codec.sent_share;
    row.server_codec_error = server_error;
  });
}

WorkerRow measure_workers(const MeasuredDevices& devices, const StepOutcome& outcome) {
  WorkerRow row{.step = outcome.step, .loss = outcome.worker_losses, .error_norm = {}};
  row.error_norm.assign(row.loss.size(), not_applicable);
  devices.on_each([&](const MeasuredDevice& device) {
    const optim::StateView state = device.optimizer.state();
    if (state.exchange == nullptr) return;
    const Index stride = state.exchange->error_stride();
    std::vector<double> norms;
    state.exchange->worker_errors().read([&](Range part, const float* errors) {
      const device::Chunks whole(stride);
      for (const double square : sums(device.shard.device, part.count, whole, optim::SquareTerm{errors, stride})) {
        norms.push_back(std::sqrt(square));
      }
    });
    norms = device.shard.communicator->all_gather(norms);
    if (device.shard.rank() == 0) row.error_norm = std::move(norms);
  });
  return row;
}

TensorRow measure_tensors(const VirtualCluster& cluster, Index step) {
  return measure_tensors(measured(cluster.replicas().front()), step, cluster.probed());
}

TensorRow measure_tensors(const MeasuredDevice& first, Index step, bool probed) {
  const optim::StateView state = first.optimizer.state();
  const TensorTable table(first.shard.device, first.tensors);
  const optim::TensorNumbers none;
  const optim::TensorNumbers& numbers = state.tensors == nullptr ? none : *state.tensors;
  const Denominators denominators = denominators_of(first.shard.device, state.denominator, first.tensors);
  return {.step = step,
          .momentum_l2 = table.l2(state.momentum),
          .variance_l1 = table.l1(state.variance),
          .variance_l2 = table.l2(state.variance),
          .trust_ratio = table.all(numbers.trust_ratio),
          .frozen_coefficient = table.all(numbers.frozen_coefficient),
          .coefficient_factor = table.all(numbers.coefficient_factor),
          .scaling_coefficient = table.all(numbers.scaling_coefficient),
          .least_denominator = table.all(denominators.least),
          .low_denominator = table.all(denominators.low),
          .median_denominator = table.all(denominators.median),
          .shadow_l1 = table.l1(probed ? state.shadow.variance : nullptr)};
}

}  // namespace onebit::sim
