#include "sim/models/external.hpp"

#include <algorithm>
#include <functional>

#include "device/launch/stopwatch.hpp"
#include "sim/models/makers.hpp"

namespace onebit::sim {
namespace {

/// Number of rows of weights that a batch needs.
Index rows_of(const Weights& weights, const Batch& batch) {
  return weights.stride == 0 ? 1 : batch.workers;
}

}  // namespace

ExternalModel::ExternalModel(const device::Device& device, const ExternalSpec& spec)
    : device_(device),
      program_(device.plans() ? nullptr : take_program(spec)),
      layout_(program_ == nullptr ? external_layout(spec) : program_->layout()) {}

GradientPass ExternalModel::gradients(const Weights& weights, const Batch& batch, const GradientRows& rows) {
  std::vector<double> losses(static_cast<std::size_t>(batch.workers));
  if (device_.plans()) {
    count(weights, batch, true);
    return {.losses = [losses] { return losses; }};
  }
  device::Stopwatch watch(device_);
  load(weights, batch, true);
  program_->compute(batch);
  std::ranges::copy(program_->losses(), losses.begin());
  for (Index worker = 0; worker < batch.workers; ++worker) take_row(rows, worker);
  return {.losses = [losses] { return losses; }, .backward = watch.lap()};
}

Evaluation ExternalModel::evaluate(const Weights& weights, const Batch& batch) {
  if (device_.plans()) {
    count(weights, batch, false);
    return {.examples = batch.rows()};
  }
  load(weights, batch, false);
  return program_->evaluate(batch);
}

void ExternalModel::load(const Weights& weights, const Batch& batch, bool with_gradients) {
  const Index rows = rows_of(weights, batch);
  program_->load(batch, rows, with_gradients);
  const Index bytes = parameters() * Index{sizeof(float)};
  for (Index row = 0; row < rows; ++row) {
    float* target = program_->weights().data() + row * parameters();
    device_.memory().download(target, weights.data + row * weights.stride, bytes);
  }
}

/// Counts the memory that is shared with the program, as a copy on the host.
void ExternalModel::count(const Weights& weights, const Batch& batch, bool with_gradients) const {
  const ExternalArrays arrays(parameters(), rows_of(weights, batch), batch, with_gradients);
  device_.memory().upload(nullptr, nullptr, arrays.bytes);
}

/// Moves a worker's gradient to the device, scaled and added as `rows` says.
void ExternalModel::take_row(const GradientRows& rows, Index worker) {
  const std::span<float> row = program_->gradients().subspan(static_cast<std::size_t>(worker * parameters()),
                                                             static_cast<std::size_t>(parameters()));
  const Index bytes = parameters() * Index{sizeof(float)};
  float* target = rows.data + worker * rows.stride;
  if (rows.scale != 1.0f) {
    for (float& value : row) value *= rows.scale;
  }
  if (rows.add) {
    before_.resize(row.size());
    device_.memory().download(before_.data(), target, bytes);
    std::transform(row.begin(), row.end(), before_.begin(), row.begin(), std::plus<float>());
  }
  device_.memory().upload(target, row.data(), bytes);
}

std::unique_ptr<Model> make_external(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  return std::make_unique<ExternalModel>(device, external_spec(config, data));
}

}  // namespace onebit::sim
