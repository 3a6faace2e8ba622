#include "sim/cluster/replica.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/text.hpp"
#include "sim/cluster/mean_rows.hpp"

namespace onebit::sim {
namespace {

std::span<const float> values_of(const std::vector<float>& values, std::size_t row_offset, Range tensor) {
  return std::span(values).subspan(row_offset + static_cast<std::size_t>(tensor.first),
                                   static_cast<std::size_t>(tensor.count));
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

/// Finds the first item of a state with a number that is not finite, and the item with the largest absolute value.
class StateCheck final : public device::StateVisitor {
 public:
  explicit StateCheck(const device::Shard& shard) : StateVisitor(shard) {}
  bool loads() const override { return false; }
  const std::string& bad() const { return bad_; }
  float largest() const { return largest_; }
  const std::string& place_of_largest() const { return place_; }

 private:
  void device(const std::string& path, const device::Elements& elements, std::span<const device::Piece> pieces, Index,
              Held) override {
    if (elements.type != device::ElementType::float32) return;
    for (const device::Piece& piece : pieces) {
      std::vector<float> values(static_cast<std::size_t>(piece.count));
      elements.download(values.data(), piece.first, piece.count);
      if (bad_.empty() && !all_finite(values)) bad_ = path;
      for (const float value : values) {
        if (!(std::fabs(value) > largest_)) continue;
        largest_ = std::fabs(value);
        place_ = path;
      }
    }
  }
  void host(const std::string&, std::vector<double>&) override {}
  void host(const std::string&, std::vector<Index>&) override {}

  std::string bad_, place_;
  float largest_ = 0;
};

}  // namespace

void Replica::draw(const DataSource& data, Index step, Range workers, Index examples_each, Index first_draw,
                   Batch& out) const {
  out.with_features = !examples;
  if (shard.device.plans()) {
    data.lay_out(step, workers, examples_each, out, first_draw);
  } else {
    data.sample(step, workers, examples_each, out, first_draw);
  }
}

void Replica::place_batch() {
  if (examples) examples->place(shard.device, batch);
}

void Replica::visit_state(device::StateVisitor& visitor) {
  if (optimizer->local_weights()) {
    visitor.rows("weights", weights, model->parameters());
  } else {
    visitor.shared("weights", weights);
  }
  visitor.group("optimizer", [&] { optimizer->visit_state(visitor); });
  visitor.group("model", [&] { model->visit_state(visitor); });
}

Weights Replica::weights_from(Index worker) const {
  const Index stride = optimizer->local_weights() ? model->parameters() : 0;
  return {weights.data() + (worker - shard.own().first) * stride, stride};
}

device::Buffer<float> Replica::mean_weights() const {
  return mean_of_rows(shard, weights, model->parameters());
}

std::string Replica::bad_tensor(bool with_gradients) const {
  const std::vector<float> weight_values = weights.to_host();
  const std::vector<float> gradient_values = with_gradients ? gradients.to_host() : std::vector<float>();
  const std::vector<compress::Tensor>& tensors = model->tensors();
  const std::vector<Range> ranges = compress::ranges_of(tensors);
  const auto parameters = static_cast<std::size_t>(model->parameters());
  for (std::size_t t = 0; t < ranges.size(); ++t) {
    for (std::size_t row = 0; row < weight_values.size(); row += parameters) {
      if (!all_finite(values_of(weight_values, row, ranges[t])))
        return "tensor " + tensors[t].name + " became non-finite first";
    }
  }
  // Backward passes reach the last tensor first.
  for (std::size_t t = ranges.size(); t-- > 0;) {
    for (std::size_t row = 0; row < gradient_values.size(); row += parameters) {
      if (!all_finite(values_of(gradient_values, row, ranges[t])))
        return "the gradient of tensor " + tensors[t].name + " became non-finite first";
    }
  }
  return "";
}

std::string Replica::first_bad_tensor(bool with_gradients) const {
  const std::string bad_weights = bad_tensor(false);
  if (!bad_weights.empty()) return bad_weights;
  StateCheck state(shard);
  model->visit_state(state);
  if (!state.bad().empty()) return "weights are finite, but the model's state is not: " + state.bad();
  const std::string bad = bad_tensor(with_gradients);
  if (!bad.empty()) return bad;
  const std::vector<float> weight_values = weights.to_host();
  const std::vector<Range> ranges = compress::ranges_of(model->tensors());
  const auto parameters = static_cast<std::size_t>(model->parameters());
  const auto largest = [&](Range tensor) {
    float most = 0;
    for (std::size_t row = 0; row < weight_values.size(); row += parameters) {
      for (float value : values_of(weight_values, row, tensor)) most = std::max(most, std::fabs(value));
    }
    return most;
  };
  const auto worst =
      std::max_element(ranges.begin(), ranges.end(), [&](Range a, Range b) { return largest(a) < largest(b); });
  const compress::Tensor& tensor = model->tensors()[static_cast<std::size_t>(worst - ranges.begin())];
  if (state.largest() > largest(*worst)) {
    return "weights are finite, and the largest number in the model's state is " +
           number(static_cast<double>(state.largest())) + " (" + state.place_of_largest() + ")";
  }
  return std::string(with_gradients ? "weights and gradients" : "weights") + " are finite, and the largest weight is " +
         number(static_cast<double>(largest(*worst))) + " (tensor " + tensor.name + ")";
}

}  // namespace onebit::sim
