#pragma once
// The maths of the layers, an element or a row at a time. Rows are grouped by worker: row = worker * batch + b. Weights
// of worker w start at data + w * stride; stride 0 means that all workers share them.

#include <cmath>

#include "device/math.hpp"
#include "sim/layers/softmax.hpp"

namespace onebit::sim {

enum class Activation { none, relu, gelu };

/// Phi, the distribution function of the standard normal, to 1e-7.
ONEBIT_HOST_DEVICE inline float normal_cdf(float x) {
  return 0.5f * (1.0f + device::erf(x * 0.70710678f));
}

// An activation is a type: the loops over elements have no branches, and vectorise. The slope of some is a function of
// the result, the others' is kept from the forward pass.

struct Identity {
  static constexpr bool kKeepsSlope = false;
  ONEBIT_HOST_DEVICE static float value(float x) { return x; }
};

struct Relu {
  static constexpr bool kKeepsSlope = false;
  ONEBIT_HOST_DEVICE static float value(float x) { return x <= 0.0f ? 0.0f : x; }
  ONEBIT_HOST_DEVICE static float slope(float x) { return x > 0.0f ? 1.0f : 0.0f; }
};

/// The exact one, x Phi(x).
struct Gelu {
  static constexpr bool kKeepsSlope = true;
  ONEBIT_HOST_DEVICE static float value(float x) { return x * normal_cdf(x); }
  ONEBIT_HOST_DEVICE static float slope(float x) {
    return normal_cdf(x) + x * 0.39894228f * device::exp(-0.5f * x * x);
  }
};

/// Calls use with an object of the activation's type.
template <class Use>
void with_type(Activation activation, const Use& use) {
  switch (activation) {
    case Activation::none:
      return use(Identity{});
    case Activation::relu:
      return use(Relu{});
    case Activation::gelu:
      return use(Gelu{});
  }
}

/// value = activation(value + bias), and its slope there.
template <class Function>
struct BiasActivationKernel {
  Index batch;
  Index width;
  const float* bias;
  Index bias_stride;
  float* values;
  float* slopes;  ///< where they are kept
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const {
    const float x = values[row * width + column] + bias[row / batch * bias_stride + column];
    values[row * width + column] = Function::value(x);
    if constexpr (Function::kKeepsSlope) slopes[row * width + column] = Function::slope(x);
  }
};

/// delta *= the activation's slope: `kept`, or what it is at the result `kept`.
template <class Function>
struct ActivationSlopeKernel {
  const float* kept;
  float* delta;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    if constexpr (Function::kKeepsSlope) {
      delta[i] *= kept[i];
    } else {
      delta[i] *= Function::slope(kept[i]);
    }
  }
};

/// Gradient of a bias: the sum of a worker's rows of delta, in row order.
struct BiasGradientKernel {
  Index batch;
  Index width;
  bool add;
  const float* delta;
  float* gradient;
  Index gradient_stride;
  ONEBIT_HOST_DEVICE void operator()(Index worker, Index column) const { columns<1>(worker, column); }

  template <Index count>
  ONEBIT_HOST_DEVICE void columns(Index worker, Index first) const {
    double sums[static_cast<std::size_t>(count)] = {};
    const float* row = delta + worker * batch * width + first;
    for (Index b = 0; b < batch; ++b, row += width) {
#pragma omp simd
      for (Index c = 0; c < count; ++c) sums[c] += static_cast<double>(row[c]);
    }
    float* out = gradient + worker * gradient_stride + first;
    for (Index c = 0; c < count; ++c) {
      out[c] = static_cast<float>(add ? static_cast<double>(out[c]) + sums[c] : sums[c]);
    }
  }
};

/// Softmax and cross-entropy of a row of logits: its loss, whether the largest logit (the first of equals) is the
/// label's, and factor * (p - onehot) over the logits. Zeros where there is no label.
struct CrossEntropyKernel {
  Index classes;
  Index own_rows;              ///< of a worker
  const float* factors;        ///< by worker
  const std::int32_t* labels;  ///< negative: none
  float* logits;               ///< becomes the gradient
  double* loss;
  std::uint8_t* correct;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index row, const Lanes& lanes) const {
    float* z = logits + row * classes;
    const Index label = labels[row];
    if (label < 0) {
      lanes.each(classes, [=](Index c) { z[c] = 0.0f; });
      lanes.once([=, this] { put(row, 0, false); });
      return;
    }
    const float factor = factors[row / own_rows];
    const float top = lanes.largest(classes, [z](Index i) { return z[i]; });
    const float label_logit = z[label];
    const bool hit = label_logit == top && !lanes.any(label, [=](Index c) { return z[c] == label_logit; });
    lanes.meet();
    const double total = exponentiate(lanes, z, classes, top);
    const auto scale = static_cast<float>(static_cast<double>(factor) / total);
    lanes.each(classes, [=](Index c) { z[c] = c == label ? z[c] * scale - factor : z[c] * scale; });
    lanes.once([=, this] { put(row, std::log(total) - static_cast<double>(label_logit - top), hit); });
  }

 private:
  ONEBIT_DEVICE void put(Index row, double row_loss, bool hit) const {
    loss[row] = row_loss;
    correct[row] = hit ? 1 : 0;
  }
};

/// output[place] = the embedding of the token there, plus that of its position in the context, if there are such.
struct EmbedKernel {
  Index batch, context, width;
  const std::int32_t* tokens;
  const float* table;
  const float* positions;  ///< may be null
  Index stride;            ///< of both, from worker to worker
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index place, Index column) const {
    const Index own = place / (batch * context) * stride;
    float value = table[own + tokens[place] * width + column];
    if (positions != nullptr) value += positions[own + place % context * width + column];
    output[place * width + column] = value;
  }
};

/// One column of a worker's embedding gradient: zeroed unless it is added to, then its tokens added in order. No two
/// calls write one element.
struct EmbedGradientKernel {
  Index batch, context, width, vocabulary;
  bool add;
  const std::int32_t* tokens;
  const float* delta;
  float* gradient;
  Index gradient_stride;
  ONEBIT_HOST_DEVICE void operator()(Index worker, Index column) const {
    float* own = gradient + worker * gradient_stride + column;
    for (Index v = 0; v < vocabulary && !add; ++v) own[v * width] = 0.0f;
    for (Index p = worker * batch * context; p < (worker + 1) * batch * context; ++p) {
      own[tokens[p] * width] += delta[p * width + column];
    }
  }
};

}  // namespace onebit::sim
