#pragma once

#include <string>

#include "device/types.hpp"

namespace onebit::sim {

/// A named run of the flat parameter vector.
struct TensorInfo {
  std::string name;
  Index offset = 0;  ///< first element in the flat parameter vector
  Index size = 0;    ///< elements
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

}  // namespace onebit::sim
