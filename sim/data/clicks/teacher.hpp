#pragma once
// The planted rule by which clicks are drawn.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/data/clicks/draws.hpp"

namespace onebit::sim {

/// Share of clicks that the teacher aims for.
inline constexpr double click_rate = 0.256;

/// The rule: a click has probability sigmoid(b + u.x + sum_t a_t + sum_{s < t} c_st <v_s, v_t>). Here a_t is the sum of
/// the effects of the ids in the bag of table t, and v_t is the sum of their vectors (4 values); both are divided by
/// the square root of the table's number of slots. All weights are standard normal. Each of the three sums is then
/// shifted to mean 0 and scaled, so that features contribute 10% of the logit's variance, individual ids 65% and pairs
/// of tables 25%. The standard deviation of the logit is chosen so that the logit's AUC is about 0.80. b is chosen so
/// that the share of clicks among the examples is click_rate. The means and variances are computed over 2^14 examples
/// of the first day that are in no split.
class ClickTeacher {
 public:
  /// Draws the weights and calibrates them with `draws`, which must be on the first day.
  explicit ClickTeacher(const ClickDraws& draws);

  double logit(std::span<const float> features, std::span<const std::int32_t> bags) const;

 private:
  static constexpr std::size_t kParts = 3;
  using Vector = std::array<float, 4>;
  using Parts = std::array<double, kParts>;
  struct Id {
    float effect;
    Vector vector;
  };

  void draw_weights(Index features);
  Parts parts(std::span<const float> features, std::span<const std::int32_t> bags) const;
  void calibrate(const ClickDraws& draws);
  double scaled(const Parts& parts) const;

  std::vector<BagTable> tables_;
  std::vector<float> weights_;        // of the features
  std::vector<std::vector<Id>> ids_;  // of each table
  std::vector<float> pairs_;          // c_st at s * tables + t
  Parts scale_ = {};                  // factor of each sum
  double offset_ = 0.0;               // b, less the scaled means of the sums
};

/// Returns sigmoid(logit), the probability of a click.
double click_probability(double logit);

}  // namespace onebit::sim
