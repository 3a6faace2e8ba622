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

/// What was recorded, by name. Steps count from 0 in it.
class RecordedDraws {
 public:
  virtual ~RecordedDraws() = default;

  /// None where nothing has the name. Throws ConfigError where it holds no numbers.
  virtual std::optional<RecordedArray> find(const std::string& name) const = 0;
  /// Steps that were recorded.
  virtual Index steps() const = 0;
};

/// An array of these sizes (-1: any), or none where nothing has the name. Throws ConfigError for others.
std::optional<RecordedArray> find_recorded(const RecordedDraws& draws, const std::string& name,
                                           const std::vector<Index>& sizes);

}  // namespace onebit::compress
