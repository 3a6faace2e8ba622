#pragma once
// Dropout (Srivastava et al. 2014) with masks from Philox. Masks are computed when they are needed, in the forward and
// in the backward pass, and never stored.

#include "device/math/philox.hpp"

namespace onebit::sim {

/// Mask of the elements of an example that are kept at one site of a network. It is a function of seed, step, worker,
/// draw, site and element. One block of random numbers serves four adjacent elements.
struct DropoutMask {
  std::uint32_t seed = 0;
  std::uint32_t threshold = 0;  ///< rate * 2^32
  float kept = 1;               ///< factor on kept elements, 1 / (1 - rate)
  const Index* step = nullptr;  ///< step number in device memory; null means step 0
  Index first_worker = 0, first_draw = 0;
  Index batch = 1;  ///< examples per worker
  Index first = 0;  ///< example of the first row
  Index site = 0;   ///< number of the site, below 2^10
  Index parts = 1;  ///< parts of an example; each part begins with a new quad

  /// Returns the random words of elements 4 quad to 4 quad + 3, for a quad below 2^26. An element is dropped if its
  /// word is below the threshold.
  ONEBIT_HOST_DEVICE auto words(Index example, Index quad) const {
    const Index draw = first_draw + example % batch;
    return device::philox(
        {seed, device::Purpose::dropout},
        {step == nullptr ? 0 : *step, first_worker + example / batch, (draw << 36) | (site << 26) | quad});
  }
};

/// Computes output = base + mask * input over one quad: four adjacent elements of a part, or those that are left at its
/// end. A null base counts as 0. `input` and `output` may be the same array.
struct DropoutKernel {
  DropoutMask mask;
  Index size;  ///< elements per part
  const float* base;
  const float* input;
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index quad) const {
    const Index example = row / mask.parts, part = row - example * mask.parts;
    const auto words = mask.words(mask.first + example, part * ceil_div(size, 4) + quad);
    for (Index k = 0; k < 4 && 4 * quad + k < size; ++k) {
      const Index i = row * size + 4 * quad + k;
      const float value = words[static_cast<std::size_t>(k)] < mask.threshold ? 0.0f : input[i] * mask.kept;
      output[i] = base == nullptr ? value : base[i] + value;
    }
  }
};

struct CopyKernel {
  const float* input;
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { output[i] = input[i]; }
};

/// Computes output = a + b.
struct AddKernel {
  const float* a;
  const float* b;
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { output[i] = a[i] + b[i]; }
};

}  // namespace onebit::sim
