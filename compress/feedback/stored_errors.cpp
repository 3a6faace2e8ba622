#include "compress/feedback/stored_errors.hpp"

#include <algorithm>

#include "compress/feedback/error_kernels.hpp"
#include "compress/feedback/stored_error_kernels.hpp"
#include "device/launch/launch.hpp"

namespace onebit::compress {

StoredErrors::StoredErrors(const device::Device& device, Index rows, Index stride, ErrorType type)
    : device_(device), rows_(rows), stride_(stride), type_(type) {
  const Index blocks = rows * RowBlocks{stride}.of_row();
  switch (type) {
    case ErrorType::fp32:
      floats_ = device::Buffer<float>::zeros(device, size());
      return;
    case ErrorType::bf16:
      bfloats_ = device::Buffer<std::uint16_t>::zeros(device, size());
      return;
    case ErrorType::int8:
      bytes_ = device::Buffer<std::int8_t>::zeros(device, size());
      largest_ = device::Buffer<float>::zeros(device, blocks);
  }
}

Index StoredErrors::bytes() const {
  return (floats_.size() + largest_.size()) * Index{sizeof(float)} + bfloats_.size() * Index{sizeof(std::uint16_t)} +
         bytes_.size();
}

/// Returns as many rows as an encoding needs to keep the device busy.
Index StoredErrors::rows_to_edit() const {
  constexpr Index values_at_once = Index{1} << 24;
  return std::max<Index>(device_.threads(), 1 + values_at_once / (1 + stride_));
}

/// Returns a small number of rows: reading for measurements costs little compared with a step.
Index StoredErrors::rows_to_read() const {
  constexpr Index values_at_once = Index{1} << 18;
  return 1 + values_at_once / (1 + stride_);
}

void StoredErrors::expand(Range part, float* errors) const {
  const Index first = part.first * stride_;
  if (type_ == ErrorType::bf16) {
    return for_each(device_, part.count * stride_, ExpandBfloatKernel{bfloats_.data() + first, errors});
  }
  const RowBlocks blocks{stride_};
  for_each_row(device_, part.count * blocks.of_row(), RowBlocks::kSize,
               ExpandByteKernel{blocks, bytes_.data() + first, largest_.data() + part.first * blocks.of_row(), errors});
}

void StoredErrors::keep(Range part, const float* errors) {
  const Index first = part.first * stride_;
  if (type_ == ErrorType::bf16) {
    return for_each(device_, part.count * stride_, KeepBfloatKernel{errors, bfloats_.data() + first});
  }
  const RowBlocks blocks{stride_};
  const Index count = part.count * blocks.of_row();
  float* largest = largest_.data() + part.first * blocks.of_row();
  for_each_item(device_, count, LargestOfBlockKernel{blocks, errors, largest});
  for_each_row(device_, count, RowBlocks::kSize, KeepByteKernel{blocks, errors, largest, bytes_.data() + first});
}

std::vector<float> StoredErrors::to_host(Range range) const {
  std::vector<float> host(static_cast<std::size_t>(range.count * stride_));
  if (host.empty()) return host;
  read(range, [&](Range part, const float* errors) {
    const Index bytes = part.count * stride_ * Index{sizeof(float)};
    device_.memory().download(host.data() + (part.first - range.first) * stride_, errors, bytes);
  });
  return host;
}

void StoredErrors::zero() {
  floats_.zero();
  bfloats_.zero();
  bytes_.zero();
  largest_.zero();
}

void StoredErrors::scale(float factor) {
  if (type_ == ErrorType::bf16) return for_each(device_, size(), ScaleBfloatKernel{bfloats_.data(), factor});
  device::Buffer<float>& values = exact() ? floats_ : largest_;
  for_each(device_, values.size(), ScaleErrorsKernel{values.data(), factor});
}

void StoredErrors::visit_state(device::StateVisitor& visitor) {
  switch (type_) {
    case ErrorType::fp32:
      return visitor.rows("worker_error", floats_, stride_);
    case ErrorType::bf16:
      return visitor.rows("worker_error_bf16", bfloats_, stride_);
    case ErrorType::int8:
      visitor.rows("worker_error_int8", bytes_, stride_);
      visitor.rows("worker_error_largest", largest_, RowBlocks{stride_}.of_row());
  }
}

}  // namespace onebit::compress
