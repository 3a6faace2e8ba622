#include "sim/probe.hpp"

#include <cmath>

#include "device/launch.hpp"
#include "optim/kernels.hpp"

namespace onebit::sim {
namespace {

/// A term over tensors: offsets turn a tensor's element into the vector's.
template <class Term>
struct TensorTerm {
  const Index* offsets;
  Term term;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index tensor, Index i) const {
    return term(row, 0, offsets[tensor] + i);
  }
};

template <class Kernel>
std::vector<double> sums(const device::Device& device, Index rows, const device::Chunks& chunks, const Kernel& kernel) {
  device::Buffer<double> result(device, rows * chunks.segments());
  device.run([&](const auto& queue) { reduce(queue, rows, chunks, kernel, result.data()); });
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

struct PositiveTerm {
  const float* values;
  ONEBIT_HOST_DEVICE double operator()(Index, Index, Index i) const { return values[i] > 0.0f ? 1.0 : 0.0; }
};

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

}  // namespace

StepRow measure_step(const VirtualCluster& cluster, const StepOutcome& outcome) {
  const device::Device& device = cluster.device();
  const optim::StateView state = cluster.optimizer().state();
  const optim::StepReport& report = outcome.report;
  StepRow row;
  row.step = outcome.step;
  row.samples = outcome.samples;
  row.lr = outcome.lr;
  row.loss = outcome.loss;
  row.param_norm = l2(device, &cluster.weights());
  row.grad_norm = report.grad_norm;
  row.clip_share = report.clip_share;
  row.update_norm = report.update_norm;
  row.momentum_norm = l2(device, state.momentum);
  row.variance_l1 = l1(device, state.variance);
  row.variance_l2 = l2(device, state.variance);
  row.variance_ratio = report.variance_ratio;
  row.server_error_norm = l2(device, state.server_error);
  if (report.phase == optim::Phase::compression) row.sign_density = positive_share(device, *state.momentum);
  row.masked = report.masked;
  row.phase = static_cast<Index>(report.phase);
  add_traffic(report.traffic, row);
  return row;
}

void measure_errors(const VirtualCluster& cluster, const WorkerRow& workers, StepRow& row) {
  const optim::StateView state = cluster.optimizer().state();
  double squares = 0;
  for (double norm : workers.error_norm) squares += norm * norm;
  row.worker_error_norm = std::sqrt(squares / static_cast<double>(workers.error_norm.size()));
  if (state.channel == nullptr) return;
  row.worker_codec_error = state.channel->worker_codec_error(*state.worker_errors);
  row.server_codec_error = state.channel->server_codec_error(*state.server_error);
}

WorkerRow measure_workers(const VirtualCluster& cluster, const StepOutcome& outcome) {
  const optim::StateView state = cluster.optimizer().state();
  WorkerRow row{.step = outcome.step, .loss = outcome.worker_losses, .error_norm = {}};
  row.error_norm.assign(row.loss.size(), not_applicable);
  if (state.worker_errors != nullptr) {
    row.error_norm = sums(cluster.device(), static_cast<Index>(row.loss.size()), device::Chunks(state.error_stride),
                          optim::SquareTerm{state.worker_errors->data(), state.error_stride});
    for (double& norm : row.error_norm) norm = std::sqrt(norm);
  }
  return row;
}

TensorRow measure_tensors(const VirtualCluster& cluster, Index step) {
  const device::Device& device = cluster.device();
  const optim::StateView state = cluster.optimizer().state();
  std::vector<Index> sizes, offsets;
  for (const TensorInfo& tensor : cluster.model().tensors()) {
    sizes.push_back(tensor.size);
    offsets.push_back(tensor.offset);
  }
  const device::Chunks chunks(sizes);
  device::Buffer<Index> table(device, static_cast<Index>(offsets.size()));
  table.upload(offsets);
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
