#include "device/comm/communicator.hpp"

#include <algorithm>

#include "device/base/error.hpp"
#include "device/comm/dense_sum.hpp"

namespace onebit::device {
namespace {

class SoloCommunicator final : public Communicator {
 public:
  Index rank() const override { return 0; }
  Index size() const override { return 1; }
  void all_to_all(const Device& device, std::span<const Blocks> to, std::span<const Blocks> from) override {
    for (std::size_t b = 0; b < to[0].size(); ++b) device.memory().copy(from[0][b], device.memory(), to[0][b]);
  }
  std::vector<double> all_gather(std::span<const double> own) override { return {own.begin(), own.end()}; }
  Index bytes_received() const override { return 0; }
};

}  // namespace

std::shared_ptr<Communicator> solo_communicator() {
  return std::make_shared<SoloCommunicator>();
}

Shard whole(const Device& device, Index workers) {
  return {device, {{0, workers}}, solo_communicator()};
}

std::vector<Range> shard_ranges(Index workers, Index ranks) {
  const Index blocks = ceil_div(workers, DenseSum::kBlock);
  if (ranks > blocks) {
    throw ConfigError("too many devices for the number of workers",
                      std::to_string(ranks) + " devices, " + std::to_string(workers) + " workers",
                      "a device holds whole blocks of " + std::to_string(DenseSum::kBlock) +
                          " workers, so use at most " + std::to_string(blocks) + " devices");
  }
  std::vector<Range> ranges;
  for (Index rank = 0, first = 0; rank < ranks; ++rank) {
    const Index end = std::min(workers, blocks * (rank + 1) / ranks * DenseSum::kBlock);
    ranges.push_back({first, end - first});
    first = end;
  }
  return ranges;
}

}  // namespace onebit::device
