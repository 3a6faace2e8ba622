#pragma once

#include <string>

#include "device/base/types.hpp"

namespace onebit::sim {

/// A named, contiguous piece of the flat parameter vector.
struct TensorInfo {
  std::string name;
  Index offset = 0;  ///< first element in the flat parameter vector
  Index size = 0;    ///< elements
  Index rows = 1;    ///< of the matrix, [rows x size / rows] in row-major order; 1: a vector
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

}  // namespace onebit::sim
