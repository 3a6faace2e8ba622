#pragma once
// Independent layers of a transformer, and a whole one: one example after the other, plain loops, double precision.

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <vector>

#include "device/math/philox.hpp"

namespace onebit::oracle {

using Vector = std::vector<double>;
using Tokens = std::vector<std::int32_t>;

/// Returns the factor by which dropout multiplies an element of an example.
using Mask = std::function<double(Index element)>;

inline double keep(Index) {
  return 1;
}

/// The mask of a site in training: word `element % 4` of the block of random numbers of a quad of elements.
inline Mask dropout(double rate, std::uint32_t seed, Index step, Index worker, Index draw, Index site) {
  if (rate == 0) return keep;
  return [=](Index element) {
    const Index position = draw * (Index{1} << 36) + site * (Index{1} << 26) + element / 4;
    const auto words = device::philox({seed, device::Purpose::dropout}, {step, worker, position});
    const double uniform = static_cast<double>(words[static_cast<std::size_t>(element % 4)]) / 4294967296.0;
    return uniform < rate ? 0 : 1 / (1 - rate);
  };
}

inline double gelu(double x) {
  return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
}

/// Parameters read one tensor after the other.
class Reader {
 public:
  explicit Reader(const Vector& values) : values_(values) {}
  const double* take(Index count) {
    place_ += static_cast<std::size_t>(count);
    return values_.data() + place_ - count;
  }

 private:
  const Vector& values_;
  std::size_t place_ = 0;
};

inline Vector linear(const Vector& x, Index inputs, Index outputs, Reader& parameters) {
  const double* weight = parameters.take(inputs * outputs);
  const double* bias = parameters.take(outputs);
  Vector y;
  for (auto row = x.begin(); row != x.end(); row += inputs) {
    for (Index o = 0; o < outputs; ++o) {
      double sum = bias[o];
      for (Index i = 0; i < inputs; ++i) sum += row[i] * weight[i * outputs + o];
      y.push_back(sum);
    }
  }
  return y;
}

inline Vector layer_norm(const Vector& x, Index width, Reader& parameters) {
  const double* weight = parameters.take(width);
  const double* bias = parameters.take(width);
  Vector y;
  for (auto row = x.begin(); row != x.end(); row += width) {
    double mean = 0, variance = 0;
    for (Index i = 0; i < width; ++i) mean += row[i] / static_cast<double>(width);
    for (Index i = 0; i < width; ++i) variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(width);
    for (Index i = 0; i < width; ++i) y.push_back((row[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i]);
  }
  return y;
}

/// Reads [positions][3 width]; element i t + j of a head's mask, counted from a multiple of 4 in each head, is that of
/// query i and key j.
inline Vector attention(const Vector& qkv, Index positions, Index width, Index heads, bool causal, const Mask& mask) {
  const auto at = [&](Index position, Index column) {
    return qkv[static_cast<std::size_t>(position * 3 * width + column)];
  };
  const Index own = width / heads, square = (positions * positions + 3) / 4 * 4;
  Vector y(static_cast<std::size_t>(positions * width), 0.0);
  for (Index head = 0; head < heads; ++head) {
    for (Index i = 0; i < positions; ++i) {
      const Index keys = causal ? i + 1 : positions;
      Vector weights;
      double total = 0;
      for (Index j = 0; j < keys; ++j) {
        double score = 0;
        for (Index c = head * own; c < (head + 1) * own; ++c) score += at(i, c) * at(j, width + c);
        weights.push_back(std::exp(score / std::sqrt(static_cast<double>(own))));
        total += weights.back();
      }
      for (Index j = 0; j < keys; ++j) {
        const double weight = weights[static_cast<std::size_t>(j)] / total * mask(head * square + i * positions + j);
        for (Index c = head * own; c < (head + 1) * own; ++c) {
          y[static_cast<std::size_t>(i * width + c)] += weight * at(j, 2 * width + c);
        }
      }
    }
  }
  return y;
}

/// Returns the first `context` tokens' embeddings plus those of their positions, if there are any.
inline Vector embed(const Tokens& tokens, Index width, const double* table, const double* positions) {
  Vector y;
  for (std::size_t p = 0; p < tokens.size(); ++p) {
    for (Index i = 0; i < width; ++i) {
      const double place = positions == nullptr ? 0 : positions[static_cast<Index>(p) * width + i];
      y.push_back(table[tokens[p] * width + i] + place);
    }
  }
  return y;
}

/// x E^T.
inline Vector products_with_rows(const Vector& x, Index width, Index rows, const double* table) {
  Vector y;
  for (auto row = x.begin(); row != x.end(); row += width) {
    for (Index v = 0; v < rows; ++v) {
      double sum = 0;
      for (Index i = 0; i < width; ++i) sum += row[i] * table[v * width + i];
      y.push_back(sum);
    }
  }
  return y;
}

struct Transformer {
  Index vocabulary = 0, context = 0, depth = 0, width = 0, heads = 0;
  bool causal = false, pre = false, tied = true;
};

/// Mask of a site of the network.
using Masks = std::function<Mask(Index site)>;

inline Vector masked(Vector values, const Mask& mask) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= mask(static_cast<Index>(i));
  return values;
}

/// Logits of an example at every position. Sites are numbered from the embedding on, as in the network, and `masks` is
/// called for every one; without dropout their numbers do not matter.
inline Vector logits_of(const Transformer& model, const Vector& parameters, const Tokens& tokens, const Masks& masks) {
  Reader read(parameters);
  const Index d = model.width;
  Index site = 0;
  const double* table = read.take(model.vocabulary * d);
  const double* positions = read.take(model.context * d);
  Vector x = embed(tokens, d, table, positions);
  if (!model.pre) x = layer_norm(x, d, read);
  x = masked(x, masks(site++));
  const auto add = [&](const std::function<Vector(const Vector&)>& body) {
    // A pre-norm's parameters stand before the body's, a post-norm's after.
    Vector branch = body(model.pre ? layer_norm(x, d, read) : x);
    branch = masked(branch, masks(site++));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += branch[i];
    if (!model.pre) x = layer_norm(x, d, read);
  };
  for (Index block = 0; block < model.depth; ++block) {
    add([&](const Vector& in) {
      const Vector qkv = linear(in, d, 3 * d, read);
      return linear(attention(qkv, model.context, d, model.heads, model.causal, masks(site++)), d, d, read);
    });
    add([&](const Vector& in) {
      Vector hidden = linear(in, d, 4 * d, read);
      for (double& value : hidden) value = gelu(value);
      return linear(hidden, 4 * d, d, read);
    });
  }
  if (model.pre) x = layer_norm(x, d, read);
  if (!model.causal) {
    x = linear(x, d, d, read);
    for (double& value : x) value = gelu(value);
    x = layer_norm(x, d, read);
  }
  if (!model.tied) return linear(x, d, model.vocabulary, read);
  Vector logits = products_with_rows(x, d, model.vocabulary, table);
  const double* bias = model.causal ? nullptr : read.take(model.vocabulary);
  for (std::size_t i = 0; bias != nullptr && i < logits.size(); ++i) {
    logits[i] += bias[i % static_cast<std::size_t>(model.vocabulary)];
  }
  return logits;
}

/// Sum of the cross-entropies of an example's labels; negative numbers are not labels.
inline double loss_of(const Transformer& model, const Vector& parameters, const Tokens& tokens, const Tokens& labels,
                      const Masks& masks) {
  const Vector logits = logits_of(model, parameters, tokens, masks);
  double loss = 0;
  for (std::size_t p = 0; p < labels.size(); ++p) {
    if (labels[p] < 0) continue;
    const double* own = logits.data() + p * static_cast<std::size_t>(model.vocabulary);
    double total = 0;
    for (Index v = 0; v < model.vocabulary; ++v) total += std::exp(own[v]);
    loss += std::log(total) - own[labels[p]];
  }
  return loss;
}

}  // namespace onebit::oracle
