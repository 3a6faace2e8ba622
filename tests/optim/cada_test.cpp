#include "optim/adam/cada.hpp"

#include "device/launch/launch.hpp"
#include "optim/adam/cada_kernels.hpp"
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/cada.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

constexpr Index kParameters = 40;

/// Noisy quadratics: worker w sees (1 + w) (x - center) + noise of the step.
template <class Number>
std::vector<Number> gradient(Index step, Index worker, const std::vector<Number>& x) {
  static const std::vector<float> center = oracle::normals(kParameters, 7);
  const std::vector<float> noise = oracle::normals(kParameters, 8, step, worker);
  std::vector<Number> g;
  for (std::size_t i = 0; i < x.size(); ++i) {
    g.push_back(static_cast<Number>(1 + worker) * (x[i] - static_cast<Number>(center[i])) +
                static_cast<Number>(0.1f * noise[i]));
  }
  return g;
}

/// Runs CADA on the quadratics, with gradients where it asks for them.
class Run {
 public:
  Run(const OptimizerConfig& run_config, Index n, const std::string& backend, Index group_size)
      : config(run_config),
        workers(n),
        group(group_size),
        device(device_of(backend, 1)),
        optimizer(
            make_optimizer({device::whole(device, n), {{"a", 15}, {"empty", 0}, {"b", kParameters - 15}}}, config)),
        x(device::Buffer<float>::zeros(device, kParameters)) {}

  StepReport step() {
    optimizer->begin(++steps, config.lr);
    const Optimizer::Point point = optimizer->extra_point();
    for (Index first = 0; first < workers; first += group) {
      const Range range{first, std::min(group, workers - first)};
      if (point.data != nullptr) {
        optimizer->absorb_extra(range, gradients(range, point.data, point.stride).data(), kParameters);
      }
      optimizer->absorb(range, gradients(range, x.data(), 0).data(), kParameters);
    }
    return optimizer->finish(x);
  }

  OptimizerConfig config;
  Index workers, group;
  device::Device device;
  std::unique_ptr<Optimizer> optimizer;
  device::Buffer<float> x;
  Index steps = 0;

 private:
  device::Buffer<float> gradients(Range range, const float* points, Index stride) const {
    device::Buffer<float> copy(device, range.count * kParameters);
    for_each_row(device, range.count, kParameters,
                 CopyRowsKernel{nullptr, points + range.first * stride, stride, copy.data(), kParameters});
    const std::vector<float> at = copy.to_host();
    std::vector<float> rows;
    for (Index w = 0; w < range.count; ++w) {
      const std::vector<float> point(at.begin() + w * kParameters, at.begin() + (w + 1) * kParameters);
      const std::vector<float> row = gradient(steps, range.first + w, point);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return on(device, rows);
  }
};

OptimizerConfig cada(int rule) {
  OptimizerConfig config;
  config.name = rule == 1 ? "cada1" : "cada2";
  config.lr = 0.02;
  config.cada = {.threshold = 40, .window = 5, .max_delay = 12};
  return config;
}

}  // namespace

TEST_CASE("CADA uploads and moves as its oracle does, under both rules") {
  for (const int rule : {1, 2}) {
    for (const std::string& backend : backends()) {
      for (const Index group : {2, 6}) {
        const OptimizerConfig config = cada(rule);
        Run run(config, 6, backend, group);
        oracle::Cada oracle({.threshold = 40, .window = 5, .max_delay = 12, .snapshot_rule = rule == 1},
                            oracle::Vector(kParameters, 0.0), 6);
        double uploads = 0;
        for (Index step = 1; step <= 60; ++step) {
          const StepReport report = run.step();
          oracle.step(config.lr,
                      [&](std::size_t w, const oracle::Vector& x) { return gradient(step, static_cast<Index>(w), x); });
          const auto spoke = static_cast<double>(std::count(oracle.uploads.begin(), oracle.uploads.end(), true));
          CAPTURE(rule, backend, group, step);
          REQUIRE(report.uploads == spoke / 6);
          REQUIRE(oracle::distance(run.x.to_host(), oracle.x) < 1e-4 * oracle::norm(oracle.x));
          uploads += spoke;
        }
        CHECK(uploads > 60);         // the rule lets some pass,
        CHECK(uploads < 0.8 * 360);  // and stops others
      }
    }
  }
}

TEST_CASE("with threshold 0 everybody uploads at every step") {
  OptimizerConfig config = cada(2);
  config.cada.threshold = 0;
  Run run(config, 3, "cpu", 3);
  for (int step = 0; step < 10; ++step) CHECK(run.step().uploads == 1);
}

TEST_CASE("no worker is silent for longer than the delay") {
  for (const int rule : {1, 2}) {
    OptimizerConfig config = cada(rule);
    config.cada.threshold = 1e9;
    Run run(config, 4, "cpu", 4);
    for (int step = 0; step < 40; ++step) CHECK(run.step().uploads == (step % 12 == 0 ? 1 : 0));
  }
}

TEST_CASE("CADA's traffic is that of the workers that upload") {
  OptimizerConfig config = cada(2);
  config.cada.threshold = 1e9;
  Run run(config, 4, "cpu", 4);
  const netmodel::TrafficList all = run.step().traffic;
  const netmodel::TrafficList none = run.step().traffic;
  const auto bytes = [](const netmodel::TrafficList& list, netmodel::Direction way) {
    double sum = 0;
    for (const netmodel::Traffic& record : list) sum += sent_bytes(record, way).value * (record.direction == way);
    return sum;
  };
  CHECK(netmodel::sent_bytes(all).value == netmodel::sent_bytes(compress::DenseMean::plan(4, kParameters)).value);
  CHECK(bytes(all, netmodel::Direction::up) == 3 * kParameters);
  CHECK(bytes(none, netmodel::Direction::up) == 0);
  CHECK(bytes(none, netmodel::Direction::down) == 3 * kParameters);
  CHECK(none.front().messages == 0);
}

TEST_CASE("CADA says what is missing where nobody takes gradients at its second point") {
  Run run(cada(1), 2, "cpu", 2);
  run.step();
  run.optimizer->begin(2, 0.02);
  const device::Buffer<float> rows = device::Buffer<float>::zeros(run.device, 2 * kParameters);
  CHECK_THROWS_WITH(run.optimizer->absorb({0, 2}, rows.data(), kParameters), Catch::Contains("second point"));
}
