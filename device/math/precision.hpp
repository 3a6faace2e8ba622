#pragma once
// The precision of matrix products.

namespace onebit::device {

/// The format to which the operands of matrix products are rounded. Products are summed in float32, and everything is
/// stored in float32.
enum class Precision {
  fp32,  ///< float32: not rounded
  tf32,  ///< TensorFloat-32: float32's range, 10 bits of mantissa
  bf16,  ///< bfloat16: float32's range, 7 bits of mantissa
};

}  // namespace onebit::device
