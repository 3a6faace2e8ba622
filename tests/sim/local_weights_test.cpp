// Workers with their own weights: rows on every device, evaluation at the mean, and what the log says about them.
#include <cmath>

#include "sim/probe/probe.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

/// 14 workers are 4 blocks, the last of two.
RunConfig local(const std::string& optimizer) {
  RunConfig config = mlp_config();
  config.optimizer.name = optimizer;
  config.optimizer.clip = 0.5;
  config.optimizer.local.period = 4;
  config.optimizer.zeroone = {
      .var_freeze_step = 3, .var_update_scaler = 1, .local_step_scaler = 2, .local_step_clipper = 4};
  config.workers = 14;
  config.threads = 2;
  return config;
}

const std::vector<std::string> kOptimizers = {"zeroone-adam", "local-sgd", "local-adam", "diloco"};

std::vector<float> all_weights(const VirtualCluster& cluster) {
  std::vector<float> all;
  for (const Replica& replica : cluster.replicas()) {
    const std::vector<float> own = replica.weights.to_host();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

/// Sets the weights of every worker w to `row(w)`.
void set_rows(VirtualCluster& cluster, const std::function<std::vector<float>(Index worker)>& row) {
  const Index parameters = cluster.model().parameters();
  cluster.on_each_device([&](Replica& replica) {
    const Range own = replica.shard.own();
    for (Index w = own.first; w < own.end(); ++w) replica.weights.upload(row(w), (w - own.first) * parameters);
  });
}

/// Returns everything that must not depend on the devices and groups that compute it.
std::vector<double> trained(RunConfig config, const std::string& devices, Index group) {
  config.device = devices;
  config.worker_group = group;
  VirtualCluster cluster(config);
  std::vector<double> numbers;
  while (cluster.step() < cluster.steps()) {
    const StepOutcome outcome = cluster.advance();
    const StepRow row = measure_step(cluster, outcome);
    numbers.insert(numbers.end(), {row.loss, row.param_norm, row.update_norm, row.replica_distance, row.momentum_norm,
                                   row.bytes_up, cluster.evaluate().loss});
  }
  for (const float x : all_weights(cluster)) numbers.push_back(static_cast<double>(x));
  return numbers;
}

}  // namespace

TEST_CASE("local weights: the same bits for any devices and grouping") {
  for (const std::string& optimizer : kOptimizers) {
    const std::vector<double> expected = trained(local(optimizer), "cpu:1", 0);
    for (const double number : expected) REQUIRE(std::isfinite(number));
    for (const std::string devices : {"cpu:2", "cpu:3", "debug", "debug:2"}) {
      for (const Index group : {0, 3}) {
        CAPTURE(optimizer, devices, group);
        CHECK(trained(local(optimizer), devices, group) == expected);
      }
    }
  }
}

TEST_CASE(
    "local weights: the distance of the replicas is zero after a meeting only, and does not apply to shared ones") {
  for (const std::string& optimizer : kOptimizers) {
    VirtualCluster cluster(local(optimizer));
    Index apart = 0;
    while (cluster.step() < cluster.steps()) {
      const StepOutcome outcome = cluster.advance();
      const double distance = measure_step(cluster, outcome).replica_distance;
      CAPTURE(optimizer, outcome.step);
      CHECK((distance == 0) == outcome.report.synchronised);
      apart += distance > 0 ? 1 : 0;
    }
    CHECK(apart >= 2);
  }
  VirtualCluster adam(mlp_config());
  CHECK(std::isnan(measure_step(adam, adam.advance()).replica_distance));
}

TEST_CASE("local weights: norm, distance and evaluation are those of the rows") {
  RunConfig config = local("local-sgd");
  config.device = "cpu:2";
  VirtualCluster cluster(config);
  const std::vector<float> base = cluster.model().initial_weights(config.seed);
  const double loss = cluster.evaluate().loss;
  StepOutcome outcome;
  outcome.step = 1;
  // In every coordinate, seven workers are 0.5 above the initial weights, and seven are 0.5 below.
  set_rows(cluster, [&](Index worker) {
    std::vector<float> row = base;
    for (float& x : row) x = x + (worker % 2 == 0 ? 0.5f : -0.5f);
    return row;
  });
  const StepRow row = measure_step(cluster, outcome);
  const auto parameters = static_cast<double>(base.size());
  CHECK(row.replica_distance == Approx(0.5 * std::sqrt(parameters)));
  CHECK(cluster.evaluate().loss == Approx(loss).epsilon(1e-6));
  double squares = 0;
  for (const float x : base) squares += static_cast<double>(x) * static_cast<double>(x);
  CHECK(row.param_norm == Approx(std::sqrt(squares)).epsilon(1e-6));
}

TEST_CASE("local weights: every worker's gradients are taken at its own") {
  RunConfig config = local("local-sgd");
  config.optimizer.clip = 0;
  config.worker_group = 3;
  VirtualCluster shared(config), moved(config);
  const std::vector<float> base = moved.model().initial_weights(config.seed);
  set_rows(moved, [&](Index worker) {
    std::vector<float> row = base;
    for (float& x : row) x = worker == 5 ? 0.9f * x : x;
    return row;
  });
  const std::vector<double> before = shared.advance().worker_losses, after = moved.advance().worker_losses;
  for (std::size_t w = 0; w < before.size(); ++w) {
    CAPTURE(w);
    CHECK((before[w] == after[w]) == (w != 5));
  }
}

TEST_CASE("local weights: a bad tensor of any worker is named") {
  RunConfig config = local("local-sgd");
  config.device = "cpu:2";
  VirtualCluster cluster(config);
  const std::vector<float> base = cluster.model().initial_weights(config.seed);
  set_rows(cluster, [&](Index worker) {
    std::vector<float> row = base;
    if (worker == 9) row.back() = std::nanf("");
    return row;
  });
  CHECK(std::isnan(cluster.evaluate().loss));
  CHECK(cluster.first_bad_tensor() == "tensor layer2.bias became non-finite first");
  CHECK_THROWS_WITH(cluster.advance(),
                    Catch::Matchers::Contains("tensor layer2.bias became non-finite first (step 1, worker 9)"));
}

namespace {

/// An optimizer that asks for gradients at a point of its own, and keeps what it gets.
class Curious final : public optim::Optimizer {
 public:
  Curious(const device::Shard& shard, const std::vector<float>& point, Index stride)
      : parameters_(static_cast<Index>(point.size()) / (stride > 0 ? shard.own().count : 1)),
        stride_(stride),
        point_(device::Buffer<float>::copy_of(shard.device, point)),
        shard_(shard) {}

  bool wants_extra_gradients() const override { return true; }
  Point extra_point() const override { return {point_.data(), stride_}; }
  void absorb_extra(Range group, const float* gradients, Index stride) override {
    extra_groups.push_back(group.first);
    keep(group, gradients, stride, extra);
  }
  optim::StateView state() const override { return {}; }
  void visit_state(device::StateVisitor&) override {}

  std::vector<Index> groups, extra_groups;
  std::vector<float> usual, extra;  ///< gradient rows, one after the other

 private:
  void do_absorb(Range group, const float* gradients, Index stride) override {
    groups.push_back(group.first);
    CHECK(extra_groups == groups);  // right before, for the same group
    keep(group, gradients, stride, usual);
  }
  optim::StepReport do_finish(device::Buffer<float>&) override {
    optim::StepReport report;
    report.update_norm = 0;
    return report;
  }
  void keep(Range group, const float* gradients, Index stride, std::vector<float>& kept) const {
    REQUIRE(stride == parameters_);
    std::vector<float> rows(static_cast<std::size_t>(group.count * stride));
    shard_.device.memory().download(rows.data(), gradients, static_cast<Index>(rows.size() * sizeof(float)));
    kept.insert(kept.end(), rows.begin(), rows.end());
  }

  Index parameters_, stride_;
  device::Buffer<float> point_;
  device::Shard shard_;
};

}  // namespace

TEST_CASE("extra gradients: the same samples at the point that the optimizer asks for") {
  RunConfig config = mlp_config();
  config.worker_group = 5;
  for (const bool own_points : {false, true}) {
    VirtualCluster cluster(config);
    const std::vector<float> base = cluster.model().initial_weights(config.seed);
    std::vector<float> point = base;
    for (Index w = 1; own_points && w < config.workers; ++w) point.insert(point.end(), base.begin(), base.end());
    cluster.on_each_device([&](Replica& replica) {
      const Index stride = own_points ? replica.model->parameters() : 0;
      replica.optimizer = std::make_unique<Curious>(replica.shard, point, stride);
      replica.extra_gradients = device::Buffer<float>(replica.shard.device, replica.gradients.size());
    });
    cluster.advance();
    const auto& curious = dynamic_cast<const Curious&>(cluster.optimizer());
    REQUIRE(curious.extra.size() == base.size() * 16);
    REQUIRE(curious.extra_groups == std::vector<Index>{0, 5, 10, 15});
    double away = 0, length = 0;
    for (std::size_t i = 0; i < curious.extra.size(); ++i) {
      away += std::pow(static_cast<double>(curious.extra[i]) - static_cast<double>(curious.usual[i]), 2);
      length += std::pow(static_cast<double>(curious.usual[i]), 2);
    }
    CAPTURE(own_points);
    CHECK(length > 0);
    CHECK(std::sqrt(away / length) < (own_points ? 1e-6 : 1e-30));
  }
}
