// The area under the ROC curve: by hand, and against its definition.

#include "sim/models/auc.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "device/math/philox.hpp"
#include "tests/catch.hpp"

namespace onebit::sim {
namespace {

using Scores = std::vector<float>;
using Labels = std::vector<std::int32_t>;

/// The definition: the share of pairs in the right order.
double by_pairs(const Scores& scores, const Labels& labels) {
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (labels[i] != 1 || labels[j] == 1) continue;
      pairs += 1;
      right += scores[i] > scores[j] ? 1.0 : scores[i] == scores[j] ? 0.5 : 0.0;
    }
  }
  return right / pairs;
}

TEST_CASE("auc: by hand") {
  CHECK(area_under_curve(Scores{1, 2, 3, 4}, Labels{0, 0, 1, 1}) == 1.0);
  CHECK(area_under_curve(Scores{1, 2, 3, 4}, Labels{1, 1, 0, 0}) == 0.0);
  CHECK(area_under_curve(Scores{1, 2, 3, 4}, Labels{0, 1, 0, 1}) == 0.75);  // 3 of 4 pairs
  CHECK(area_under_curve(Scores{4, 1, 3, 2}, Labels{1, 0, 0, 1}) == 0.75);
  CHECK(area_under_curve(Scores{5, 5, 5}, Labels{0, 1, 1}) == 0.5);
  CHECK(area_under_curve(Scores{1, 2, 2, 3}, Labels{0, 0, 1, 1}) == 0.875);  // 3 pairs and a tie of 4
  CHECK(area_under_curve(Scores{-0.0F, 0.0F}, Labels{0, 1}) == 0.5);
  constexpr float infinite = std::numeric_limits<float>::infinity();
  CHECK(area_under_curve(Scores{-infinite, infinite}, Labels{0, 1}) == 1.0);
}

TEST_CASE("auc: no number where it is not defined") {
  CHECK(std::isnan(area_under_curve({}, {})));
  CHECK(std::isnan(area_under_curve(Scores{1, 2}, Labels{1, 1})));
  CHECK(std::isnan(area_under_curve(Scores{1, 2}, Labels{0, 0})));
  CHECK(std::isnan(area_under_curve(Scores{1, std::nanf("")}, Labels{0, 1})));
}

TEST_CASE("auc: the same as counting all pairs, with few and with many ties") {
  const device::RandomKey key{7, device::Purpose::sampling};
  for (const Index values : {2, 5, 30, 1000000}) {
    for (const std::size_t count : {2U, 3U, 17U, 300U}) {
      Scores scores;
      Labels labels = {0, 1};
      for (std::size_t i = 0; i < count; ++i) {
        const auto place = static_cast<Index>(i);
        scores.push_back(static_cast<float>(device::uniform_index(key, {values, 0, place}, values)) / 8);
        if (i > 1) labels.push_back(static_cast<std::int32_t>(device::uniform_index(key, {values, 1, place}, 2)));
      }
      CAPTURE(values, count);
      CHECK(area_under_curve(scores, labels) == by_pairs(scores, labels));
    }
  }
}

}  // namespace
}  // namespace onebit::sim
