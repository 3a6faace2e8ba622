#pragma once

#include <string>

#include "device/base/types.hpp"

namespace onebit::sim {

/// A named run of the flat parameter vector.
struct TensorInfo {
  std::string name;
  Index offset = 0;  ///< first element in the flat parameter vector
  Index size = 0;    ///< elements
  Index rows = 1;    ///< of the matrix that it is, rows x size / rows, stored by rows; 1: a vector
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

}  // namespace onebit::sim
