#pragma once
// Launches the kernels that add rows to errors, for host code of this library.

#include "compress/feedback/error_kernels.hpp"
#include "device/comm/communicator.hpp"
#include "device/launch/launch.hpp"

namespace onebit::compress {

/// Calls use(chunks, kernel) with a kernel that leaves y in the errors and yields term(y). `chunks` are the elements to
/// process: all active elements if the errors already hold y, otherwise only the real elements, since nothing is added
/// to padding.
template <class Term, class Use>
void with_error_feedback(const SegmentTable& table, const EncodeInput& input, ErrorRows errors, const Term& term,
                         const Use& use) {
  const Segment* segments = table.device_segments();
  if (input.rows == nullptr) {
    use(table.active(), TermKernel<Term>{segments, errors.data, errors.stride, false, term});
  } else if (input.weights != nullptr) {
    use(table.real(), FeedKernel<Feed::weighted, Term>{segments, input, errors.data, errors.stride, term});
  } else if (input.shared != nullptr) {
    use(table.real(), FeedKernel<Feed::shared, Term>{segments, input, errors.data, errors.stride, term});
  } else {
    use(table.real(), FeedKernel<Feed::rows, Term>{segments, input, errors.data, errors.stride, term});
  }
}

/// Whether the kernel of with_error_feedback skips padding elements that are active.
inline bool leaves_padding(const SegmentTable& table, const EncodeInput& input) {
  return input.rows != nullptr && table.padding().count() > 0;
}

/// Leaves y in the errors. Sums term(y) over the active elements into sums[row * segments + segment].
template <class Term>
void feed_terms(const device::Device& device, const SegmentTable& table, Index rows, const EncodeInput& input,
                ErrorRows errors, const Term& term, double* sums) {
  with_error_feedback(table, input, errors, term, [&](const device::Chunks& chunks, const auto& kernel) {
    reduce(device, rows, chunks, kernel, sums);
  });
  if (!leaves_padding(table, input)) return;
  const Segment* segments = table.device_segments();
  device::Buffer<double> padding_sums(device, rows * table.count());
  reduce(device, rows, table.padding(), TermKernel<Term>{segments, errors.data, errors.stride, true, term},
         padding_sums.data());
  for_each(device, padding_sums.size(), AddKernel{sums, padding_sums.data()});
}

/// Refuses the segments in `errors` whose sums are not finite. refused is [rows][segments].
inline void refuse(const device::Device& device, const SegmentTable& table, Index rows, double* sums, ErrorRows errors,
                   Index* refused) {
  for_each_item(device, rows * table.count(),
                RefuseKernel{table.device_segments(), table.count(), sums, errors.data, errors.stride, refused});
}

}  // namespace onebit::compress
