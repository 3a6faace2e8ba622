#pragma once
// The tensors of a parameter vector. They are contiguous pieces of it, in order and without gaps.

#include <span>
#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::compress {

struct Tensor {
  std::string name;  ///< name against which patterns are matched
  Index size = 0;    ///< elements
  Index rows = 1;    ///< rows of the matrix, [rows x size / rows] in row-major order; 1: a vector
  bool is_matrix() const { return rows > 1 && size > rows; }
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// Makes vectors of these sizes, named tensor0, tensor1, ...
std::vector<Tensor> unnamed(std::span<const Index> sizes);

std::vector<Index> sizes_of(std::span<const Tensor> tensors);
Index total_size(std::span<const Tensor> tensors);
/// Returns each tensor's range in the parameter vector.
std::vector<Range> ranges_of(std::span<const Tensor> tensors);

/// Returns for each tensor whether its name matches one of the patterns (`*`: any run of characters; `?`: any one).
std::vector<char> matching(std::span<const Tensor> tensors, std::span<const std::string> patterns);

/// Throws ConfigError naming `option` if a pattern matches no tensor.
void require_matches(std::span<const Tensor> tensors, std::span<const std::string> patterns, const std::string& option);

}  // namespace onebit::compress
