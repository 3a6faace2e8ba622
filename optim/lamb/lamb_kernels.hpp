#pragma once
// The maths that LAMB and 1-bit LAMB add to Adam's, one element at a time.

#include "device/launch/chunks.hpp"
#include "optim/adam/adam_kernels.hpp"

namespace onebit::optim {

/// Updates Adam's moments without moving the parameters.
struct MomentKernel {
  AdamStep s;
  float* momentum;
  float* variance;
  const float* gradient;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    adam_moments(s, gradient[i] * value_of(s.gradient_factor), momentum[i], variance[i]);
  }
};

/// Yields the squares of a tensor's values.
struct TensorSquareTerm {
  const TensorRule* rules;
  const float* values;

  struct Element {
    const float* values;
    ONEBIT_HOST_DEVICE double operator()(Index i) const {
      const auto value = static_cast<double>(values[i]);
      return value * value;
    }
  };
  ONEBIT_HOST_DEVICE Element bind(Index, Index tensor) const { return {values + rules[tensor].offset}; }
};

/// Yields the squares of a tensor's direction, in row 0 with weight decay and in row 1 without it.
struct DirectionTerm {
  AdamStep s;
  const TensorRule* rules;
  const float* x;
  const float* momentum;
  const float* variance;

  struct Element {
    AdamStep s;
    float weight_decay;
    const float* x;
    const float* momentum;
    const float* variance;
    ONEBIT_HOST_DEVICE Coordinate load(Index i) const { return {x[i], momentum[i], variance[i], 0}; }
    ONEBIT_HOST_DEVICE double store(Index, const Coordinate& at) const {
      const auto u = static_cast<double>(adam_direction(s, weight_decay, at.x, at.momentum, at.variance));
      return u * u;
    }
    ONEBIT_HOST_DEVICE double operator()(Index i) const { return store(i, load(i)); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index tensor) const {
    const TensorRule& r = rules[tensor];
    return {s, row == 0 ? r.weight_decay : 0.0f, x + r.offset, momentum + r.offset, variance + r.offset};
  }
};

/// Computes a fused vector that is longer than the parameters: scaled local momenta, then the tail of the last step's
/// vector, unchanged.
struct PaddedMomentaKernel {
  LocalMomentaKernel local;
  const float* scaling;
  Index parameters;
  const float* last;  ///< the vector of the last step
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    float& out = local.out[row * local.out_stride + i];
    if (i >= parameters) {
      out = last[i];
    } else {
      local(row, i);
      out = scaling[i] * out;
    }
  }
};

/// Rescales the exchanged momentum and updates the fresh variance with the gradient that the momentum implies. If
/// `mask` is set, a coordinate with a frozen v = 0 keeps m = 0.
struct FreshVarianceKernel {
  AdamStep s;
  bool mask;
  const float* exchanged;
  const float* scaling;
  const float* variance;
  float* momentum;
  float* fresh;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    const float m = mask && variance[i] == 0.0f ? 0.0f : exchanged[i] / scaling[i];
    const float g = (m - s.beta1 * momentum[i]) / s.one_minus_beta1;
    momentum[i] = m;
    fresh[i] = s.beta2 * fresh[i] + s.one_minus_beta2 * (g * g);
  }
};

/// Sets largest[chunk * kLanes + lane] to the largest (sqrt(v) + eps) / (sqrt(fresh) + eps) among a lane's elements,
/// which are every kLanes-th element of a chunk; 0 if no element counts. If `mask` is set, coordinates with v = 0 do
/// not count. The root of the fresh variance is raised to at least the root of the tensor's floor, as was done for v.
struct LargestRatioKernel {
  static constexpr Index kLanes = 64;

  device::ChunkView chunks;
  const TensorRule* rules;
  bool mask;
  float eps;
  float root_correction, fresh_root_correction;
  const float* least_roots;  ///< [tensors]
  const float* variance;
  const float* fresh;
  float* largest;
  ONEBIT_HOST_DEVICE void operator()(Index unit) const {
    const device::Chunk chunk = chunks[unit / kLanes];
    const Index offset = rules[chunk.segment].offset;
    float most = 0;
    for (Index i = chunk.begin + unit % kLanes; i < chunk.end; i += kLanes) {
      const float v = variance[offset + i];
      if (mask && v == 0.0f) continue;
      const float root = std::sqrt(fresh[offset + i]) * fresh_root_correction, least = least_roots[chunk.segment];
      const float ratio = (std::sqrt(v) * root_correction + eps) / ((root > least ? root : least) + eps);
      most = ratio > most ? ratio : most;
    }
    largest[unit] = most;
  }
};

}  // namespace onebit::optim
