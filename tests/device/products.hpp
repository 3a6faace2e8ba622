#pragma once
// Products by plain loops, and the accuracy of products on a device.

#include "device/math/gemm.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/rounding.hpp"

namespace onebit::tests {

using Values = std::vector<float>;

inline std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Returns one element of op(A) op(B) in double, and the sum of the absolute values of its terms.
struct Element {
  double value = 0;
  double magnitude = 0;
};

inline Element element(const device::GemmShape& shape, const float* a, Index lda, const float* b, Index ldb, Index i,
                       Index j) {
  Element result;
  for (Index p = 0; p < shape.k; ++p) {
    const auto left = static_cast<double>(shape.transpose_a ? a[p * lda + i] : a[i * lda + p]);
    const auto right = static_cast<double>(shape.transpose_b ? b[j * ldb + p] : b[p * ldb + j]);
    result.value += left * right;
    result.magnitude += std::fabs(left * right);
  }
  return result;
}

/// Allowed distance of products from sums in double, with operands that the oracle rounded, relative to the sum of
/// absolute terms. A GPU may round otherwise, or not at all.
inline double product_tolerance(const device::Device& device) {
  const bool may_differ = device.is_gpu() && device.precision() != device::Precision::fp32;
  return may_differ ? std::ldexp(4.0, -oracle::mantissa_bits(device.precision())) : 1e-6;
}

}  // namespace onebit::tests
