#pragma once
// Layers over one worker's images [height][width][channels] by plain loops in double precision.

#include <algorithm>
#include <cmath>

#include "tests/oracle/conv.hpp"

namespace onebit::oracle {

inline Vector part(const Vector& values, Index first, Index count) {
  return {values.begin() + first, values.begin() + first + count};
}

inline void append(Vector& values, const Vector& more) {
  values.insert(values.end(), more.begin(), more.end());
}

inline Vector relu(Vector values) {
  for (double& value : values) value = std::max(0.0, value);
  return values;
}

/// Convolves images. The bias is empty if there is none.
inline Vector convolve(const device::ConvShape& shape, const Vector& images, const Vector& filters,
                       const Vector& bias = {}) {
  Vector result;
  for (Index i = 0; i < static_cast<Index>(images.size()); i += shape.inputs()) {
    append(result, convolution(shape, part(images, i, shape.inputs()), filters));
  }
  for (std::size_t i = 0; i < result.size() && !bias.empty(); ++i) result[i] += bias[i % bias.size()];
  return result;
}

inline Vector max_pool(Index height, Index width, Index channels, Index window, const Vector& images) {
  Vector result;
  for (Index image = 0; image < static_cast<Index>(images.size()); image += height * width * channels) {
    for (Index y = 0; y + window <= height; y += window) {
      for (Index x = 0; x + window <= width; x += window) {
        for (Index c = 0; c < channels; ++c) {
          double largest = -1e300;
          for (Index i = 0; i < window * window; ++i) {
            const Index pixel = (y + i / window) * width + x + i % window;
            largest = std::max(largest, images[static_cast<std::size_t>(image + pixel * channels + c)]);
          }
          result.push_back(largest);
        }
      }
    }
  }
  return result;
}

inline Vector average_pool(Index pixels, Index channels, const Vector& images) {
  Vector result(images.size() / static_cast<std::size_t>(pixels), 0.0);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto image = static_cast<Index>(i) / (pixels * channels), channel = static_cast<Index>(i) % channels;
    result[static_cast<std::size_t>(image * channels + channel)] += images[i] / static_cast<double>(pixels);
  }
  return result;
}

struct MeanAndVariance {
  double mean = 0, variance = 0;  ///< the variance is the biased one
  double count = 0;
};

/// Returns the moments of channels [first, first + count) over all pixels of the images.
inline MeanAndVariance moments(const Vector& images, Index channels, Index first, Index count) {
  const auto in = [&](std::size_t i) {
    const Index channel = static_cast<Index>(i) % channels;
    return channel >= first && channel < first + count;
  };
  MeanAndVariance result;
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (!in(i)) continue;
    result.mean += images[i];
    result.count += 1;
  }
  result.mean /= result.count;
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (in(i)) result.variance += std::pow(images[i] - result.mean, 2) / result.count;
  }
  return result;
}

inline double normalised(double x, const MeanAndVariance& by) {
  return (x - by.mean) / std::sqrt(by.variance + 1e-5);
}

/// Normalizes over all of `images`: one image (GroupNorm), or all of a worker's, with one channel per group
/// (BatchNorm).
inline Vector normalise(const Vector& images, Index channels, Index groups, const Vector& gamma, const Vector& beta) {
  Vector result = images;
  const Index own = channels / groups;
  for (Index group = 0; group < groups; ++group) {
    const MeanAndVariance by = moments(images, channels, group * own, own);
    for (std::size_t i = 0; i < images.size(); ++i) {
      const auto channel = i % static_cast<std::size_t>(channels);
      if (static_cast<Index>(channel) / own != group) continue;
      result[i] = normalised(images[i], by) * gamma[channel] + beta[channel];
    }
  }
  return result;
}

inline Vector group_norm(const Vector& images, Index image_size, Index channels, Index groups, const Vector& gamma,
                         const Vector& beta) {
  Vector result;
  for (Index i = 0; i < static_cast<Index>(images.size()); i += image_size) {
    append(result, normalise(part(images, i, image_size), channels, groups, gamma, beta));
  }
  return result;
}

}  // namespace onebit::oracle
