#include "sim/data/clicks/teacher.hpp"

#include <cmath>
#include <cstddef>

#include "sim/data/clicks/streams.hpp"
#include "sim/data/clicks/tables.hpp"

namespace onebit::sim {
namespace {

constexpr std::array shares = {0.10, 0.65, 0.25};  // of features, ids and pairs in the logit's variance
constexpr double deviation = 1.40;                 // of the logit
constexpr Index calibration_examples = Index{1} << 14;
constexpr Index calibration_first = Index{1} << 33;  // examples of the splits have numbers below 2^32

float standard_normal(ClickStream stream, Index worker, Index element) {
  return device::normal(click_key, {stream, worker, element});
}

/// Finds b for which the mean of sigmoid(b + logit) is click_rate.
double offset_for_rate(std::span<const double> logits) {
  double low = -64.0, high = 64.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2.0;
    double sum = 0.0;
    for (const double logit : logits) sum += click_probability(middle + logit);
    (sum < click_rate * static_cast<double>(logits.size()) ? low : high) = middle;
  }
  return low;
}

}  // namespace

double click_probability(double logit) {
  return 1.0 / (1.0 + std::exp(-logit));
}

ClickTeacher::ClickTeacher(const ClickDraws& draws) : tables_(draws.tables()) {
  draw_weights(draws.features());
  calibrate(draws);
}

void ClickTeacher::draw_weights(Index features) {
  const auto tables = static_cast<Index>(tables_.size());
  for (Index k = 0; k < features; ++k) weights_.push_back(standard_normal(stream_weight, 0, k));
  for (Index t = 0; t < tables; ++t) {
    const Index rows = tables_[static_cast<std::size_t>(t)].rows;
    std::vector<Id>& ids = ids_.emplace_back(static_cast<std::size_t>(rows));
    for (Index row = 0; row < rows; ++row) {
      Id& id = ids[static_cast<std::size_t>(row)];
      id.effect = standard_normal(stream_effect, t, row);
      for (Index i = 0; i < 4; ++i) {
        id.vector[static_cast<std::size_t>(i)] = standard_normal(stream_vector, t, row * 4 + i);
      }
    }
  }
  // Of these, only those with s < t are used.
  for (Index pair = 0; pair < tables * tables; ++pair) pairs_.push_back(standard_normal(stream_pair, 0, pair));
}

ClickTeacher::Parts ClickTeacher::parts(std::span<const float> features, std::span<const std::int32_t> bags) const {
  Parts parts = {};
  for (std::size_t k = 0; k < features.size(); ++k) {
    parts[0] += static_cast<double>(weights_[k]) * static_cast<double>(features[k]);
  }
  std::vector<Vector> vectors(tables_.size());
  for (std::size_t t = 0, place = 0; t < tables_.size(); ++t) {
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(tables_[t].slots)));
    for (Index slot = 0; slot < tables_[t].slots; ++slot, ++place) {
      if (bags[place] == kNoRow) continue;
      const Id& id = ids_[t][static_cast<std::size_t>(bags[place])];
      parts[1] += static_cast<double>(scale * id.effect);
      for (std::size_t i = 0; i < 4; ++i) vectors[t][i] += scale * id.vector[i];
    }
    Vector sum = {};
    for (std::size_t s = 0; s < t; ++s) {
      const float pair = pairs_[s * tables_.size() + t];
      for (std::size_t i = 0; i < 4; ++i) sum[i] += pair * vectors[s][i];
    }
    for (std::size_t i = 0; i < 4; ++i) parts[2] += static_cast<double>(sum[i] * vectors[t][i]);
  }
  return parts;
}

double ClickTeacher::scaled(const Parts& parts) const {
  return scale_[0] * parts[0] + scale_[1] * parts[1] + scale_[2] * parts[2];
}

void ClickTeacher::calibrate(const ClickDraws& draws) {
  std::vector<float> features(static_cast<std::size_t>(draws.features()));
  std::vector<std::int32_t> bags(static_cast<std::size_t>(slots_of(tables_)));
  std::vector<Parts> sample;
  for (Index i = 0; i < calibration_examples; ++i) {
    draws.draw(calibration_first + i, features, bags);
    sample.push_back(parts(features, bags));
  }
  constexpr auto count = static_cast<double>(calibration_examples);
  Parts mean = {}, variance = {};
  double present = 0.0;  // share of the sums that vary
  for (std::size_t part = 0; part < kParts; ++part) {
    for (const Parts& each : sample) mean[part] += each[part] / count;
    for (const Parts& each : sample) variance[part] += (each[part] - mean[part]) * (each[part] - mean[part]) / count;
    if (variance[part] > 0.0) present += shares[part];
  }
  for (std::size_t part = 0; part < kParts; ++part) {
    const bool varies = variance[part] > 0.0;
    scale_[part] = varies ? deviation * std::sqrt(shares[part] / present / variance[part]) : 0.0;
  }
  std::vector<double> logits;
  for (const Parts& each : sample) logits.push_back(scaled(each) - scaled(mean));
  offset_ = offset_for_rate(logits) - scaled(mean);
}

double ClickTeacher::logit(std::span<const float> features, std::span<const std::int32_t> bags) const {
  return offset_ + scaled(parts(features, bags));
}

}  // namespace onebit::sim
