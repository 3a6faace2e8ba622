#include "optim/two_stage/variance_floor.hpp"

#include <charconv>
#include <cmath>
#include <span>

#include "device/base/error.hpp"

namespace onebit::optim {
namespace {

double mean_of_positive(std::span<const float> values) {
  double sum = 0, count = 0;
  for (const float value : values) {
    sum += static_cast<double>(value);
    count += value > 0 ? 1 : 0;
  }
  return count > 0 ? sum / count : 0;
}

Index raise(std::span<float> values, float least) {
  Index raised = 0;
  for (float& value : values) {
    if (!(value > 0 && value < least)) continue;
    value = least;
    ++raised;
  }
  return raised;
}

}  // namespace

VarianceFloor parse_variance_floor(const std::string& text) {
  const std::string prefix = "mean:";
  VarianceFloor floor{.of_mean = text.starts_with(prefix)};
  const char* begin = text.data() + (floor.of_mean ? prefix.size() : 0);
  const auto [end, code] = std::from_chars(begin, text.data() + text.size(), floor.value);
  const bool number = code == std::errc() && end == text.data() + text.size();
  if (number && floor.value >= 0 && std::isfinite(static_cast<float>(floor.value))) return floor;
  throw ConfigError("malformed or negative floor on the variance", "optimizer.variance-floor " + text,
                    "use 0, a value such as 1e-12, or a share of the tensor's mean such as mean:0.01");
}

RaisedVariance raise(const VarianceFloor& floor, const std::vector<compress::Tensor>& tensors, double weight,
                     device::Buffer<float>& variance, const std::vector<char>& left_out) {
  RaisedVariance result{.least = std::vector<double>(tensors.size(), 0.0)};
  if (floor.value == 0) return result;
  std::vector<float> values = variance.to_host();
  const std::vector<Range> ranges = compress::ranges_of(tensors);
  for (std::size_t t = 0; t < ranges.size(); ++t) {
    if (!left_out.empty() && left_out[t] != 0) continue;
    const auto [first, size] = ranges[t];
    const auto part = std::span(values).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size));
    const double least = floor.of_mean ? floor.value * mean_of_positive(part) : floor.value * weight;
    result.raised += raise(part, static_cast<float>(least));
    result.least[t] = least / weight;
  }
  variance.upload(values);
  return result;
}

}  // namespace onebit::optim
