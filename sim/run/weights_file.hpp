#pragma once
// Weights between runs and programs: an HDF5 file with `weights` float32 [parameters], `tensor_sizes` int64 [tensors]
// and `tensor_names`, texts of one fixed length [tensors].

#include <span>
#include <string>
#include <vector>

#include "sim/models/tensor_info.hpp"

namespace onebit::sim {

/// The weights in a file, which must be of these tensors: the same names and sizes in the same order. Throws
/// ConfigError naming file and first difference.
std::vector<float> read_weights(const std::string& path, std::span<const TensorInfo> tensors);

/// The same without the weights.
void check_weights(const std::string& path, std::span<const TensorInfo> tensors);

/// Throws ConfigError where write_weights could not, or must not: no folder, something else in its place, a file unless
/// overwrite, the log (empty: none) in its place or in that of path + ".part", which is written first.
void check_weights_output(const std::string& path, const std::string& log, bool overwrite);

/// Writes the file, or replaces it: whole, or not at all. Throws IoError, ConfigError.
void write_weights(const std::string& path, std::span<const TensorInfo> tensors, std::span<const float> weights);

}  // namespace onebit::sim
