#pragma once

#include "compress/channels/channel.hpp"
#include "compress/layout/tensor.hpp"

namespace onebit::compress {

/// The tensors of a compressed exchange that are kept dense: their vectors are exchanged as float32 and averaged in
/// double.
class DensePart {
 public:
  /// Prepares to exchange the dense tensors. dense [tensors]: nonzero for the tensors that are kept dense.
  DensePart(const device::Shard& shard, std::span<const Tensor> tensors, std::span<const char> dense);

  bool empty() const { return parts_.empty(); }

  void absorb(Range group, const EncodeInput& input);
  /// Writes the means to their places in `result` [parameters] and appends the traffic. Collective.
  void exchange(float* result, netmodel::TrafficList& traffic);
  netmodel::TrafficList plan() const;

 private:
  struct Part {
    Index tensor = 0;
    Range range;
    device::DenseSum sum;
  };
  device::Shard shard_;
  std::vector<Part> parts_;
  device::Buffer<float> rows_;  ///< [workers of this device][largest part]
};

}  // namespace onebit::compress
