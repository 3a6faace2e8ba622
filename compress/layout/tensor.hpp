#pragma once
// The tensors of a parameter vector as codecs and optimizers see them: a name for patterns, and a shape.

#include <span>
#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::compress {

struct Tensor {
  std::string name;
  Index size = 0;  ///< elements
  Index rows = 1;  ///< of the matrix that it is, rows x size / rows; 1: a vector
  bool is_matrix() const { return rows > 1 && size > rows; }
};

/// Vectors that are known by their sizes alone: tensor0, tensor1, ...
std::vector<Tensor> unnamed(std::span<const Index> sizes);

std::vector<Index> sizes_of(std::span<const Tensor> tensors);
Index total_size(std::span<const Tensor> tensors);

/// For each tensor, whether its name fits one of the patterns (`*` any run of characters, `?` any one).
std::vector<char> matching(std::span<const Tensor> tensors, std::span<const std::string> patterns);

/// Throws ConfigError naming `option` where a pattern fits no tensor.
void require_matches(std::span<const Tensor> tensors, std::span<const std::string> patterns, const std::string& option);

}  // namespace onebit::compress
