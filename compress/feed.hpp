#pragma once
// Launches the feeding of rows into errors, for host code of this room.

#include "compress/error_kernels.hpp"
#include "device/exchange.hpp"
#include "device/launch.hpp"

namespace onebit::compress {

/// Leaves y in the errors; sums[row * segments + segment] of term(y) over the active elements.
template <class Term>
void feed_terms(const device::Device& device, const Side& side, Index rows, const EncodeInput& input, float* errors,
                Index stride, const Term& term, double* sums) {
  const Segment* table = side.device_segments();
  if (input.rows == nullptr) {
    reduce(device, rows, side.active(), TermKernel<Term>{table, errors, stride, false, term}, sums);
    return;
  }
  if (input.weights != nullptr) {
    reduce(device, rows, side.real(), FeedKernel<Feed::weighted, Term>{table, input, errors, stride, term}, sums);
  } else if (input.shared != nullptr) {
    reduce(device, rows, side.real(), FeedKernel<Feed::shared, Term>{table, input, errors, stride, term}, sums);
  } else {
    reduce(device, rows, side.real(), FeedKernel<Feed::rows, Term>{table, input, errors, stride, term}, sums);
  }
  if (side.padding().count() == 0) return;
  device::Buffer<double> padding_sums(device, rows * side.count());
  reduce(device, rows, side.padding(), TermKernel<Term>{table, errors, stride, true, term}, padding_sums.data());
  for_each(device, padding_sums.size(), AddKernel{sums, padding_sums.data()});
}

/// Feeds a group of a device's workers; errors is [workers of this device][state_size]. Throws NotFinite.
inline void feed_group(const device::Shard& shard, const ExchangeLayout& layout, const Side& side, Range group,
                       const EncodeInput& input, device::Buffer<float>& errors) {
  float* rows = errors.data() + (group.first - shard.own().first) * layout.state_size();
  require_finite(feed(shard.device, side, group.count, input, rows, layout.state_size()), side.count(), group.first);
}

}  // namespace onebit::compress
