#include "sim/data/none.hpp"

#include "device/base/error.hpp"
#include "sim/data/hash.hpp"

namespace onebit::sim {
namespace {

class NoData final : public DataSource {
 public:
  explicit NoData(std::uint32_t seed)
      : DataSource({.name = "none", .targets = 0, .train = 1, .holdout = 1, .hash = Fnv1a().hex()}, seed) {}

 private:
  void copy(Split, Index, Index, Batch&) const override {}
};

}  // namespace

std::unique_ptr<DataSource> make_none(const DataConfig& config) {
  if (!config.paths.empty())
    throw ConfigError("the data source 'none' reads no files", "--data.path", "leave out --data.path");
  return std::make_unique<NoData>(config.seed);
}

}  // namespace onebit::sim
