#pragma once
// The merging of the workers' sparse rows, kept as dense rows in the order of the errors.

#include "compress/codecs/codec.hpp"

namespace onebit::compress {

/// One decoded row to the places of its errors; padding is 0.
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

/// Rows that meet in a round: pair p is receivers + p * stride and senders + p * stride.
struct MergePairs {
  float* receivers;
  float* senders;
  Index stride;
};

/// Both hold the sum.
struct SumKernel {
  MergePairs pairs;
  ONEBIT_HOST_DEVICE void operator()(Index pair, Index i) const {
    float& receiver = pairs.receivers[pair * pairs.stride + i];
    float& sender = pairs.senders[pair * pairs.stride + i];
    receiver += sender;
    sender = receiver;
  }
};

/// The sender's row has become what the codec leaves of the sum, an element or 0: the receiver keeps the others.
struct KeepKernel {
  MergePairs pairs;
  ONEBIT_HOST_DEVICE void operator()(Index pair, Index i) const {
    pairs.receivers[pair * pairs.stride + i] -= pairs.senders[pair * pairs.stride + i];
  }
};

/// A worker's elements that are not in the result go back to its errors.
struct RestoreKernel {
  const float* result;
  const float* sent;
  float* error;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    if (result[i] == 0) error[i] += sent[i];
  }
};

/// What a worker dropped in a merge of elements that are in the result by another way is its error.
struct RememberKernel {
  const float* result;
  const float* dropped;
  float* error;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    if (result[i] != 0) error[i] += dropped[i];
  }
};

/// The result over the workers to its parameters.
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
