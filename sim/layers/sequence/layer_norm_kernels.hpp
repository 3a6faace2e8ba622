#pragma once
// Kernels of layer normalisation, which compute a row at a time. Rows are grouped by worker.

#include <cmath>

#include "sim/layers/kernels.hpp"

namespace onebit::sim {

/// Computes output = (input - mean) * rate * weight + bias. Also writes the row's mean and its rate, 1 / standard
/// deviation.
struct LayerNormKernel {
  Index own_rows;  ///< rows per worker
  Index width;
  const float* weight;
  const float* bias;
  Index stride;  ///< stride of weight and bias from worker to worker
  const float* input;
  float* output;
  float* means;
  float* rates;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index row, const Lanes& lanes) const {
    const float* x = input + row * width;
    const float* w = weight + row / own_rows * stride;
    const float* b = bias + row / own_rows * stride;
    float* y = output + row * width;
    const auto n = static_cast<double>(width);
    const double exact_mean = lanes.sum(width, [=](Index i) { return static_cast<double>(x[i]); }) / n;
    const auto squared = [=](Index i) {
      const double difference = static_cast<double>(x[i]) - exact_mean;
      return difference * difference;
    };
    const double variance = lanes.sum(width, squared) / n;
    const auto mean = static_cast<float>(exact_mean);
    const auto rate = static_cast<float>(1.0 / std::sqrt(variance + 1e-5));
    lanes.each(width, [=](Index i) { y[i] = (x[i] - mean) * rate * w[i] + b[i]; });
    lanes.once([=, this] {
      means[row] = mean;
      rates[row] = rate;
    });
  }
};

/// Computes input_delta = rate * (g - mean(g) - h * mean(g h)), where g = output_delta * weight and h is the normalised
/// row.
struct LayerNormDeltaKernel {
  Index own_rows;
  Index width;
  const float* weight;
  Index stride;
  const float* input;
  const float* means;
  const float* rates;
  const float* output_delta;
  float* input_delta;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index row, const Lanes& lanes) const {
    const float* x = input + row * width;
    const float* w = weight + row / own_rows * stride;
    const float* dy = output_delta + row * width;
    float* dx = input_delta + row * width;
    const float mean = means[row], rate = rates[row];
    const auto n = static_cast<double>(width);
    const auto g = [=](Index i) { return static_cast<double>(dy[i]) * static_cast<double>(w[i]); };
    const auto product = [=](Index i) { return g(i) * static_cast<double>((x[i] - mean) * rate); };
    const auto along_one = static_cast<float>(lanes.sum(width, g) / n);
    const auto along_row = static_cast<float>(lanes.sum(width, product) / n);
    lanes.each(width, [=](Index i) { dx[i] = rate * (dy[i] * w[i] - along_one - (x[i] - mean) * rate * along_row); });
  }
};

/// Gradients of a worker's weight and bias, summed over its rows.
struct LayerNormGradientKernel {
  Index own_rows;
  Index width;
  bool add;
  const float* input;
  const float* means;
  const float* rates;
  const float* delta;
  float* weight_gradient;
  float* bias_gradient;
  Index stride;
  ONEBIT_HOST_DEVICE device::ColumnTerms<2> operator()(Index worker, Index own_row, Index column) const {
    const Index row = worker * own_rows + own_row, at = row * width + column;
    const auto d = static_cast<double>(delta[at]);
    return {{d * static_cast<double>((input[at] - means[row]) * rates[row]), d}};
  }
  ONEBIT_HOST_DEVICE void put(Index worker, Index column, const device::ColumnTerms<2>& sums) const {
    put_sum(sums.term[0], add, weight_gradient[worker * stride + column]);
    put_sum(sums.term[1], add, bias_gradient[worker * stride + column]);
  }
};

}  // namespace onebit::sim
