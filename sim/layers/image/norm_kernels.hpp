#pragma once
// Kernels of normalisation over images [pixels][channels]. A set has its own statistics: it is an image (GroupNorm) or
// all images of a worker (BatchNorm). A group consists of adjacent channels of a set.

#include <cmath>

#include "device/launch/lanes.hpp"

namespace onebit::sim {

struct NormShape {
  Index pixels = 0, channels = 0;
  Index groups = 0;  ///< number of groups; divides channels
  bool batch = false;
  bool relu = false;

  ONEBIT_HOST_DEVICE Index own_channels() const { return channels / groups; }
};

/// Two sums over each channel of an image, 2 x [channels] doubles per image.
struct ChannelSums {
  double* data = nullptr;
  Index channels = 0;

  ONEBIT_HOST_DEVICE double* first(Index image) const { return data + 2 * image * channels; }
  ONEBIT_HOST_DEVICE double* second(Index image) const { return first(image) + channels; }
};

/// Computes first = sum of a, second = sum of a * b, over the pixels of an image.
struct ChannelSumsKernel {
  Index pixels;
  const float* a;
  const float* b;
  ChannelSums sums;

  ONEBIT_HOST_DEVICE device::ColumnTerms<2> operator()(Index image, Index pixel, Index channel) const {
    const Index at = (image * pixels + pixel) * sums.channels + channel;
    const auto x = static_cast<double>(a[at]);
    return {{x, x * static_cast<double>(b[at])}};
  }
  ONEBIT_HOST_DEVICE void put(Index image, Index channel, const device::ColumnTerms<2>& found) const {
    sums.first(image)[channel] = found.term[0];
    sums.second(image)[channel] = found.term[1];
  }
};

/// Mean and inverse standard deviation of a group.
struct Moments {
  double mean = 0, inverse = 0;
};

/// Tables that a pass computes, each with one row for every set.
struct NormTables {
  Moments* moments = nullptr;  ///< moments, [sets][groups]
  float* scale = nullptr;      ///< factor of result = scale * x + shift, [sets][channels]
  float* shift = nullptr;      ///< summand of the result, [sets][channels]
};

/// gamma and beta; those of worker w begin w * stride elements after the given addresses.
struct NormWeights {
  const float* gamma = nullptr;
  const float* beta = nullptr;
  Index stride = 0;
};

ONEBIT_HOST_DEVICE inline void put_moments(const NormShape& shape, const NormTables& tables, const Moments& moments,
                                           Index set, Index group, const float* gamma, const float* beta) {
  tables.moments[set * shape.groups + group] = moments;
  for (Index c = group * shape.own_channels(); c < (group + 1) * shape.own_channels(); ++c) {
    const double scale = moments.inverse * static_cast<double>(gamma[c]);
    tables.scale[set * shape.channels + c] = static_cast<float>(scale);
    tables.shift[set * shape.channels + c] = static_cast<float>(static_cast<double>(beta[c]) - scale * moments.mean);
  }
}

/// Running means and variances of the channels, by global worker.
struct RunningRows {
  double* mean = nullptr;      ///< running means, [workers][channels]
  double* variance = nullptr;  ///< running variances, [workers][channels]
};

/// Computes the statistics of a set's group from the sums over its images.
struct NormStatisticsKernel {
  NormShape shape;
  Index images;    ///< images per set
  Index own_sets;  ///< sets per worker
  double epsilon;
  ChannelSums sums;
  NormWeights weights;
  NormTables tables;
  RunningRows running;  ///< rows of the first worker; null if no statistics are kept
  double momentum;

  ONEBIT_HOST_DEVICE void operator()(Index set, Index group) const {
    double sum = 0, squares = 0;
    for (Index image = set * images; image < (set + 1) * images; ++image) {
      for (Index c = group * shape.own_channels(); c < (group + 1) * shape.own_channels(); ++c) {
        sum += sums.first(image)[c];
        squares += sums.second(image)[c];
      }
    }
    const auto count = static_cast<double>(images * shape.pixels * shape.own_channels());
    const double mean = sum / count;
    const double spread = squares / count - mean * mean;
    const double variance = spread > 0 ? spread : 0;
    const Index offset = set / own_sets * weights.stride;
    put_moments(shape, tables, {mean, 1 / std::sqrt(variance + epsilon)}, set, group, weights.gamma + offset,
                weights.beta + offset);
    if (running.mean == nullptr) return;
    const double unbiased = count > 1 ? variance * count / (count - 1) : variance;
    double& old_mean = running.mean[set * shape.channels + group];
    double& old_variance = running.variance[set * shape.channels + group];
    old_mean += momentum * (mean - old_mean);
    old_variance += momentum * (unbiased - old_variance);
  }
};

/// Fills the tables of a pass that has a single set, from the running statistics of one worker.
struct RunningStatisticsKernel {
  NormShape shape;
  double epsilon;
  NormWeights weights;
  NormTables tables;
  RunningRows running;
  ONEBIT_HOST_DEVICE void operator()(Index channel) const {
    const double inverse = 1 / std::sqrt(running.variance[channel] + epsilon);
    put_moments(shape, tables, {running.mean[channel], inverse}, 0, channel, weights.gamma, weights.beta);
  }
};

/// Computes output = relu(scale * x + shift + addend); addend and ReLU are optional. A row is a pixel.
struct NormKernel {
  NormShape shape;
  Index own_rows;  ///< rows per set
  NormTables tables;
  const float* input;
  const float* addend;  ///< may be null
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index channel) const {
    const Index table = row / own_rows * shape.channels + channel;
    const Index at = row * shape.channels + channel;
    float y = tables.scale[table] * input[at] + tables.shift[table];
    if (addend != nullptr) y += addend[at];
    output[at] = shape.relu && y <= 0.0f ? 0.0f : y;
  }
};

/// Gradients with respect to a worker's gamma and beta, summed over its sets in their order.
struct NormGradientKernel {
  NormShape shape;
  Index images;    ///< images per set
  Index own_sets;  ///< sets per worker
  bool add;
  ChannelSums sums;  ///< sums of delta and of delta * x
  const Moments* moments;
  float* gamma;
  float* beta;
  Index stride;
  ONEBIT_HOST_DEVICE void operator()(Index worker, Index channel) const {
    float& by_gamma = gamma[worker * stride + channel];
    float& by_beta = beta[worker * stride + channel];
    double scaled = add ? static_cast<double>(by_gamma) : 0.0;
    double plain = add ? static_cast<double>(by_beta) : 0.0;
    for (Index set = worker * own_sets; set < (worker + 1) * own_sets; ++set) {
      const Moments& own = moments[set * shape.groups + channel / shape.own_channels()];
      for (Index image = set * images; image < (set + 1) * images; ++image) {
        const double delta = sums.first(image)[channel];
        scaled += (sums.second(image)[channel] - own.mean * delta) * own.inverse;
        plain += delta;
      }
    }
    by_gamma = static_cast<float>(scaled);
    by_beta = static_cast<float>(plain);
  }
};

/// Computes the slope and offset of a set's group. The gradient with respect to the input is
/// scale * delta + slope * x + offset.
struct NormDeltaTermsKernel {
  NormShape shape;
  Index images;    ///< images per set
  Index own_sets;  ///< sets per worker
  ChannelSums sums;
  NormWeights weights;
  const Moments* moments;
  float* slope;   ///< slopes to write, [sets][channels]
  float* offset;  ///< offsets to write, [sets][channels]
  ONEBIT_HOST_DEVICE void operator()(Index set, Index group) const {
    const float* gamma = weights.gamma + set / own_sets * weights.stride;
    const Moments& own = moments[set * shape.groups + group];
    double deltas = 0, scaled = 0;
    for (Index image = set * images; image < (set + 1) * images; ++image) {
      for (Index c = group * shape.own_channels(); c < (group + 1) * shape.own_channels(); ++c) {
        const double delta = sums.first(image)[c];
        deltas += static_cast<double>(gamma[c]) * delta;
        scaled += static_cast<double>(gamma[c]) * (sums.second(image)[c] - own.mean * delta) * own.inverse;
      }
    }
    const auto count = static_cast<double>(images * shape.pixels * shape.own_channels());
    const double by_x = -own.inverse * own.inverse * scaled / count;
    for (Index c = group * shape.own_channels(); c < (group + 1) * shape.own_channels(); ++c) {
      slope[set * shape.channels + c] = static_cast<float>(by_x);
      offset[set * shape.channels + c] = static_cast<float>(-own.inverse * deltas / count - by_x * own.mean);
    }
  }
};

/// Computes input_delta = scale * delta + slope * x + offset. A row is a pixel.
struct NormDeltaKernel {
  Index own_rows;  ///< rows per set
  Index channels;
  const float* scale;
  const float* slope;
  const float* offset;
  const float* input;
  const float* delta;
  float* input_delta;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index channel) const {
    const Index table = row / own_rows * channels + channel;
    const Index at = row * channels + channel;
    input_delta[at] = scale[table] * delta[at] + slope[table] * input[at] + offset[table];
  }
};

}  // namespace onebit::sim
