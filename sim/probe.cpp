#include "sim/probe.hpp"

#include <cmath>

#include "device/launch.hpp"
#include "optim/kernels.hpp"
#include "sim/probe_kernels.hpp"

namespace onebit::sim {
namespace {

template <class Kernel>
std::vector<double> sums(const device::Device& device, Index rows, const device::Chunks& chunks, const Kernel& kernel) {
  device::Buffer<double> result(device, rows * chunks.segments());
  reduce(device, rows, chunks, kernel, result.data());
  return result.to_host();
}

double l2(const device::Device& device, const device::Buffer<float>* values) {
  if (values == nullptr) return not_applicable;
  return std::sqrt(sums(device, 1, device::Chunks(values->size()), optim::SquareTerm{values->data(), 0})[0]);
}

double l1(const device::Device& device, const device::Buffer<float>* values) {
  if (values == nullptr) return not_applicable;
  return sums(device, 1, device::Chunks(values->size()), optim::AbsoluteTerm{values->data()})[0];
}

double positive_share(const device::Device& device, const device::Buffer<float>& values) {
  const double count = sums(device, 1, device::Chunks(values.size()), PositiveTerm{values.data()})[0];
  return count / static_cast<double>(values.size());
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

/// Of all servers. Collective.
double server_error_norm(const optim::StateView& state) {
  if (state.exchange == nullptr) return not_applicable;
  return state.exchanged ? state.exchange->server_error_norm() : 0.0;
}

/// The columns that are the same on every device.
void measure_shared(const Replica& replica, const StepOutcome& outcome, StepRow& row) {
  const device::Device& device = replica.shard.device;
  const optim::StateView state = replica.optimizer->state();
  row.param_norm = l2(device, &replica.weights);
  row.momentum_norm = l2(device, state.momentum);
  row.variance_l1 = l1(device, state.variance);
  row.variance_l2 = l2(device, state.variance);
  if (outcome.report.phase == optim::Phase::compression) row.sign_density = positive_share(device, *state.momentum);
}

}  // namespace

StepRow measure_step(VirtualCluster& cluster, const StepOutcome& outcome) {
  const optim::StepReport& report = outcome.report;
  StepRow row;
  row.step = outcome.step;
  row.samples = outcome.samples;
  row.lr = outcome.lr;
  row.loss = outcome.loss;
  row.grad_norm = report.grad_norm;
  row.clip_share = report.clip_share;
  row.update_norm = report.update_norm;
  row.variance_ratio = report.variance_ratio;
  row.masked = report.masked;
  row.phase = static_cast<Index>(report.phase);
  add_traffic(report.traffic, row);
  cluster.on_each_device([&](Replica& replica) {
    const double norm = server_error_norm(replica.optimizer->state());
    if (replica.shard.rank() > 0) return;
    row.server_error_norm = norm;
    measure_shared(replica, outcome, row);
  });
  return row;
}

void measure_errors(VirtualCluster& cluster, const WorkerRow& workers, StepRow& row) {
  double squares = 0;
  for (double norm : workers.error_norm) squares += norm * norm;
  row.worker_error_norm = std::sqrt(squares / static_cast<double>(workers.error_norm.size()));
  cluster.on_each_device([&](Replica& replica) {
    const optim::StateView state = replica.optimizer->state();
    if (!state.exchanged) return;
    const double worker_error = state.exchange->worker_codec_error();
    const double server_error = state.exchange->server_codec_error();
    if (replica.shard.rank() > 0) return;
    row.worker_codec_error = worker_error;
    row.server_codec_error = server_error;
  });
}

WorkerRow measure_workers(VirtualCluster& cluster, const StepOutcome& outcome) {
  WorkerRow row{.step = outcome.step, .loss = outcome.worker_losses, .error_norm = {}};
  row.error_norm.assign(row.loss.size(), not_applicable);
  cluster.on_each_device([&](Replica& replica) {
    const optim::StateView state = replica.optimizer->state();
    if (state.exchange == nullptr) return;
    const Index stride = state.exchange->error_stride();
    const Range own = replica.shard.own();
    const std::vector<double> squares = sums(replica.shard.device, own.count, device::Chunks(stride),
                                             optim::SquareTerm{state.exchange->worker_errors().data(), stride});
    for (std::size_t w = 0; w < squares.size(); ++w) {
      row.error_norm[static_cast<std::size_t>(own.first) + w] = std::sqrt(squares[w]);
    }
  });
  return row;
}

TensorRow measure_tensors(const VirtualCluster& cluster, Index step) {
  const Replica& replica = cluster.replicas().front();
  const device::Device& device = replica.shard.device;
  const optim::StateView state = replica.optimizer->state();
  std::vector<Index> sizes, offsets;
  for (const TensorInfo& tensor : replica.model->tensors()) {
    sizes.push_back(tensor.size);
    offsets.push_back(tensor.offset);
  }
  const device::Chunks chunks(device, sizes);
  const auto table = device::Buffer<Index>::copy_of(device, offsets);
  TensorRow row{.step = step, .momentum_l2 = {}, .variance_l1 = {}};
  row.momentum_l2.assign(sizes.size(), not_applicable);
  row.variance_l1 = row.momentum_l2;
  if (state.momentum != nullptr) {
    using Term = TensorTerm<optim::SquareTerm>;
    row.momentum_l2 = sums(device, 1, chunks, Term{table.data(), {state.momentum->data(), 0}});
    for (double& norm : row.momentum_l2) norm = std::sqrt(norm);
  }
  if (state.variance != nullptr) {
    using Term = TensorTerm<optim::AbsoluteTerm>;
    row.variance_l1 = sums(device, 1, chunks, Term{table.data(), {state.variance->data()}});
  }
  return row;
}

}  // namespace onebit::sim
