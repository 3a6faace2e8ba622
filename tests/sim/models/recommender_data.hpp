#pragma once
// A few clicks, for tests of recommendation models.

#include "sim/data/data.hpp"
#include "tests/oracle/random.hpp"
#include "tests/oracle/recommender.hpp"

namespace onebit::tests {

/// Clicks with three dense features and three tables. Bags of the second table have up to three rows, and rows repeat.
class FewClicks final : public sim::DataSource {
 public:
  static constexpr Index kFeatures = 3, kSlots = 5;

  /// rows_of_the_last: rows of the third table, whose ids are below 7.
  explicit FewClicks(Index rows_of_the_last = 7)
      : DataSource({.name = "few-clicks",
                    .features = kFeatures,
                    .context = kSlots,
                    .tables = {{5, 1}, {4, 3}, {rows_of_the_last, 1}},
                    .classes = 2,
                    .train = 64,
                    .holdout = 16},
                   1) {}

  static oracle::Click click(Index example) {
    const std::vector<float> x = oracle::normals(kFeatures, 31, example);
    const auto pick = [&](Index slot, Index rows) {
      return static_cast<std::int32_t>((example * 7 + slot * 3 + example * example / 5) % rows);
    };
    std::vector<std::int32_t> bags = {pick(0, 5), pick(1, 4), pick(2, 4), pick(3, 4), pick(4, 7)};
    if (example % 3 == 0) bags[2] = sim::kNoRow;
    if (example % 4 == 0) bags[1] = bags[2] = bags[3] = sim::kNoRow;
    return {{x.begin(), x.end()}, bags, example % 5 < 2};
  }

 private:
  void copy(Split split, Index example, Index row, sim::Batch& out) const override {
    const oracle::Click click = FewClicks::click(split == Split::train ? example : 64 + example);
    for (Index i = 0; i < kFeatures; ++i)
      out.features[static_cast<std::size_t>(row * kFeatures + i)] =
          static_cast<float>(click.features[static_cast<std::size_t>(i)]);
    std::copy(click.bags.begin(), click.bags.end(), out.tokens.begin() + row * kSlots);
    out.labels[static_cast<std::size_t>(row)] = click.clicked ? 1 : 0;
  }
};

}  // namespace onebit::tests
