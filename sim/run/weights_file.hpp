#pragma once
// Files that pass weights between runs and programs: HDF5 with `weights` float32 [parameters], `tensor_sizes` int64
// [tensors] and `tensor_names` [tensors], which are strings of one fixed length.

#include <span>
#include <string>
#include <vector>

#include "compress/layout/tensor.hpp"
#include "device/memory/buffer.hpp"

namespace onebit::sim {

/// Reads the weights from a file, whose tensors must have the same names and sizes in the same order. Throws
/// ConfigError that names the file and either the first difference or a non-finite weight.
std::vector<float> read_weights(const std::string& path, std::span<const compress::Tensor> tensors);
/// Reads a part of the weights.
std::vector<float> read_weights(const std::string& path, std::span<const compress::Tensor> tensors, Range part);

/// Largest number of weights that are read or written at once in places where copying all of them would need much
/// memory.
inline constexpr Index kWeightsAtOnce = Index{1} << 20;

/// Checks the file as read_weights does, without reading the weights.
void check_weights(const std::string& path, std::span<const compress::Tensor> tensors);

/// Throws ConfigError if write_weights cannot or must not write `path`: if its folder does not exist or is not
/// writable, if `path` exists and must not be replaced, if path + ".part" (which is written first) exists, or if one of
/// these two files is the log. log: empty if there is none.
void check_weights_output(const std::string& path, const std::string& log, bool overwrite);

/// Writes or replaces the file, either completely or not at all. owned: the weights of the last tensors, if `weights`
/// has only those of the tensors before them. Throws IoError, ConfigError.
void write_weights(const std::string& path, std::span<const compress::Tensor> tensors, std::span<const float> weights,
                   const device::Buffer<float>* owned = nullptr);

}  // namespace onebit::sim
