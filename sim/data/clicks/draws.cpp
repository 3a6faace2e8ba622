#include "sim/data/clicks/draws.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "sim/data/clicks/streams.hpp"

namespace onebit::sim {
namespace {

/// Shuffles the values at `places` among themselves.
void shuffle(std::vector<std::uint32_t>& values, std::span<const std::uint32_t> places, Index table, Index day) {
  const auto rows = static_cast<Index>(values.size());
  for (auto i = static_cast<Index>(places.size()) - 1; i > 0; --i) {
    const Index j = device::uniform_index(click_key, {stream_shuffle, table, day * rows + i}, i + 1);
    std::swap(values[places[static_cast<std::size_t>(i)]], values[places[static_cast<std::size_t>(j)]]);
  }
}

}  // namespace

ClickDraws::ClickDraws(Index features, std::vector<BagTable> tables, double zipf, double drift)
    : tables_(std::move(tables)), drift_(drift) {
  for (Index k = 0; k < features; ++k) {
    const auto words = device::philox(click_key, {stream_shape, 0, k});
    shapes_.push_back({words[0] * 0x1p-31, 0.5 + words[1] * 0x1p-32});
  }
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    ranks_.emplace_back(tables_[t].rows, zipf);
    std::vector<std::uint32_t> all(static_cast<std::size_t>(tables_[t].rows));
    std::iota(all.begin(), all.end(), 0U);
    ids_.push_back(all);
    shuffle(ids_.back(), all, static_cast<Index>(t), 0);
  }
}

void ClickDraws::next_day() {
  ++day_;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const auto table = static_cast<Index>(t);
    std::vector<std::uint32_t> moved;
    for (Index rank = 0; rank < tables_[t].rows; ++rank) {
      const auto word = device::philox(click_key, {stream_moved, table, day_ * tables_[t].rows + rank})[0];
      if (word * 0x1p-32 < drift_) moved.push_back(static_cast<std::uint32_t>(rank));
    }
    shuffle(ids_[t], moved, table, day_);
  }
}

void ClickDraws::draw(Index example, std::span<float> features, std::span<std::int32_t> bags) const {
  for (std::size_t k = 0; k < features.size(); ++k) {
    const Index place = example * this->features() + static_cast<Index>(k);
    const double n = static_cast<double>(device::normal(click_key, {stream_dense, 0, place}));
    features[k] = static_cast<float>(std::log1p(std::exp(shapes_[k].location + shapes_[k].spread * n)));
  }
  std::int32_t* bag = bags.data();
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const Index slots = tables_[t].slots;
    for (Index slot = 0; slot < slots; ++slot) {
      const Index rank = ranks_[t].draw(click_key, {stream_rank, static_cast<Index>(t), example * slots + slot});
      const auto id = static_cast<std::int32_t>(ids_[t][static_cast<std::size_t>(rank)]);
      bag[slot] = std::find(bag, bag + slot, id) == bag + slot ? id : kNoRow;
    }
    bag += slots;
  }
}

}  // namespace onebit::sim
