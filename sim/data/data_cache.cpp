#include "sim/data/data_cache.hpp"

namespace onebit::sim {

std::shared_ptr<const DataSource> DataCache::get(const DataConfig& config) {
  DataConfig same = config_;
  same.seed = config.seed;
  if (source_ == nullptr || !(same == config)) {
    source_.reset();  // two sources might not fit in memory
    source_ = make_data(config);
    config_ = config;
  }
  return DataSource::with_seed(source_, config.seed);
}

}  // namespace onebit::sim
