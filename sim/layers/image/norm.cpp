#include "sim/layers/image/norm.hpp"

#include "device/base/error.hpp"
#include "device/launch/launch.hpp"
#include "sim/layers/kernels.hpp"

namespace onebit::sim {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr double kMomentum = 0.1;

/// Extends a buffer to `size` numbers and sets the new ones to `value`.
void extend(device::Buffer<double>& buffer, const device::Device& device, Index size, double value) {
  std::vector<double> numbers = buffer.to_host();
  numbers.resize(static_cast<std::size_t>(size), value);
  buffer = device::Buffer<double>::copy_of(device, numbers);
}

}  // namespace

Norm::Norm(Parameters& parameters, const std::string& name, NormShape shape)
    : Layer(shape.pixels * shape.channels, shape.pixels * shape.channels),
      shape_(shape),
      gamma_(parameters.add_constant(name + ".weight", shape.channels, 1)),
      beta_(parameters.add_constant(name + ".bias", shape.channels, 0)) {
  if (shape_.batch) shape_.groups = shape_.channels;
  if (shape_.groups > 0 && shape_.channels % shape_.groups == 0) return;
  throw Error(std::to_string(shape_.groups) + " groups do not divide " + std::to_string(shape_.channels) + " channels",
              name);
}

NormWeights Norm::weights(const Pass& pass) const {
  return {pass.weights.data + gamma_, pass.weights.data + beta_, pass.weights.stride};
}

void Norm::reserve(const Pass& pass) {
  const Index channels = sets(pass) * shape_.channels;
  grow(sums_, pass.device, 2 * pass.examples() * shape_.channels);
  grow(moments_, pass.device, sets(pass) * shape_.groups);
  for (device::Buffer<float>* table : {&scale_, &shift_, &slope_, &offset_}) grow(*table, pass.device, channels);
  if (shape_.batch) keep_running_rows(pass.device, pass.place.first_worker + pass.workers);
}

void Norm::keep_running_rows(const device::Device& device, Index workers) {
  const Index size = workers * shape_.channels;
  if (running_mean_.size() >= size) return;
  extend(running_mean_, device, size, 0);
  extend(running_variance_, device, size, 1);
}

void Norm::visit_state(device::StateVisitor& visitor) {
  if (!shape_.batch) return;
  const Range own = visitor.shard().own();
  keep_running_rows(visitor.shard().device, own.end());
  visitor.rows("running_mean", running_mean_, shape_.channels, own.first * shape_.channels);
  visitor.rows("running_variance", running_variance_, shape_.channels, own.first * shape_.channels);
}

/// Returns the running statistics of the workers, starting at `worker`.
RunningRows Norm::running(Index worker) {
  return {running_mean_.data() + worker * shape_.channels, running_variance_.data() + worker * shape_.channels};
}

void Norm::sum_channels(const Pass& pass, const float* a, const float* b) {
  const ChannelSumsKernel kernel{shape_.pixels, a, b, {sums_.data(), shape_.channels}};
  sum_columns(pass.device, pass.examples(), shape_.pixels, shape_.channels, kernel);
}

void Norm::find_statistics(const Pass& pass, const float* input) {
  if (from_running(pass)) {
    const RunningStatisticsKernel kernel{shape_, kEpsilon, weights(pass), tables(), running(0)};
    for_each_item(pass.device, shape_.channels, kernel);
    return;
  }
  sum_channels(pass, input, input);
  const bool keeps = shape_.batch && !pass.freeze_running_stats;
  const NormStatisticsKernel kernel{.shape = shape_,
                                    .images = set_images(pass),
                                    .own_sets = own_sets(pass),
                                    .epsilon = kEpsilon,
                                    .sums = {sums_.data(), shape_.channels},
                                    .weights = weights(pass),
                                    .tables = tables(),
                                    .running = keeps ? running(pass.place.first_worker) : RunningRows{},
                                    .momentum = kMomentum};
  for_each_row(pass.device, sets(pass), shape_.groups, kernel);
}

void Norm::forward(const Pass& pass, const float* input, const float* addend, float* output) {
  find_statistics(pass, input);
  const Index rows = pass.examples() * shape_.pixels;
  const Index own_rows = from_running(pass) ? rows : set_images(pass) * shape_.pixels;
  for_each_row(pass.device, rows, shape_.channels, NormKernel{shape_, own_rows, tables(), input, addend, output});
}

void Norm::backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                    float* input_delta) {
  if (shape_.relu) {
    const ActivationSlopeKernel<Relu> slope{output, output_delta};
    for_each(pass.device, pass.examples() * outputs(), slope);
  }
  sum_channels(pass, output_delta, input);
  const ChannelSums sums{sums_.data(), shape_.channels};
  const GradientRows& rows = pass.gradients;
  const NormGradientKernel gradient{shape_,          set_images(pass),   own_sets(pass),    rows.add,   sums,
                                    moments_.data(), rows.data + gamma_, rows.data + beta_, rows.stride};
  for_each_row(pass.device, pass.workers, shape_.channels, gradient);
  if (input_delta == nullptr) return;
  const NormDeltaTermsKernel terms{shape_,        set_images(pass), own_sets(pass), sums,
                                   weights(pass), moments_.data(),  slope_.data(),  offset_.data()};
  for_each_row(pass.device, sets(pass), shape_.groups, terms);
  const NormDeltaKernel delta{set_images(pass) * shape_.pixels,
                              shape_.channels,
                              scale_.data(),
                              slope_.data(),
                              offset_.data(),
                              input,
                              output_delta,
                              input_delta};
  for_each_row(pass.device, pass.examples() * shape_.pixels, shape_.channels, delta);
}

}  // namespace onebit::sim
