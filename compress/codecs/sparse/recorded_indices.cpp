#include "compress/codecs/sparse/recorded_indices.hpp"

#include "device/base/error.hpp"

namespace onebit::compress {

std::optional<std::vector<Index>> recorded_indices(const RecordedDraws& draws, const SegmentTable& table, Index workers,
                                                   const SentCount& count) {
  constexpr const char* kName = "mask_indices";
  const Index n = table.state_end();
  const std::optional<RecordedArray> found = find_recorded(draws, kName, {draws.steps(), workers, count.of(n)});
  if (!found) return std::nullopt;
  if (table.count() != 1) {
    throw ConfigError("recorded indices refer to all tensors as one vector", kName,
                      "use --optimizer.granularity fused");
  }
  std::vector<Index> indices;
  for (const double value : found->values) {
    if (!(value >= -1 && value < static_cast<double>(n))) {
      throw ConfigError("a recorded index is outside the vector", kName,
                        "expected: from 0 to " + std::to_string(n - 1) + ", or -1 for no element");
    }
    indices.push_back(static_cast<Index>(value));
  }
  return indices;
}

}  // namespace onebit::compress
