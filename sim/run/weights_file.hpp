#pragma once
// Weights between runs and programs: an HDF5 file with `weights` float32 [parameters], `tensor_sizes` int64 [tensors]
// and `tensor_names`, texts of one fixed length [tensors].

#include <span>
#include <string>
#include <vector>

#include "compress/layout/tensor.hpp"

namespace onebit::sim {

/// Reads the weights from a file, whose tensors must have the same names and sizes in the same order. Throws
/// ConfigError naming the file and the first difference, or a weight that is not finite.
std::vector<float> read_weights(const std::string& path, std::span<const compress::Tensor> tensors);

/// Checks the file as read_weights does, without reading the weights.
void check_weights(const std::string& path, std::span<const compress::Tensor> tensors);

/// Throws ConfigError if write_weights could not, or must not, write `path`: there is no folder, something else is in
/// its place, a file exists and overwrite is false, or the log (empty: none) has this name or that of path + ".part",
/// which is written first.
void check_weights_output(const std::string& path, const std::string& log, bool overwrite);

/// Writes or replaces the file, completely or not at all. Throws IoError, ConfigError.
void write_weights(const std::string& path, std::span<const compress::Tensor> tensors, std::span<const float> weights);

}  // namespace onebit::sim
