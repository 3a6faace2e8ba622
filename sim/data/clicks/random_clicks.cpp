#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "sim/data/clicks/click_rows.hpp"
#include "sim/data/clicks/clicks.hpp"
#include "sim/data/clicks/streams.hpp"

namespace onebit::sim {
namespace {

constexpr Index usual_bag = 10;

/// Returns a uniform number in [0, 1). use: what the number is for.
double random(Index use, Index element) {
  return device::philox(click_key, {stream_random, use, element})[0] * 0x1p-32;
}

/// Fills a bag. number: differs from that of every other bag.
void fill_bag(std::span<std::int32_t> bag, Index number, Index rows, bool fixed) {
  const auto slots = static_cast<Index>(bag.size());
  const auto most = static_cast<double>(std::min(rows, slots));
  const Index draws = fixed ? slots : std::llround(std::max(1.0, random(1, number) * most));
  std::ranges::fill(bag, kNoRow);
  for (Index i = 0; i < draws; ++i) {
    const double place = random(2, number * slots + i) * static_cast<double>(rows - 1);
    bag[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(std::llround(place));
  }
  const auto drawn = bag.first(static_cast<std::size_t>(draws));
  std::ranges::sort(drawn);
  std::fill(std::unique(drawn.begin(), drawn.end()), drawn.end(), kNoRow);
}

}  // namespace

std::unique_ptr<DataSource> make_random_clicks(const DataConfig& config) {
  ClickRows rows("clicks-random", config, config.bag == 0 ? usual_bag : config.bag, 0);
  const auto tables = static_cast<Index>(rows.tables().size());
  for (Index example = 0; example < config.examples; ++example) {
    const std::span<float> features = rows.features(example);
    for (std::size_t k = 0; k < features.size(); ++k) {
      features[k] = device::uniform(click_key, {stream_random, 0, example * rows.features() + static_cast<Index>(k)});
    }
    std::span<std::int32_t> bags = rows.bags(example);
    for (Index t = 0; t < tables; ++t) {
      const BagTable& table = rows.tables()[static_cast<std::size_t>(t)];
      const auto slots = static_cast<std::size_t>(table.slots);
      fill_bag(bags.first(slots), example * tables + t, table.rows, config.fixed_bag);
      bags = bags.subspan(slots);
    }
    rows.label(example) = random(3, example) < 0.5 ? 0 : 1;
  }
  DenseExamples examples = rows.examples();
  examples.facts.ceiling = "ceiling: log loss 0.6931 and AUC 0.5, because labels do not depend on anything";
  examples.facts.provenance.push_back(examples.facts.ceiling);
  return make_dense(std::move(examples), config);
}

}  // namespace onebit::sim
