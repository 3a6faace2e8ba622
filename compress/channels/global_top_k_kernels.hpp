#pragma once
// Merges the workers' sparse rows, which are stored as dense rows in the order of the errors.

#include "compress/codecs/codec.hpp"

namespace onebit::compress {

/// Copies a decoded row, which is in parameter order, to a row in the order of the errors; padding becomes 0.
struct SpreadKernel {
  const Segment* segments;
  const float* parameters;
  float* row;
  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index segment, const Lanes& lanes) const {
    const Segment& s = segments[segment];
    lanes.each(s.active, [&, this](Index i) { row[s.state + i] = i < s.real ? parameters[s.parameter + i] : 0.0f; });
  }
};

/// Rows that are merged in a round. Pair p consists of the rows at receivers + p * stride and senders + p * stride.
struct MergePairs {
  float* receivers;
  float* senders;
  Index stride;
};

/// Stores the sum of the two rows in both: receiver = sender = receiver + sender.
struct SumKernel {
  MergePairs pairs;
  ONEBIT_HOST_DEVICE void operator()(Index pair, Index i) const {
    float& receiver = pairs.receivers[pair * pairs.stride + i];
    float& sender = pairs.senders[pair * pairs.stride + i];
    receiver += sender;
    sender = receiver;
  }
};

/// Subtracts the sender's row, in which the codec left the elements that the merge dropped, from the receiver's row.
/// The receiver's row then holds only the elements that were encoded.
struct KeepKernel {
  MergePairs pairs;
  ONEBIT_HOST_DEVICE void operator()(Index pair, Index i) const {
    pairs.receivers[pair * pairs.stride + i] -= pairs.senders[pair * pairs.stride + i];
  }
};

/// Adds a worker's elements that are not in the result back to its error.
struct RestoreKernel {
  const float* result;
  const float* sent;
  float* error;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    if (result[i] == 0) error[i] += sent[i];
  }
};

/// Adds to a worker's error what the worker dropped in a merge, for elements that reached the result by another path.
struct RememberKernel {
  const float* result;
  const float* dropped;
  float* error;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    if (result[i] != 0) error[i] += dropped[i];
  }
};

/// Divides the merged row by the number of workers and writes it to the places of its parameters.
struct GlobalMeanKernel {
  const Segment* segments;
  const float* row;
  Index workers;
  float* parameters;
  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index segment, const Lanes& lanes) const {
    const Segment& s = segments[segment];
    lanes.each(s.real, [&, this](Index i) {
      parameters[s.parameter + i] =
          static_cast<float>(static_cast<double>(row[s.state + i]) / static_cast<double>(workers));
    });
  }
};

}  // namespace onebit::compress
