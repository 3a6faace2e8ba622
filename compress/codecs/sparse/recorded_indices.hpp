#pragma once
// The elements that another program's random codec sent.

#include "compress/codecs/recorded_draws.hpp"
#include "compress/codecs/sparse/sent_count.hpp"
#include "compress/layout/layout.hpp"

namespace onebit::compress {

/// Recorded indices in device memory, `count` for every step and worker.
struct RecordedIndices {
  const Index* data = nullptr;  ///< [steps][workers][count]; -1: no element; null: nothing is recorded
  Index workers = 0, count = 0;

  ONEBIT_HOST_DEVICE bool given() const { return data != nullptr; }
  /// Row of a step (counted from 1, as optimizers do) and a worker.
  ONEBIT_HOST_DEVICE std::uint32_t row(Index step, Index worker) const {
    return static_cast<std::uint32_t>((step - 1) * workers + worker);
  }
  ONEBIT_HOST_DEVICE Index at(std::uint32_t row, Index j) const {
    return j < count ? data[static_cast<Index>(row) * count + j] : -1;
  }
};

/// Reads `mask_indices` [steps, workers, elements sent] of a recording; empty if it has none. Throws ConfigError if the
/// table has more than one vector, if the indices have another shape, or if one of them is outside the vector.
std::optional<std::vector<Index>> recorded_indices(const RecordedDraws& draws, const SegmentTable& table, Index workers,
                                                   const SentCount& count);

}  // namespace onebit::compress
