#pragma once
// Compares a layer with an oracle in double precision: its outputs and, by central differences, its gradients, on every
// backend, with shared weights and with one row for each worker.

#include <functional>
#include <limits>
#include <memory>

#include "sim/layers/layer.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/random.hpp"
#include "tests/oracle/vectors.hpp"

namespace onebit::tests {

/// Position of an example, for layers that depend on it.
struct ExamplePlace {
  Index example = 0;  ///< number of the example in the pass
  Index worker = 0, draw = 0;
};

struct LayerCase {
  std::string name;
  std::function<std::unique_ptr<sim::Layer>(sim::Parameters&)> make;
  /// Computes one example's outputs from a worker's weights and the example's inputs.
  std::function<onebit::oracle::Vector(const onebit::oracle::Vector&, const onebit::oracle::Vector&,
                                       const ExamplePlace&)>
      outputs;
  std::vector<std::int32_t> tokens = {};  ///< tokens of the largest pass (6 examples), for layers that read them
};

inline constexpr sim::DrawPlace kDrawPlace{.seed = 5, .step = 3, .first_worker = 2, .first_draw = 7};

/// One pass of a layer and of the oracle. The loss is a random projection of the outputs.
class LayerCheck {
 public:
  LayerCheck(const LayerCase& layer_case, Index workers, Index batch, bool own_weights)
      : case_(layer_case),
        workers_(workers),
        batch_(batch),
        own_weights_(own_weights),
        layer_(case_.make(parameters_)) {
    const Index examples = workers * batch;
    for (Index row = 0; row < (own_weights ? workers : 1); ++row) {
      std::vector<float> more = parameters_.initial(7);
      const std::vector<float> noise = onebit::oracle::normals(parameters_.count(), 11, row);
      for (std::size_t i = 0; i < more.size(); ++i) weights_.push_back(more[i] + 0.3f * noise[i]);
    }
    input_ = onebit::oracle::normals(examples * layer_->inputs(), 12);
    projection_ = onebit::oracle::normals(examples * layer_->outputs(), 13);
  }

  /// The results of a pass on a device.
  struct Result {
    std::vector<float> outputs, gradients, input_delta;
  };

  /// Runs a pass. Gradient rows are kStride long, and nothing may be written beyond their elements. Before the pass
  /// they hold kBefore.
  Result run(const device::Device& device, bool add, bool wants_input_delta = true) const {
    const Index stride = this->stride();
    sim::Parameters unused;
    const std::unique_ptr<sim::Layer> layer = case_.make(unused);  // new, because its buffers belong to one device
    device::Buffer<float> weights = on(device, weights_), gradients = on(device, before());
    device::Buffer<float> input = examples_of(device, input_, layer_->inputs());
    device::Buffer<float> outputs = examples_of(device, {}, layer_->outputs());
    device::Buffer<float> delta = examples_of(device, projection_, layer_->outputs());
    device::Buffer<float> input_delta = examples_of(device, {}, layer_->inputs());
    device::Buffer<std::int32_t> tokens = on(device, case_.tokens);
    const device::Buffer<Index> step = on(device, std::vector<Index>{kDrawPlace.step});
    const sim::Pass pass{.device = device,
                         .weights = {weights.data(), own_weights_ ? parameters_.count() : 0},
                         .workers = workers_,
                         .batch = batch_,
                         .tokens = tokens.data(),
                         .training = true,
                         .place = kDrawPlace,
                         .step = step.data(),
                         .gradients = {.data = gradients.data(), .stride = stride, .add = add}};
    layer->reserve(pass);
    layer->forward(pass, input.data(), outputs.data());
    std::vector<float> written(projection_.size());
    outputs.download(written);
    layer->backward(pass, input.data(), outputs.data(), delta.data(), wants_input_delta ? input_delta.data() : nullptr);
    std::vector<float> delta_written(input_.size());
    input_delta.download(delta_written);
    return {written, gradients.to_host(), delta_written};
  }

  /// Returns the oracle's outputs, and the gradients of the projection with respect to weights and inputs, by central
  /// differences.
  onebit::oracle::Vector outputs() const {
    onebit::oracle::Vector all;
    for (Index e = 0; e < workers_ * batch_; ++e) {
      const onebit::oracle::Vector own = outputs(weights(e / batch_), input(e), e);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
  onebit::oracle::Vector gradient(Index worker) const {
    onebit::oracle::Vector weights = this->weights(worker);
    return differences(weights, [&] {
      double sum = 0;
      for (Index e = worker * batch_; e < (worker + 1) * batch_; ++e)
        sum += projected(outputs(weights, input(e), e), e);
      return sum;
    });
  }
  onebit::oracle::Vector input_delta() const {
    onebit::oracle::Vector all;
    for (Index e = 0; e < workers_ * batch_; ++e) {
      onebit::oracle::Vector input = this->input(e);
      const onebit::oracle::Vector own =
          differences(input, [&] { return projected(outputs(weights(e / batch_), input, e), e); });
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  /// Returns a worker's gradients, without the previous values if the pass added to them.
  std::vector<float> row(const Result& result, Index worker, bool add) const {
    const auto begin = result.gradients.begin() + worker * stride();
    std::vector<float> own(begin, begin + parameters_.count());
    for (float& value : own) value -= add ? kBefore : 0.0f;
    return own;
  }
  bool gaps_untouched(const Result& result) const {
    for (Index worker = 0; worker < workers_; ++worker) {
      for (Index i = parameters_.count(); i < stride(); ++i) {
        if (result.gradients[static_cast<std::size_t>(worker * stride() + i)] != kBefore) return false;
      }
    }
    return true;
  }

  Index workers() const { return workers_; }

 private:
  static constexpr float kBefore = 0.5f;

  Index stride() const { return parameters_.count() + 3; }
  std::vector<float> before() const {
    return std::vector<float>(static_cast<std::size_t>(workers_ * stride()), kBefore);
  }
  /// Returns the numbers of all examples; NaN where nothing is given.
  device::Buffer<float> examples_of(const device::Device& device, std::vector<float> values, Index size) const {
    values.resize(static_cast<std::size_t>(workers_ * batch_ * size), std::nanf(""));
    return on(device, values);
  }
  onebit::oracle::Vector weights(Index worker) const {
    const auto begin = weights_.begin() + (own_weights_ ? worker * parameters_.count() : 0);
    return {begin, begin + parameters_.count()};
  }
  onebit::oracle::Vector input(Index example) const {
    const auto begin = input_.begin() + example * layer_->inputs();
    return {begin, begin + layer_->inputs()};
  }
  onebit::oracle::Vector outputs(const onebit::oracle::Vector& weights, const onebit::oracle::Vector& input,
                                 Index e) const {
    return case_.outputs(weights, input, {e, kDrawPlace.first_worker + e / batch_, kDrawPlace.first_draw + e % batch_});
  }
  double projected(const onebit::oracle::Vector& outputs, Index example) const {
    double sum = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      sum += outputs[i] * static_cast<double>(projection_[static_cast<std::size_t>(example) * outputs.size() + i]);
    }
    return sum;
  }
  /// Returns the derivatives of value() with respect to each number that it depends on.
  template <class Value>
  static onebit::oracle::Vector differences(onebit::oracle::Vector& numbers, const Value& value) {
    constexpr double step = 1e-5;
    onebit::oracle::Vector result;
    for (double& number : numbers) {
      const double middle = number;
      number = middle + step;
      const double above = value();
      number = middle - step;
      result.push_back((above - value()) / (2 * step));
      number = middle;
    }
    return result;
  }

  LayerCase case_;
  Index workers_, batch_;
  bool own_weights_;
  sim::Parameters parameters_;
  std::unique_ptr<sim::Layer> layer_;
  std::vector<float> weights_, input_, projection_;
};

/// Returns ||a - b|| relative to ||b||.
template <class Number>
double relative_error(const std::vector<Number>& a, const onebit::oracle::Vector& b) {
  const double distance = onebit::oracle::distance(a, b);
  return distance == 0 ? 0 : distance / onebit::oracle::norm(b);
}

inline void check_layer(const LayerCase& layer_case) {
  for (const auto& [workers, batch] : {std::pair<Index, Index>{1, 1}, {3, 2}, {1, 5}}) {
    for (const bool own_weights : {false, true}) {
      const LayerCheck check(layer_case, workers, batch, own_weights);
      const onebit::oracle::Vector outputs = check.outputs(), input_delta = check.input_delta();
      std::vector<onebit::oracle::Vector> gradients;
      for (Index worker = 0; worker < workers; ++worker) gradients.push_back(check.gradient(worker));
      for (const std::string& backend : backends()) {
        for (const bool add : {false, true}) {
          CAPTURE(layer_case.name, workers, batch, own_weights, backend, add);
          const LayerCheck::Result result = check.run(device_of(backend), add);
          CHECK(relative_error(result.outputs, outputs) < 1e-5);
          CHECK(relative_error(result.input_delta, input_delta) < 1e-4);
          CHECK(check.gaps_untouched(result));
          for (Index worker = 0; worker < workers; ++worker) {
            const onebit::oracle::Vector& expected = gradients[static_cast<std::size_t>(worker)];
            CHECK(relative_error(check.row(result, worker, add), expected) < 1e-4);
          }
          CHECK(check.run(device_of(backend), add, false).gradients == result.gradients);
        }
      }
    }
  }
}

}  // namespace onebit::tests
