#include "sim/layers/sequential.hpp"

#include <algorithm>

#include "device/base/error.hpp"

namespace onebit::sim {

Sequential::Sequential(std::vector<std::unique_ptr<Layer>> layers)
    : Layer(layers.front()->inputs(), layers.back()->outputs()),
      layers_(std::move(layers)),
      values_(layers_.size() - 1) {
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    if (layers_[l]->inputs() != layers_[l - 1]->outputs()) {
      throw Error(std::to_string(layers_[l - 1]->outputs()) + " outputs do not match " +
                      std::to_string(layers_[l]->inputs()) + " inputs",
                  "layer " + std::to_string(l));
    }
  }
}

void Sequential::reserve(const Pass& pass) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    layers_[l]->reserve(pass);
    if (l < values_.size()) grow(values_[l], pass.device, pass.examples() * layers_[l]->outputs());
  }
}

void Sequential::forward(const Pass& pass, const float* input, float* output) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    float* to = l < values_.size() ? values_[l].data() : output;
    layers_[l]->forward(pass, input, to);
    input = to;
  }
}

void Sequential::backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                          float* input_delta) {
  device::Buffer<float> above;  // owns output_delta, except that of the last layer
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const float* from = l > 0 ? values_[l - 1].data() : input;
    device::Buffer<float> below;
    if (l > 0) below = device::Buffer<float>(pass.device, pass.examples() * layers_[l]->inputs());
    float* delta = l > 0 ? below.data() : input_delta;
    layers_[l]->backward(pass, from, output, output_delta, delta);
    above = std::move(below);
    output = from;
    output_delta = delta;
  }
}

double Sequential::flops(bool reads_data) const {
  double sum = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) sum += layers_[l]->flops(reads_data && l == 0);
  return sum;
}

bool Sequential::replayable() const {
  return std::ranges::all_of(layers_, [](const auto& layer) { return layer->replayable(); });
}

void Sequential::end_step(const StepEnd& end) {
  for (const auto& layer : layers_) layer->end_step(end);
}

void Sequential::visit_state(device::StateVisitor& visitor) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    visitor.group(std::to_string(i), [&] { layers_[i]->visit_state(visitor); });
  }
}

}  // namespace onebit::sim
