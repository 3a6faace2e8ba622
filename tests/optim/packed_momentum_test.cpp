// 1-bit Adam unpacks the exchanged momentum on the way through its update. Steps that are audited need it as numbers
// before, and so both ways are compared by an audit of every step.
#include "device/team.hpp"
#include "optim/optimizer.hpp"
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;
using compress::Granularity;

namespace {

constexpr Index kSteps = 6;

struct Outcome {
  std::vector<float> x, momentum, server_error;  ///< the errors of the device's own servers
  std::vector<double> update_norms;
  netmodel::TrafficList traffic;
  bool operator==(const Outcome&) const = default;
};

struct Problem {
  std::vector<Index> tensors;
  Index workers = 1;
  OptimizerConfig config = {};

  Index parameters() const { return std::accumulate(tensors.begin(), tensors.end(), Index{0}); }
};

OptimizerConfig onebit_adam() {
  OptimizerConfig config;
  config.name = "onebit-adam";
  config.freeze.policy = "fixed:2";
  config.weight_decay = 0.1;
  config.no_decay = {"tensor0"};
  return config;
}

/// What every device has in the end. packs: whether the momentum is to stay packed in the compression stage.
std::vector<Outcome> train(Problem problem, const std::string& devices, bool packs) {
  problem.config.exchange.audit_every = packs ? 0 : 1;
  const Index columns = problem.parameters();
  device::Team team(device::parse_devices(devices, 2), problem.workers);
  std::vector<Outcome> outcomes(static_cast<std::size_t>(team.size()));
  std::vector<char> packed(outcomes.size(), 0);
  team.run([&](Index rank) {
    const device::Shard& shard = team.shard(rank);
    Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    const auto optimizer = make_optimizer({shard, compress::unnamed(problem.tensors), kSteps, 0}, problem.config);
    auto x = on(shard.device, oracle::normals(columns, 1));
    for (Index step = 1; step <= kSteps; ++step) {
      const FloatRows rows = GradientStream{problem.workers, columns, 2, {0, columns - 1}}(step);
      optimizer->begin(step, 0.01);
      for (Index w = shard.own().first; w < shard.own().end(); ++w) {
        const auto row = on(shard.device, rows[static_cast<std::size_t>(w)]);
        optimizer->absorb({w, 1}, row.data(), columns);
      }
      const StepReport report = optimizer->finish(x);
      outcome.update_norms.push_back(report.update_norm);
      outcome.traffic.insert(outcome.traffic.end(), report.traffic.begin(), report.traffic.end());
    }
    const StateView state = optimizer->state();
    packed[static_cast<std::size_t>(rank)] = state.exchange->packed_mean().has_value() ? 1 : 0;
    outcome.x = x.to_host();
    outcome.momentum = state.momentum->to_host();
    outcome.server_error = state.exchange->server_error().to_host();
  });
  for (const char is : packed) CHECK((is != 0) == packs);
  return outcomes;
}

/// One device of every backend, and two where the workers can be shared out.
std::vector<std::string> all_devices(Index workers) {
  std::vector<std::string> devices = backends();
  if (workers < 2) return devices;
  for (const std::string& backend : backends()) {
    if (backend.find(':') == std::string::npos) devices.push_back(backend + ":2");
  }
  return devices;
}

void check_both_ways(const Problem& problem) {
  for (const std::string& devices : all_devices(problem.workers)) {
    CAPTURE(devices, problem.workers, problem.parameters());
    CHECK(train(problem, devices, true) == train(problem, devices, false));
  }
}

}  // namespace

TEST_CASE("1-bit Adam's update unpacks the momentum to the bits of one that is decoded before") {
  const std::vector<std::vector<Index>> all_tensors = {{5}, {3, 0, 1, 61, 0}, {64, 129}, {4097, 13, 5000}};
  for (const std::vector<Index>& tensors : all_tensors) {
    for (const Index workers : {1, 3, 8}) {
      for (const auto granularity : {Granularity::tensor, Granularity::fused}) {
        Problem problem{tensors, workers, onebit_adam()};
        problem.config.exchange.granularity = granularity;
        check_both_ways(problem);
      }
    }
  }
}

TEST_CASE("the momentum is unpacked alike with padding as data, with another scale, and without feedback") {
  Problem problem{{4097, 13, 500}, 4, onebit_adam()};
  SECTION("padding as data") {
    problem.config.semantics = Semantics::deepspeed;
    problem.config.freeze.policy = "fixed:3";
  }
  SECTION("the L1 scale") {
    problem.config.exchange.up.name = "sign-l1";
  }
  SECTION("no scale") {
    problem.config.exchange.up.name = "sign";
  }
  SECTION("signs on the way down alone") {
    problem.config.exchange.up.name = "int8";
    problem.config.exchange.down = "sign-l2";
  }
  SECTION("no feedback") {
    problem.config.exchange.feedback = compress::Feedback::none;
  }
  SECTION("an empty tensor that is kept dense") {
    problem.tensors = {300, 0, 213};
    problem.config.exchange.granularity = Granularity::fused;
    problem.config.exchange.dense = {"tensor1"};
  }
  check_both_ways(problem);
}

TEST_CASE("the momentum is decoded where it is not signs alone") {
  Problem problem{{70, 33}, 4, onebit_adam()};
  SECTION("a tensor that is kept dense") {
    problem.config.exchange.dense = {"tensor1"};
  }
  SECTION("another codec on the way down") {
    problem.config.exchange.down = "int8";
  }
  SECTION("another channel") {
    problem.config.exchange.meeting = compress::Meeting::gather;
  }
  Training training({.config = problem.config, .tensors = problem.tensors, .workers = problem.workers});
  for (Index step = 1; step <= kSteps; ++step) training.step(GradientStream{problem.workers, 103}(step));
  CHECK_FALSE(training.optimizer->state().exchange->packed_mean());
}
