#pragma once
// Independent recommendation model: one example after the other, plain loops, double precision.

#include <cmath>
#include <cstdint>
#include <vector>

#include "device/base/types.hpp"
#include "tests/oracle/vectors.hpp"

namespace onebit::oracle {

/// Sizes of a model. Its weights are, layer after layer, [inputs x outputs] and biases [outputs].
struct Recommender {
  std::vector<Index> bottom;        ///< widths, from the dense features to the width of the tables
  std::vector<Index> top;           ///< widths after the interaction, ending in 1
  bool dot = true;                  ///< whether features interact by products of pairs; otherwise they are concatenated
  std::vector<Index> slots = {};    ///< slots of each table's bag
  std::vector<Vector> tables = {};  ///< elements of each table
  Index width() const { return bottom.back(); }
};

struct Click {
  Vector features;
  std::vector<std::int32_t> bags;
  bool clicked = false;
};

inline Vector layers(Vector values, const std::vector<Index>& widths, bool ends, const Vector& weights,
                     std::size_t& place) {
  for (std::size_t l = 1; l < widths.size(); ++l) {
    const auto outputs = static_cast<std::size_t>(widths[l]), inputs = values.size();
    Vector next(outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      next[o] = weights[place + inputs * outputs + o];
      for (std::size_t i = 0; i < inputs; ++i) next[o] += values[i] * weights[place + i * outputs + o];
      if (next[o] < 0 && !(ends && l + 1 == widths.size())) next[o] = 0;
    }
    place += inputs * outputs + outputs;
    values = next;
  }
  return values;
}

/// Returns the pooled embeddings, [tables][width].
inline Vector pooled(const Recommender& model, const Click& click) {
  Vector result;
  std::size_t slot = 0;
  const auto width = static_cast<std::size_t>(model.width());
  for (std::size_t t = 0; t < model.tables.size(); ++t) {
    Vector sum(width);
    for (Index s = 0; s < model.slots[t]; ++s, ++slot) {
      if (click.bags[slot] < 0) continue;
      for (std::size_t c = 0; c < width; ++c)
        sum[c] += model.tables[t][static_cast<std::size_t>(click.bags[slot]) * width + c];
    }
    result.insert(result.end(), sum.begin(), sum.end());
  }
  return result;
}

/// Returns the interaction of z with the embeddings.
inline Vector interaction(const Vector& z, const Vector& embeddings, bool dot) {
  Vector all = z;
  all.insert(all.end(), embeddings.begin(), embeddings.end());
  if (!dot) return all;
  Vector result = z;
  const std::size_t width = z.size(), features = all.size() / width;
  for (std::size_t i = 0; i < features; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double product = 0;
      for (std::size_t c = 0; c < width; ++c) product += all[i * width + c] * all[j * width + c];
      result.push_back(product);
    }
  }
  return result;
}

/// Returns the loss of an example, -log of the probability of what happened. mask: factors on the pooled embeddings;
/// empty: all 1.
inline double loss(const Recommender& model, const Vector& weights, const Click& click, const Vector& mask = {}) {
  std::size_t place = 0;
  const Vector z = layers(click.features, model.bottom, false, weights, place);
  Vector embeddings = pooled(model, click);
  for (std::size_t i = 0; i < mask.size(); ++i) embeddings[i] *= mask[i];
  const Vector mixed = interaction(z, embeddings, model.dot);
  std::vector<Index> top = {static_cast<Index>(mixed.size())};
  top.insert(top.end(), model.top.begin(), model.top.end());
  const double logit = layers(mixed, top, true, weights, place)[0];
  return std::log1p(std::exp(click.clicked ? -logit : logit));
}

}  // namespace onebit::oracle
