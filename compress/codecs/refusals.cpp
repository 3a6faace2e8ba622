#include "compress/codecs/refusals.hpp"

#include <algorithm>

namespace onebit::compress {

void Refusals::add(const device::Buffer<Index>& refused, Index rows, Index segments, std::optional<Index> worker) {
  parts_.push_back({refused.fetch(rows * segments), segments, worker});
}

std::optional<Refused> Refusals::first() const {
  for (const Part& part : parts_) {
    const Index* found = std::find_if(part.refused.begin(), part.refused.end(), [](Index note) { return note < 0; });
    if (found == part.refused.end()) continue;
    Refused result{.worker = part.worker, .state = -1 - *found};
    if (result.worker) *result.worker += (found - part.refused.begin()) / part.segments;
    return result;
  }
  return std::nullopt;
}

}  // namespace onebit::compress
