// 1-bit Adam unpacks the exchanged momentum during its update. Audited steps need it as numbers before that, so
// auditing every step compares both ways.
#include "device/comm/device_group.hpp"
#include "optim/optimizer.hpp"
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;
using compress::Granularity;

namespace {

constexpr Index kSteps = 5;

struct Outcome {
  std::vector<float> x, momentum, server_error;  ///< the errors of the device's own servers
  std::vector<double> update_norms;
  netmodel::TrafficList traffic;
  bool operator==(const Outcome&) const = default;
};

struct Setting {
  std::vector<Index> tensors;
  Index workers = 1;
  OptimizerConfig config = {};

  Index parameters() const { return std::accumulate(tensors.begin(), tensors.end(), Index{0}); }
  /// Returns the gradients of every step.
  std::vector<FloatRows> gradients() const {
    std::vector<FloatRows> steps;
    for (Index step = 1; step <= kSteps; ++step) {
      steps.push_back(GradientStream{workers, parameters(), 2, {0, parameters() - 1}}(step));
    }
    return steps;
  }
};

OptimizerConfig onebit_adam() {
  OptimizerConfig config;
  config.name = "onebit-adam";
  config.freeze.policy = "fixed:2";
  config.weight_decay = 0.1;
  config.no_decay = {"tensor0"};
  return config;
}

/// Returns the final state of every device. packs: whether the momentum should stay packed in the compression stage.
std::vector<Outcome> train(Setting setting, const std::vector<FloatRows>& gradients, const std::string& devices,
                           bool packs) {
  setting.config.exchange.audit_every = packs ? 0 : 1;
  const Index columns = setting.parameters();
  device::DeviceGroup group(device::parse_devices(devices, 2), setting.workers);
  std::vector<Outcome> outcomes(static_cast<std::size_t>(group.size()));
  std::vector<char> packed(outcomes.size(), 0);
  group.run([&](Index rank) {
    const device::Shard& shard = group.shard(rank);
    Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    const auto optimizer = make_optimizer({shard, compress::unnamed(setting.tensors), kSteps, 0}, setting.config);
    auto x = on(shard.device, oracle::normals(columns, 1));
    Index step = 0;
    for (const FloatRows& rows : gradients) {
      optimizer->begin(++step, 0.01);
      for (Index w = shard.own().first; w < shard.own().end(); ++w) {
        const auto row = on(shard.device, rows[static_cast<std::size_t>(w)]);
        optimizer->absorb({w, 1}, row.data(), columns);
      }
      const StepReport report = optimizer->finish(x);
      if (report.phase == Phase::compression) outcome.update_norms.push_back(report.update_norm);
      outcome.traffic.insert(outcome.traffic.end(), report.traffic.begin(), report.traffic.end());
    }
    const StateView state = optimizer->state();
    packed[static_cast<std::size_t>(rank)] = state.exchange->packed_mean().has_value() ? 1 : 0;
    outcome.x = x.to_host();
    outcome.momentum = state.momentum->to_host();
    outcome.server_error = state.exchange->server_error().to_host();
  });
  for (const char is : packed) CHECK((is != 0) == packs);
  for (const Outcome& outcome : outcomes) CHECK(outcome.update_norms.size() >= 2);
  return outcomes;
}

/// One device of every backend, and two if there are enough workers, because a device holds whole blocks of 4.
std::vector<std::string> all_devices(Index workers) {
  std::vector<std::string> devices = backends();
  if (workers <= 4) return devices;
  for (const std::string& backend : backends()) {
    devices.push_back(backend == "cuda:0" ? "cuda:0,0" : backend + ":2");
  }
  return devices;
}

void check_both_ways(const Setting& setting) {
  const std::vector<FloatRows> gradients = setting.gradients();
  for (const std::string& devices : all_devices(setting.workers)) {
    CAPTURE(devices, setting.workers, setting.parameters());
    CHECK(train(setting, gradients, devices, true) == train(setting, gradients, devices, false));
  }
}

}  // namespace

TEST_CASE("1-bit Adam's update unpacks the momentum to the bits of one that is decoded before") {
  const std::vector<std::vector<Index>> all_tensors = {{5}, {3, 0, 1, 61, 0}, {4097, 13, 900}};
  for (const std::vector<Index>& tensors : all_tensors) {
    for (const Index workers : {1, 3, 8}) {
      for (const auto granularity : {Granularity::tensor, Granularity::fused}) {
        Setting setting{tensors, workers, onebit_adam()};
        setting.config.exchange.granularity = granularity;
        check_both_ways(setting);
      }
    }
  }
}

TEST_CASE("the momentum is unpacked alike with padding as data, with another scale, and without feedback") {
  Setting setting{{4097, 13, 500}, 6, onebit_adam()};
  SECTION("padding as data") {
    setting.config.semantics = Semantics::deepspeed;
    setting.config.freeze.policy = "fixed:3";
  }
  SECTION("the L1 scale") {
    setting.config.exchange.up.name = "sign-l1";
  }
  SECTION("no scale") {
    setting.config.exchange.up.name = "sign";
  }
  SECTION("signs on the way down alone") {
    setting.config.exchange.up.name = "int8";
    setting.config.exchange.down = "sign-l2";
  }
  SECTION("no feedback") {
    setting.config.exchange.feedback = compress::Feedback::none;
  }
  SECTION("an empty tensor that is kept dense") {
    setting.tensors = {300, 0, 213};
    setting.config.exchange.granularity = Granularity::fused;
    setting.config.exchange.dense = {"tensor1"};
  }
  check_both_ways(setting);
}

TEST_CASE("the momentum is decoded where it is not signs alone") {
  Setting setting{{70, 33}, 4, onebit_adam()};
  SECTION("a tensor that is kept dense") {
    setting.config.exchange.dense = {"tensor1"};
  }
  SECTION("another codec on the way down") {
    setting.config.exchange.down = "int8";
  }
  SECTION("another channel") {
    setting.config.exchange.pattern = compress::ExchangePattern::gather;
  }
  Training training({.config = setting.config, .tensors = setting.tensors, .workers = setting.workers});
  for (const FloatRows& rows : setting.gradients()) training.step(rows);
  CHECK_FALSE(training.optimizer->state().exchange->packed_mean());
}
