// What holds for every optimizer of the table when its workers are spread over devices.
#include "device/team.hpp"
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

constexpr Index kWorkers = 8, kParameters = 5000;

OptimizerConfig config_of(const OptimizerEntry& entry) {
  OptimizerConfig config;
  config.name = entry.name;
  config.freeze.policy = "fixed:2";
  config.weight_decay = 0.01;
  config.clip = 60;
  return config;
}

/// Parameters after a step for each of the gradients, as every device has them.
std::vector<std::vector<float>> train(const OptimizerConfig& config, const std::string& devices,
                                      const std::vector<FloatRows>& gradients_of) {
  device::Team team(device::parse_devices(devices, 2), kWorkers);
  std::vector<std::vector<float>> results(static_cast<std::size_t>(team.size()));
  team.run([&](Index rank) {
    const device::Shard& shard = team.shard(rank);
    const Range own = shard.own();
    const auto optimizer = make_optimizer({shard, {{"a", 4000}, {"b", kParameters - 4000}}, 5, 0}, config);
    device::Buffer<float> x = on(shard.device, oracle::normals(kParameters, 1));
    Index step = 0;
    for (const FloatRows& rows : gradients_of) {
      ++step;
      optimizer->begin(step, 0.01 / static_cast<double>(step));
      for (Index first = own.first; first < own.end(); first += 2) {
        std::vector<float> pair = rows[static_cast<std::size_t>(first)];
        const std::vector<float>& second = rows[static_cast<std::size_t>(first) + 1];
        pair.insert(pair.end(), second.begin(), second.end());
        const device::Buffer<float> gradients = on(shard.device, pair);
        if (optimizer->extra_point().data != nullptr) {
          optimizer->absorb_extra({first, 2}, gradients.data(), kParameters);
        }
        optimizer->absorb({first, 2}, gradients.data(), kParameters);
      }
      optimizer->finish(x);
    }
    results[static_cast<std::size_t>(rank)] = x.to_host();
  });
  return results;
}

}  // namespace

TEST_CASE("every optimizer has the same bits on two devices as on one") {
  std::vector<FloatRows> gradients;
  for (Index step = 1; step <= 5; ++step) gradients.push_back(GradientStream{kWorkers, kParameters}(step));
  for (const OptimizerEntry& entry : optimizers()) {
    const std::vector<float> expected = train(config_of(entry), "cpu", gradients).front();
    for (const std::vector<float>& result : train(config_of(entry), "cpu:2", gradients)) {
      CAPTURE(entry.name);
      CHECK(result == expected);
    }
  }
}
