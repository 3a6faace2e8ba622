#pragma once
// Examples that several runs have in common, read once.

#include <memory>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Keeps the last source that was requested, so that a study does not read or make it again for every arm and seed.
class DataCache {
 public:
  /// Returns what make_data returns. If the configuration differs from the previous one only in its seed, the previous
  /// examples are used again, and no file is read again, even if it has changed.
  std::shared_ptr<const DataSource> get(const DataConfig& config);

 private:
  DataConfig config_;
  std::shared_ptr<const DataSource> source_;
};

}  // namespace onebit::sim
