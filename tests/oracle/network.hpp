#pragma once
// Independent softmax regression, multi-layer perceptron and n-gram model: one example after the other, plain loops,
// double precision. Parameters are one flat vector: the embedding table [vocabulary x embedding] if there is a
// vocabulary, then weights [inputs x outputs] and biases [outputs] of every layer.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::oracle {

using Vector = std::vector<double>;

struct Network {
  std::vector<Index> widths;  ///< widths of all layers, from input to logits
  bool gelu = false;          ///< hidden layers; else ReLU
  Index vocabulary = 0;       ///< 0: the input is features
  Index embedding = 0;
};

/// Features [examples x width] or tokens [examples x context], with labels.
struct Examples {
  Vector features;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> labels;
};

struct Result {
  double loss = 0;  ///< sum over the examples
  Index correct = 0;
};

inline double activate(const Network& network, double x) {
  if (network.gelu) return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  return x > 0 ? x : 0;
}

inline Vector input_of(const Network& network, const Vector& parameters, const Examples& examples, std::size_t e) {
  const auto width = static_cast<std::size_t>(network.widths.front());
  Vector input;
  if (network.vocabulary == 0) {
    for (std::size_t i = 0; i < width; ++i) input.push_back(examples.features[e * width + i]);
    return input;
  }
  const auto embedding = static_cast<std::size_t>(network.embedding);
  const std::size_t context = width / embedding;
  for (std::size_t c = 0; c < context; ++c) {
    const auto token = static_cast<std::size_t>(examples.tokens[e * context + c]);
    for (std::size_t i = 0; i < embedding; ++i) input.push_back(parameters[token * embedding + i]);
  }
  return input;
}

inline Vector logits_of(const Network& network, const Vector& parameters, const Examples& examples, std::size_t e) {
  Vector values = input_of(network, parameters, examples, e);
  auto place = static_cast<std::size_t>(network.vocabulary * network.embedding);
  for (std::size_t l = 1; l < network.widths.size(); ++l) {
    const std::size_t inputs = values.size(), outputs = static_cast<std::size_t>(network.widths[l]);
    Vector next(outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = parameters[place + inputs * outputs + o];
      for (std::size_t i = 0; i < inputs; ++i) sum += values[i] * parameters[place + i * outputs + o];
      next[o] = l + 1 < network.widths.size() ? activate(network, sum) : sum;
    }
    place += (inputs + 1) * outputs;
    values = next;
  }
  return values;
}

inline Result evaluate(const Network& network, const Vector& parameters, const Examples& examples) {
  Result result;
  for (std::size_t e = 0; e < examples.labels.size(); ++e) {
    const Vector logits = logits_of(network, parameters, examples, e);
    const auto label = static_cast<std::size_t>(examples.labels[e]);
    double total = 0;
    std::size_t best = 0;
    for (std::size_t c = 0; c < logits.size(); ++c) {
      total += std::exp(logits[c]);
      if (logits[c] > logits[best]) best = c;
    }
    result.loss += std::log(total) - logits[label];
    result.correct += best == label ? 1 : 0;
  }
  return result;
}

inline double mean_loss(const Network& network, const Vector& parameters, const Examples& examples) {
  return evaluate(network, parameters, examples).loss / static_cast<double>(examples.labels.size());
}

/// Returns the parameters without influence: embeddings of tokens that no example contains.
inline std::vector<bool> unused(const Network& network, std::size_t parameters, const Examples& examples) {
  std::vector<bool> result(parameters, false);
  const auto embedding = static_cast<std::size_t>(network.embedding);
  for (std::size_t i = 0; i < static_cast<std::size_t>(network.vocabulary) * embedding; ++i) result[i] = true;
  for (const std::int32_t each : examples.tokens) {
    const auto token = static_cast<std::size_t>(each);
    for (std::size_t i = 0; i < embedding; ++i) result[token * embedding + i] = false;
  }
  return result;
}

/// Returns the gradient of the mean loss by central differences.
inline Vector gradient(const Network& network, Vector parameters, const Examples& examples) {
  constexpr double step = 1e-5;
  const std::vector<bool> zero = unused(network, parameters.size(), examples);
  Vector result(parameters.size(), 0.0);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (zero[i]) continue;
    const double value = parameters[i];
    parameters[i] = value + step;
    const double above = mean_loss(network, parameters, examples);
    parameters[i] = value - step;
    const double below = mean_loss(network, parameters, examples);
    parameters[i] = value;
    result[i] = (above - below) / (2 * step);
  }
  return result;
}

}  // namespace onebit::oracle
