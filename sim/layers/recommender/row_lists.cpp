#include "sim/layers/recommender/row_lists.hpp"

#include <array>
#include <bit>

namespace onebit::sim {

/// Sorts the entries by row; equal rows keep their order. This is a radix sort with 11 bits per pass.
void RowLists::sort(Index table_rows) {
  constexpr int digit = 11;
  sorted_.resize(entries_.size());
  for (int shift = 0; (table_rows - 1) >> shift > 0; shift += digit) {
    const auto of = [shift](const Entry& entry) {
      return static_cast<std::size_t>(static_cast<std::uint32_t>(entry.row) >> shift & ((1u << digit) - 1));
    };
    std::array<std::size_t, (1u << digit) + 1> next{};
    for (const Entry& entry : entries_) ++next[of(entry) + 1];
    for (std::size_t d = 1; d < next.size(); ++d) next[d] += next[d - 1];
    for (const Entry& entry : entries_) sorted_[next[of(entry)]++] = entry;
    entries_.swap(sorted_);
  }
}

void RowLists::list(std::span<const std::int32_t> bags, std::span<const TablePlace> tables, Index parts, Index width) {
  rows.clear();
  examples.clear();
  const Index slots = tables.back().first_slot + tables.back().slots, pooled = std::ssize(tables) * width;
  const auto count = static_cast<std::int32_t>(std::ssize(bags) / slots);
  Index column = 0;
  for (const TablePlace& table : tables) {
    entries_.clear();
    for (std::int32_t example = 0; example < count; ++example) {
      const std::int32_t* bag = bags.data() + example * slots + table.first_slot;
      for (Index s = 0; s < table.slots; ++s) {
        if (bag[s] >= 0) entries_.push_back({bag[s], example});
      }
    }
    sort(table.rows);
    std::int32_t last = -1;
    for (const Entry& entry : entries_) {
      if (entry.row != last) {
        const Index part = part_of(entry.row, table.rows, parts);
        rows.push_back({table.first_row + entry.row, part * pooled + column, std::ssize(examples), 0});
      }
      last = entry.row;
      ++rows.back().count;
      examples.push_back(entry.example);
    }
    column += width;
  }
}

}  // namespace onebit::sim
