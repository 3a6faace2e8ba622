#pragma once
// Kernels of the layers. They compute an element or a row at a time. Rows are grouped by worker: row = worker * batch +
// b. Weights of worker w start at data + w * stride; stride 0 means that all workers share them.

#include <cmath>

#include "device/launch/lanes.hpp"
#include "device/math/math.hpp"
#include "sim/layers/softmax.hpp"

namespace onebit::sim {

enum class Activation { none, relu, gelu };

/// Returns Phi(x), the distribution function of the standard normal distribution, to within 1e-7.
ONEBIT_HOST_DEVICE inline float normal_cdf(float x) {
  return 0.5f * (1.0f + device::erf(x * 0.70710678f));
}

// An activation is a type, so that the loops over elements have no branches and vectorise. Some slopes are functions of
// the result; the others are kept from the forward pass.

struct Identity {
  static constexpr bool kKeepsSlope = false;
  ONEBIT_HOST_DEVICE static float value(float x) { return x; }
};

struct Relu {
  static constexpr bool kKeepsSlope = false;
  ONEBIT_HOST_DEVICE static float value(float x) { return x <= 0.0f ? 0.0f : x; }
  ONEBIT_HOST_DEVICE static float slope(float x) { return x > 0.0f ? 1.0f : 0.0f; }
};

/// The exact GELU, x Phi(x).
struct Gelu {
  static constexpr bool kKeepsSlope = true;
  ONEBIT_HOST_DEVICE static float value(float x) { return x * normal_cdf(x); }
  ONEBIT_HOST_DEVICE static float slope(float x) {
    return normal_cdf(x) + x * 0.39894228f * device::exp(-0.5f * x * x);
  }
};

/// Calls `use`, passing it an object of the activation's type.
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

/// Computes value = activation(value + bias). If the activation keeps slopes, also writes its slope at the same
/// argument.
template <class Function>
struct BiasActivationKernel {
  Index batch;
  Index width;
  const float* bias;
  Index bias_stride;
  float* values;
  float* slopes;  ///< may be null if the activation keeps none
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const {
    const float x = values[row * width + column] + bias[row / batch * bias_stride + column];
    values[row * width + column] = Function::value(x);
    if constexpr (Function::kKeepsSlope) slopes[row * width + column] = Function::slope(x);
  }
};

/// Multiplies delta by the activation's slope. kept: the slopes or, if the activation keeps none, its results.
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

/// Writes a sum to a gradient, or adds it to the gradient.
ONEBIT_HOST_DEVICE inline void put_sum(double sum, bool add, float& out) {
  out = static_cast<float>(add ? static_cast<double>(out) + sum : sum);
}

/// Gradient of a bias: the sum of a worker's rows of delta.
struct BiasGradientKernel {
  Index batch;
  Index width;
  bool add;
  const float* delta;
  float* gradient;
  Index gradient_stride;
  ONEBIT_HOST_DEVICE device::ColumnTerms<1> operator()(Index worker, Index row, Index column) const {
    return {{static_cast<double>(delta[(worker * batch + row) * width + column])}};
  }
  ONEBIT_HOST_DEVICE void put(Index worker, Index column, const device::ColumnTerms<1>& sum) const {
    put_sum(sum.term[0], add, gradient[worker * gradient_stride + column]);
  }
};

/// Computes softmax and cross-entropy of a row of logits: its loss, whether the largest logit (the first one if several
/// are equal) is that of the label, and the gradient factor * (p - onehot), which replaces the logits. If the row has
/// no label, loss and gradient are zero, and `correct` is 0.
struct CrossEntropyKernel {
  Index classes;
  Index own_rows;              ///< rows per worker
  const float* factors;        ///< factor of each worker
  const std::int32_t* labels;  ///< label of each row; negative if it has none
  float* logits;               ///< logits, replaced by their gradient
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
    lanes.barrier();
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

/// Loss of one label of a worker.
struct LabelLossTerm {
  const double* losses;  ///< losses of the labels, [workers][own]
  Index own;
  ONEBIT_HOST_DEVICE double operator()(Index worker, Index, Index i) const { return losses[worker * own + i]; }
};

/// Computes output[place] = the embedding of the token there, plus that of its position in the context if positions
/// have embeddings.
struct EmbedKernel {
  Index batch, context, width;
  const std::int32_t* tokens;
  const float* table;
  const float* positions;  ///< may be null
  Index stride;            ///< stride of both tables from worker to worker
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index place, Index column) const {
    const Index own = place / (batch * context) * stride;
    float value = table[own + tokens[place] * width + column];
    if (positions != nullptr) value += positions[own + place % context * width + column];
    output[place * width + column] = value;
  }
};

/// Maximum number of a worker's places that are sorted together by token. The cost of sorting them grows with the
/// square of this number.
inline constexpr Index kTokenPart = 256;

/// Sorts the places of each part of a worker by token and writes them to `order`. Equal tokens keep their order.
struct TokenOrderKernel {
  Index own_places;  ///< places per worker
  const std::int32_t* tokens;
  std::int32_t* order;
  ONEBIT_HOST_DEVICE void operator()(Index place) const {
    const Index worker = device::run_of(place, own_places), own = place - worker * own_places;
    const Index first = place - own % kTokenPart, left = (worker + 1) * own_places - first;
    const Index end = first + (left < kTokenPart ? left : kTokenPart);
    const std::int32_t token = tokens[place];
    std::int32_t rank = 0;
    for (Index other = first; other < place; ++other) rank += tokens[other] <= token ? 1 : 0;
    for (Index other = place + 1; other < end; ++other) rank += tokens[other] < token ? 1 : 0;
    order[first + rank] = static_cast<std::int32_t>(place);
  }
};

/// Adds the gradient at each place to the gradient of the token there, for one part of each worker's places. The call
/// for a token's first place in the part adds the gradients at all places of that token in the part, in order, so that
/// no two calls write the same element.
struct EmbedGradientKernel {
  Index own_places, first, count;  ///< places per worker; first place and size of the part
  Index width;
  const std::int32_t* tokens;
  const std::int32_t* order;
  const float* delta;
  float* gradient;
  Index gradient_stride;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const { columns<1>(row, column); }

  template <Index lines>
  ONEBIT_HOST_DEVICE void columns(Index row, Index column) const {
    const Index worker = device::run_of(row, count), i = row - worker * count;
    const std::int32_t* places = order + worker * own_places + first;
    const std::int32_t token = tokens[places[i]];
    if (i > 0 && tokens[places[i - 1]] == token) return;
    float* out = gradient + worker * gradient_stride + token * width + column;
    float sums[static_cast<std::size_t>(lines)];
    for (Index c = 0; c < lines; ++c) sums[c] = out[c];
    for (Index k = i; k < count && tokens[places[k]] == token; ++k) {
      const float* from = delta + places[k] * width + column;
      for (Index c = 0; c < lines; ++c) sums[c] += from[c];
    }
    for (Index c = 0; c < lines; ++c) out[c] = sums[c];
  }
};

/// Zeroes rows that begin `stride` apart.
struct ZeroRowsKernel {
  float* rows;
  Index stride;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const { rows[row * stride + i] = 0.0f; }
};

}  // namespace onebit::sim
