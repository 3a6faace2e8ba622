#pragma once
// Random numbers that another program drew and recorded, for codecs that use them instead of drawing their own.

#include <optional>
#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::compress {

struct RecordedArray {
  std::vector<Index> sizes;  ///< sizes of the dimensions, slowest-varying first
  std::vector<double> values;
};

/// Recorded arrays, found by name. Their steps count from 0.
class RecordedDraws {
 public:
  virtual ~RecordedDraws() = default;

  /// Finds an array by its name; empty if there is none. Throws ConfigError if it does not contain numbers.
  virtual std::optional<RecordedArray> find(const std::string& name) const = 0;
  /// Number of recorded steps.
  virtual Index steps() const = 0;
};

/// Finds an array by its name; empty if there is none. Throws ConfigError if its sizes differ from `sizes`, where -1
/// stands for any size.
std::optional<RecordedArray> find_recorded(const RecordedDraws& draws, const std::string& name,
                                           const std::vector<Index>& sizes);

}  // namespace onebit::compress
