#pragma once
// How fast GPUs multiply matrices.

#include <string_view>

namespace onebit::netmodel {

/// Share of the peak rate that matrix products of a training step are taken to reach.
inline constexpr double kUtilisation = 0.4;

/// Returns the peak rate of products in 16 bits that NVIDIA publishes for the densest version of a GPU, in operations
/// per second, without sparsity. Throws ConfigError for a name that is not in gpus().
double peak_rate(std::string_view gpu);

}  // namespace onebit::netmodel
