#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11; Random123). A number is a pure function of its key
// (seed, purpose) and the place of its use (step, worker, element); the thread or device that computes it does not
// matter.

#include <Random123/philox.h>

#include <cmath>
#include <cstdint>

#include "device/base/types.hpp"

namespace onebit::device {

/// What random numbers are used for. Numbers of different purposes are independent; the values must never change,
/// because the meaning of "--seed S" depends on them.
enum class Purpose : std::uint32_t {
  initialization = 1,
  sampling = 2,
  data = 3,
  split = 4,
  worker_codec = 5,
  server_codec = 6,
  sketch = 7,
  masking = 8,
  dropout = 9,
  noise = 10,
  curvature = 11,
  permutation = 12,
  boundary_forward = 13,
  boundary_backward = 14
};

struct RandomKey {
  std::uint32_t seed = 0;
  Purpose purpose = Purpose::initialization;
};

/// Where a random number is used. step and worker are taken modulo 2^32.
struct RandomCounter {
  Index step = 0;
  Index worker = 0;
  Index element = 0;
};

/// Four independent 32-bit words.
ONEBIT_HOST_DEVICE inline r123::Philox4x32::ctr_type philox(RandomKey key, RandomCounter counter) {
  const auto element = static_cast<std::uint64_t>(counter.element);
  const r123::Philox4x32::ctr_type position = {
      {static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32),
       static_cast<std::uint32_t>(counter.worker), static_cast<std::uint32_t>(counter.step)}};
  const r123::Philox4x32::key_type words = {{key.seed, static_cast<std::uint32_t>(key.purpose)}};
  return r123::Philox4x32()(position, words);
}

/// Uniform on [0, 1), a multiple of 2^-24.
ONEBIT_HOST_DEVICE inline float uniform(RandomKey key, RandomCounter counter) {
  return static_cast<float>(philox(key, counter)[0] >> 8) * 0x1p-24f;
}

/// Standard normal by Box-Muller. Computed in double: CPU and CUDA agree to an ulp or two of float.
ONEBIT_HOST_DEVICE inline float normal(RandomKey key, RandomCounter counter) {
  const auto words = philox(key, counter);
  const double u = (static_cast<double>(words[0]) + 1.0) * 0x1p-32;  // in (0, 1]: its logarithm is finite
  const double angle = 6.283185307179586 * static_cast<double>(words[1]) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(angle));
}

/// Uniform integer in [0, bound), 0 < bound <= 2^32; bias below bound / 2^64.
ONEBIT_HOST_DEVICE inline Index uniform_index(RandomKey key, RandomCounter counter, Index bound) {
  const auto words = philox(key, counter);
  const std::uint64_t wide = (static_cast<std::uint64_t>(words[0]) << 32) | words[1];
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  return static_cast<Index>(static_cast<std::uint64_t>((static_cast<Wide>(wide) * static_cast<Wide>(bound)) >> 64));
#else
#error "uniform_index needs a 64 x 64 -> 128 bit product"
#endif
}

}  // namespace onebit::device
