#pragma once
// Launches the feeding of rows into errors, for host code of this room.

#include "compress/feedback/error_kernels.hpp"
#include "device/comm/communicator.hpp"
#include "device/launch/launch.hpp"

namespace onebit::compress {

/// Calls use(chunks, kernel) with the kernel that leaves y in the errors and yields term(y), and what it runs over: the
/// active elements without the padding, which is fed nothing, or where y is in the errors already, with it.
template <class Term, class Use>
void with_error_feedback(const SegmentTable& table, const EncodeInput& input, float* errors, Index stride,
                         const Term& term, const Use& use) {
  const Segment* segments = table.device_segments();
  if (input.rows == nullptr) {
    use(table.active(), TermKernel<Term>{segments, errors, stride, false, term});
  } else if (input.weights != nullptr) {
    use(table.real(), FeedKernel<Feed::weighted, Term>{segments, input, errors, stride, term});
  } else if (input.shared != nullptr) {
    use(table.real(), FeedKernel<Feed::shared, Term>{segments, input, errors, stride, term});
  } else {
    use(table.real(), FeedKernel<Feed::rows, Term>{segments, input, errors, stride, term});
  }
}

/// Whether active elements are left out by the kernel of with_error_feedback.
inline bool leaves_padding(const SegmentTable& table, const EncodeInput& input) {
  return input.rows != nullptr && table.padding().count() > 0;
}

/// Leaves y in the errors; sums[row * segments + segment] of term(y) over the active elements.
template <class Term>
void feed_terms(const device::Device& device, const SegmentTable& table, Index rows, const EncodeInput& input,
                float* errors, Index stride, const Term& term, double* sums) {
  with_error_feedback(table, input, errors, stride, term, [&](const device::Chunks& chunks, const auto& kernel) {
    reduce(device, rows, chunks, kernel, sums);
  });
  if (!leaves_padding(table, input)) return;
  const Segment* segments = table.device_segments();
  device::Buffer<double> padding_sums(device, rows * table.count());
  reduce(device, rows, table.padding(), TermKernel<Term>{segments, errors, stride, true, term}, padding_sums.data());
  for_each(device, padding_sums.size(), AddKernel{sums, padding_sums.data()});
}

/// Refuses what is not finite, by the sums over the segments of rows in `errors`: refused is [rows][segments].
inline void refuse(const device::Device& device, const SegmentTable& table, Index rows, double* sums, float* errors,
                   Index stride, Index* refused) {
  for_each_item(device, rows * table.count(),
                RefuseKernel{table.device_segments(), table.count(), sums, errors, stride, refused});
}

}  // namespace onebit::compress
