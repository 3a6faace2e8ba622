#pragma once
// Random numbers that another program drew and recorded, for codecs that take them instead of drawing their own.

#include <optional>
#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::compress {

struct RecordedArray {
  std::vector<Index> sizes;  ///< slowest first
  std::vector<double> values;
};

/// Recorded arrays by name. Steps count from 0 in them.
class RecordedDraws {
 public:
  virtual ~RecordedDraws() = default;

  /// Finds an array; none if nothing has the name. Throws ConfigError if it does not hold numbers.
  virtual std::optional<RecordedArray> find(const std::string& name) const = 0;
  /// Number of recorded steps.
  virtual Index steps() const = 0;
};

/// Finds an array of these sizes (-1: any); none if nothing has the name. Throws ConfigError if its sizes are
/// different.
std::optional<RecordedArray> find_recorded(const RecordedDraws& draws, const std::string& name,
                                           const std::vector<Index>& sizes);

}  // namespace onebit::compress
