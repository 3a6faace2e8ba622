// Properties of every optimizer of the table when its workers are spread over devices.
#include "device/comm/device_group.hpp"
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
  config.zeroone = {.var_freeze_step = 2, .var_update_scaler = 1, .local_step_scaler = 1, .local_step_clipper = 2};
  config.local.period = 2;
  config.exchange.up.name = codec_of(config, /*chosen=*/false);
  return config;
}

/// Returns every worker's parameters after a step for each of the gradients: its own, or those that its device has for
/// all.
std::vector<std::vector<float>> train(const OptimizerConfig& config, const std::string& devices,
                                      const std::vector<FloatRows>& gradients_of) {
  device::DeviceGroup group(device::parse_devices(devices, 2), kWorkers);
  std::vector<std::vector<float>> results(kWorkers);
  group.run([&](Index rank) {
    const device::Shard& shard = group.shard(rank);
    const Range own = shard.own();
    const auto optimizer = make_optimizer({shard, {{"a", 4000}, {"b", kParameters - 4000}}, 5, 0}, config);
    const std::vector<float> x0 = oracle::normals(kParameters, 1);
    const Index rows_held = optimizer->local_weights() ? own.count : 1;
    device::Buffer<float> x(shard.device, rows_held * kParameters);
    for (Index row = 0; row < rows_held; ++row) x.upload(x0, row * kParameters);
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
    for (Index w = own.first; w < own.end(); ++w) {
      std::vector<float>& result = results[static_cast<std::size_t>(w)];
      result.resize(kParameters);
      x.download(result, (rows_held == 1 ? 0 : w - own.first) * kParameters);
    }
  });
  return results;
}

}  // namespace

TEST_CASE("every optimizer has the same bits on two devices as on one, for every worker") {
  std::vector<FloatRows> gradients;
  for (Index step = 1; step <= 5; ++step) gradients.push_back(GradientStream{kWorkers, kParameters}(step));
  for (const OptimizerEntry& entry : optimizers()) {
    CAPTURE(entry.name);
    CHECK(train(config_of(entry), "cpu:2", gradients) == train(config_of(entry), "cpu", gradients));
  }
}
