#pragma once
// Independent models by fields: logistic regression, factorization machine by its pairs, and a deep part. One example
// after the other, plain loops, double precision.

#include <cmath>
#include <vector>

#include "tests/oracle/recommender.hpp"

namespace onebit::oracle {

/// Sizes of a model. Its weights are the first deep layer [fields x factors][hidden] and its biases, the layers above
/// it, then the factors on the dense features and the constant term.
struct FieldModel {
  Index factors = 0;             ///< numbers in v; rows are (w, v)
  Index hidden = 0;              ///< width of the first deep layer; 0: no deep part
  std::vector<Index> top = {};   ///< widths above it, ending in 1
  std::vector<Index> rows = {};  ///< rows of each field's table
};

/// Returns (w, v) of every field that an example has.
inline Rows vectors_of(const FieldModel& model, const Vector& tables, const std::vector<std::int32_t>& ids) {
  Rows result;
  Index first = 0;
  const Index width = 1 + model.factors;
  for (std::size_t t = 0; t < model.rows.size(); ++t) {
    const auto begin = tables.begin() + (first + std::max(ids[t], 0)) * width;
    result.push_back(ids[t] < 0 ? Vector(static_cast<std::size_t>(width)) : Vector(begin, begin + width));
    first += model.rows[t];
  }
  return result;
}

/// Returns what the deep part adds to the logit. place: where its weights begin; moved to their end.
inline double deep(const FieldModel& model, const Rows& vectors, const Vector& weights, std::size_t& place) {
  const auto k = static_cast<std::size_t>(model.factors), h = static_cast<std::size_t>(model.hidden);
  Vector values(h);
  for (std::size_t o = 0; o < h; ++o) {
    for (std::size_t t = 0; t < vectors.size(); ++t) {
      for (std::size_t f = 0; f < k; ++f) values[o] += vectors[t][1 + f] * weights[place + (t * k + f) * h + o];
    }
    values[o] = std::max(0.0, values[o] + weights[place + vectors.size() * k * h + o]);
  }
  place += vectors.size() * k * h + h;
  std::vector<Index> widths = {model.hidden};
  widths.insert(widths.end(), model.top.begin(), model.top.end());
  return layers(values, widths, true, weights, place)[0];
}

/// Returns the logit: the sum of all w, the products of all pairs of v, the dense features, the deep part.
inline double logit(const FieldModel& model, const Vector& weights, const Vector& features, const Rows& vectors) {
  double sum = 0;
  for (std::size_t t = 0; t < vectors.size(); ++t) {
    sum += vectors[t][0];
    for (std::size_t u = 0; u < t; ++u) {
      for (std::size_t f = 1; f < vectors[t].size(); ++f) sum += vectors[t][f] * vectors[u][f];
    }
  }
  std::size_t place = 0;
  if (model.hidden > 0) sum += deep(model, vectors, weights, place);
  for (const double x : features) sum += x * weights[place++];
  return sum + weights[place];
}

inline double loss(const FieldModel& model, const Vector& weights, const Vector& tables, const Click& click) {
  const double z = logit(model, weights, click.features, vectors_of(model, tables, click.bags));
  return std::log1p(std::exp(click.clicked ? -z : z));
}

}  // namespace onebit::oracle
