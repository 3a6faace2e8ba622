#pragma once
// What an example of planted click data consists of: dense features and bags of ids.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/data/clicks/zipf.hpp"
#include "sim/data/data.hpp"

namespace onebit::sim {

/// Draws examples, each a function of its number and of the day.
///
/// Feature k is log(1 + exp(m_k + s_k n)) where n is standard normal, and m_k in [0, 2) and s_k in [1/2, 3/2) are drawn
/// once. A bag has `slots` draws from its table; if a draw repeats an id of the bag, the slot of that draw stays
/// unused. The rank of an id follows Zipf's law. A permutation turns ranks into ids. On every day after the first, each
/// rank is moved with probability `drift`, and the ids of the moved ranks are shuffled.
class ClickDraws {
 public:
  ClickDraws(Index features, std::vector<BagTable> tables, double zipf, double drift);

  /// Bytes that the draws and a teacher take for each row of a table.
  static constexpr Index kBytesPerRow = 36;

  const std::vector<BagTable>& tables() const { return tables_; }
  Index features() const { return static_cast<Index>(shapes_.size()); }

  /// Begins the day after the current one.
  void next_day();

  /// Draws an example of the current day. bags: [slots_of(tables)].
  void draw(Index example, std::span<float> features, std::span<std::int32_t> bags) const;

  /// Returns the id that each rank of a table has on the current day.
  std::span<const std::uint32_t> ids(Index table) const { return ids_[static_cast<std::size_t>(table)]; }
  const ZipfRanks& ranks(Index table) const { return ranks_[static_cast<std::size_t>(table)]; }

 private:
  struct Shape {
    double location, spread;
  };

  std::vector<BagTable> tables_;
  double drift_;
  Index day_ = 0;
  std::vector<Shape> shapes_;
  std::vector<ZipfRanks> ranks_;
  std::vector<std::vector<std::uint32_t>> ids_;
};

}  // namespace onebit::sim
