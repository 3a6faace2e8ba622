#pragma once
// The maths of the Adam family, one element at a time.

#include <cmath>
#include <cstdint>

#include "device/base/types.hpp"

namespace onebit::optim {

/// Numbers of one update, the same for all elements. Computed once per step on the host, in double.
struct AdamStep {
  float lr = 0;
  float beta1 = 0, one_minus_beta1 = 0;
  float beta2 = 0, one_minus_beta2 = 0;
  float eps = 0;
  float momentum_correction = 1;           ///< 1 / (1 - beta1^t), or 1
  float root_correction = 1;               ///< 1 / sqrt(1 - beta2^t), or 1
  const float* gradient_factor = nullptr;  ///< clipping factor in device memory; null: 1
};

/// Numbers of an update that differ between tensors.
struct TensorRule {
  Index offset = 0;  ///< offset of the tensor's first element in the parameter vector
  float weight_decay = 0;
  float coefficient = 1;  ///< factor of the learning rate: LAMB's trust ratio
};

/// Returns a factor in device memory, or 1 if the pointer is null.
ONEBIT_HOST_DEVICE inline float value_of(const float* factor) {
  return factor == nullptr ? 1.0f : *factor;
}

/// Clipping factor of a gradient of this norm: 1 if the norm is within the bound, or if the bound is 0 (off).
ONEBIT_HOST_DEVICE inline double clip_factor(double norm, double bound) {
  return bound > 0 && norm > bound ? bound / (norm + 1e-6) : 1.0;
}

/// Computes factors[row] = scale times the clipping factor of a gradient with squared norm squares[row].
struct ClipKernel {
  const double* squares;
  double bound, scale;
  float* factors;
  ONEBIT_HOST_DEVICE void operator()(Index row) const {
    factors[row] = static_cast<float>(scale * clip_factor(std::sqrt(squares[row]), bound));
  }
};

/// Returns Adam's direction, m c1 / (sqrt(v) c2 + eps) + weight_decay x.
ONEBIT_HOST_DEVICE inline float adam_direction(const AdamStep& s, float weight_decay, float x, float m, float v) {
  return (m * s.momentum_correction) / (std::sqrt(v) * s.root_correction + s.eps) + weight_decay * x;
}

/// Values that an update reads for a coordinate. A GPU cannot move later loads ahead of a division or a square root, so
/// an update loads several coordinates before it computes anything.
struct Coordinate {
  float x, momentum, variance, gradient;
};

/// Updates both moments, m = beta1 m + (1 - beta1) g and v = beta2 v + (1 - beta2) g^2, where g is already clipped.
ONEBIT_HOST_DEVICE inline void adam_moments(const AdamStep& s, float g, float& m, float& v) {
  m = s.beta1 * m + s.one_minus_beta1 * g;
  v = s.beta2 * v + s.one_minus_beta2 * (g * g);
}

/// Updates only the variance: v = beta2 v + (1 - beta2) g^2.
struct VarianceKernel {
  AdamStep s;
  const float* gradient;
  float* variance;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    float unused = 0;
    adam_moments(s, gradient[i] * value_of(s.gradient_factor), unused, variance[i]);
  }
};

/// One Adam update (Kingma and Ba 2015; decoupled decay as in AdamW, Loshchilov and Hutter 2019). Yields the squared
/// step.
struct AdamKernel {
  AdamStep s;
  const TensorRule* rules;
  float* x;
  float* momentum;
  float* variance;
  const float* gradient;

  struct Element {
    AdamStep s;
    float gradient_factor, rate, weight_decay;
    float* x;
    float* momentum;
    float* variance;
    const float* gradient;
    ONEBIT_HOST_DEVICE Coordinate load(Index i) const { return {x[i], momentum[i], variance[i], gradient[i]}; }
    ONEBIT_HOST_DEVICE double store(Index i, Coordinate at) const {
      adam_moments(s, at.gradient * gradient_factor, at.momentum, at.variance);
      const float move = rate * adam_direction(s, weight_decay, at.x, at.momentum, at.variance);
      momentum[i] = at.momentum;
      variance[i] = at.variance;
      x[i] = at.x - move;
      return static_cast<double>(move) * static_cast<double>(move);
    }
    ONEBIT_HOST_DEVICE double operator()(Index i) const { return store(i, load(i)); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index, Index tensor) const {
    const TensorRule& r = rules[tensor];
    return {s,
            value_of(s.gradient_factor),
            s.lr * r.coefficient,
            r.weight_decay,
            x + r.offset,
            momentum + r.offset,
            variance + r.offset,
            gradient + r.offset};
  }
};

/// Updates the parameters from moments that have already been updated, as in 1-bit Adam's compression stage and in
/// LAMB. If `mask` is set, a coordinate with v = 0 keeps m = 0 in tensors whose variance is frozen, because one bit
/// cannot encode 0. If the momentum is packed, the kernel unpacks it. Yields the squared step.
struct MoveKernel {
  AdamStep s;
  const TensorRule* rules;
  bool mask;
  float* x;
  float* momentum;
  const float* variance;
  const std::uint8_t* moving = nullptr;  ///< marks [tensors]: nonzero if the variance is still updated; null: none is

  struct Element {
    AdamStep s;
    float rate, weight_decay;
    bool mask;
    float* x;
    float* momentum;
    const float* variance;
    ONEBIT_HOST_DEVICE Coordinate load(Index i) const { return load(i, momentum[i]); }
    ONEBIT_HOST_DEVICE Coordinate load(Index i, float m) const { return {x[i], m, variance[i], 0}; }
    ONEBIT_HOST_DEVICE double store(Index i, const Coordinate& at) const {
      const float m = mask && at.variance == 0.0f ? 0.0f : at.momentum;
      const float move = rate * adam_direction(s, weight_decay, at.x, m, at.variance);
      momentum[i] = m;
      x[i] = at.x - move;
      return static_cast<double>(move) * static_cast<double>(move);
    }
    ONEBIT_HOST_DEVICE double operator()(Index i) const { return store(i, load(i)); }
    ONEBIT_HOST_DEVICE double operator()(Index i, float m) const { return store(i, load(i, m)); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index, Index tensor) const {
    const TensorRule& r = rules[tensor];
    const bool masks = mask && (moving == nullptr || moving[tensor] == 0);
    return {s, s.lr * r.coefficient, r.weight_decay, masks, x + r.offset, momentum + r.offset, variance + r.offset};
  }
};

/// Computes rows of local momenta: out = beta1 momentum + factors[row] gradient.
struct LocalMomentaKernel {
  const float* momentum;
  float beta1;
  const float* gradients;
  Index stride;
  const float* factors;
  float* out;
  Index out_stride;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    out[row * out_stride + i] = beta1 * momentum[i] + factors[row] * gradients[row * stride + i];
  }
};

struct SquareTerm {
  const float* values;
  Index stride;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const auto value = static_cast<double>(values[row * stride + i]);
    return value * value;
  }
};

struct AbsoluteTerm {
  const float* values;
  ONEBIT_HOST_DEVICE double operator()(Index, Index, Index i) const {
    return std::fabs(static_cast<double>(values[i]));
  }
};

/// Yields the magnitudes of a tensor's values.
struct TensorAbsoluteTerm {
  const TensorRule* rules;
  const float* values;

  struct Element {
    const float* values;
    ONEBIT_HOST_DEVICE double operator()(Index i) const { return std::fabs(static_cast<double>(values[i])); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index, Index tensor) const { return {values + rules[tensor].offset}; }
};

/// Stores the exchanged momentum. A variance that is not frozen is updated with the gradient that the momentum implies.
/// Yields the magnitude of the variance, or 0 if it is frozen.
struct MovingVarianceKernel {
  float beta1, one_minus_beta1;
  float kept, added;  ///< factors of the variance and of the gradient's square
  const TensorRule* rules;
  const std::uint8_t* moving;  ///< [tensors]
  const float* exchanged;
  float* momentum;
  float* variance;

  struct Moments {
    float exchanged, momentum, variance;
  };
  struct Element {
    float beta1, one_minus_beta1, kept, added;
    bool moves;
    const float* exchanged;
    float* momentum;
    float* variance;
    ONEBIT_HOST_DEVICE Moments load(Index i) const { return {exchanged[i], momentum[i], variance[i]}; }
    ONEBIT_HOST_DEVICE double store(Index i, const Moments& at) const {
      const float g = (at.exchanged - beta1 * at.momentum) / one_minus_beta1;
      const float v = moves ? kept * at.variance + added * (g * g) : at.variance;
      momentum[i] = at.exchanged;
      variance[i] = v;
      return moves ? std::fabs(static_cast<double>(v)) : 0;
    }
    ONEBIT_HOST_DEVICE double operator()(Index i) const { return store(i, load(i)); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index, Index tensor) const {
    const Index offset = rules[tensor].offset;
    return {beta1,
            one_minus_beta1,
            kept,
            added,
            moving[tensor] != 0,
            exchanged + offset,
            momentum + offset,
            variance + offset};
  }
};

/// Counts the nonzero gradients at the listed coordinates.
struct MaskedGradientTerm {
  const Index* coordinates;
  const float* rows;
  Index stride;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    return rows[row * stride + coordinates[i]] != 0.0f ? 1.0 : 0.0;
  }
};

}  // namespace onebit::optim
