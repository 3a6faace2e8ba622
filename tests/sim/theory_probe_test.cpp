// Probes: what they measure on a problem with known constants; that they do not change the run, and do not depend on
// the devices and groups that compute it.

#include "sim/probe/theory_probe.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "device/comm/state.hpp"
#include "sim/probe/probe.hpp"
#include "sim/run/train.hpp"
#include "sim/run/weights_file.hpp"
#include "tests/catch.hpp"
#include "tests/oracle/quadratic.hpp"
#include "tests/sim/log/log_fixture.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

RunConfig onebit_adam(RunConfig config) {
  config.optimizer.name = "onebit-adam";
  config.optimizer.freeze.policy = "fixed:4";
  return config;
}

/// Returns a run that exchanges only at some steps.
RunConfig zero_one_adam() {
  RunConfig config = mlp_config();
  config.steps = 40;
  config.optimizer.name = "zeroone-adam";
  config.optimizer.zeroone = {
      .var_freeze_step = 6, .var_update_scaler = 2, .local_step_scaler = 4, .local_step_clipper = 4};
  return config;
}

RunConfig quadratic() {
  RunConfig config;
  config.model = {.name = "quadratic", .layers = {}, .dimension = 400, .condition = 10, .noise = 3, .heterogeneity = 2};
  config.data = {.name = "none"};
  config.workers = 32;
  config.batch = 1;
  config.steps = 24;
  config.threads = 2;
  config.optimizer.lr = 1e-3;
  config.probe = {.every = 2, .curvature = 80};
  return onebit_adam(config);
}

std::vector<float> final_weights(const RunConfig& config) {
  VirtualCluster cluster(config);
  while (cluster.step() < cluster.steps()) cluster.advance();
  return cluster.final_weights();
}

std::vector<ProbeRow> probes_of(const RunConfig& config) {
  VirtualCluster cluster(config);
  std::vector<ProbeRow> rows;
  while (cluster.step() < cluster.steps()) {
    const StepOutcome outcome = cluster.advance();
    CHECK(outcome.probe.has_value() == (outcome.step % config.probe.every == 0));
    if (outcome.probe) rows.push_back(*outcome.probe);
  }
  return rows;
}

/// Returns all numbers of rows; NaN becomes -1, which does not occur otherwise.
std::vector<double> numbers_of(const std::vector<ProbeRow>& rows) {
  std::vector<double> numbers;
  for (const ProbeRow& row : rows) {
    for_each_field<ProbeRow>([&](const Column&, auto member) {
      const auto value = static_cast<double>(row.*member);
      numbers.push_back(std::isnan(value) ? -1.0 : value);
    });
  }
  return numbers;
}

/// Continues or starts a run, stops it after a step (0: trains to its end), and returns its log.
LogReader run_log(const RunConfig& config, const std::string& path, Index stop_after = 0) {
  VirtualCluster cluster(config);
  RunControl control;
  control.stop_requested = [&] { return stop_after > 0 && cluster.step() >= stop_after; };
  train(cluster, config, path, Existing::resume, {}, control);
  return LogReader(path);
}

double mean_of(const std::vector<ProbeRow>& rows, double ProbeRow::*column) {
  double sum = 0;
  for (const ProbeRow& row : rows) sum += row.*column;
  return sum / static_cast<double>(rows.size());
}

}  // namespace

TEST_CASE("a probed run is the run that it probes") {
  const Folder folder;
  std::vector<RunConfig> runs = {onebit_adam(mlp_config()), mlp_config(),
                                 onebit_adam(transformer_config(folder, "bert-nano"))};
  runs.push_back(mlp_config());
  runs.back().optimizer.name = "local-sgd";
  runs.back().accumulation = 3;
  runs.push_back(mlp_config());
  runs.back().optimizer.name = "onebit-lamb";
  runs.back().optimizer.freeze.policy = "fixed:4";
  runs.push_back(mlp_config());
  runs.back().optimizer.name = "cada2";
  runs.push_back(zero_one_adam());
  for (RunConfig config : runs) {
    INFO(config.optimizer.name << ", " << config.model.name);
    const std::vector<float> expected = final_weights(config);
    config.probe = {.every = 2, .curvature = 4};
    CHECK(final_weights(config) == expected);
  }
}

TEST_CASE("running statistics of a model are not those of a probe's passes") {
  RunConfig config = mlp_config();
  config.model = {.name = "resnet20", .layers = {}, .norm = "batch"};
  config.data = {.name = "synthetic", .image = {3, 8, 8}, .classes = 3, .examples = 200};
  config.workers = 2;
  config.batch = 4;
  config.steps = 2;
  const auto evaluated = [](const RunConfig& run) {
    VirtualCluster cluster(run);
    while (cluster.step() < cluster.steps()) cluster.advance();
    return cluster.evaluate().loss;
  };
  const double expected = evaluated(config);
  config.probe = {.every = 1, .curvature = 2};
  CHECK(evaluated(config) == expected);
}

TEST_CASE("on the quadratic the measured constants are those that were set") {
  const RunConfig config = quadratic();
  const std::vector<ProbeRow> rows = probes_of(config);
  REQUIRE(rows.size() == 12);
  CHECK(std::sqrt(mean_of(rows, &ProbeRow::noise_square)) == Approx(3).epsilon(0.05));
  CHECK(std::sqrt(mean_of(rows, &ProbeRow::heterogeneity_square)) == Approx(2).epsilon(0.05));
  for (const ProbeRow& row : rows) {
    CHECK(row.smoothness == Approx(1).epsilon(0.05));
    CHECK(row.smoothness <= 1.001);
    CHECK(row.path_smoothness <= 1.001);
    CHECK(row.path_smoothness > 0.09);
  }
}

TEST_CASE("gradients without noise have none, and workers with the same gradients no heterogeneity") {
  RunConfig config = quadratic();
  config.workers = 2;
  config.model.noise = 0;
  config.model.heterogeneity = 0;
  for (const ProbeRow& row : probes_of(config)) {
    CHECK(row.noise_square == 0);
    CHECK(row.heterogeneity_square == Approx(0).margin(1e-6 * row.gradient_square));
    CHECK(row.worker_gradient_square == Approx(row.gradient_square).epsilon(1e-6));
  }
}

TEST_CASE("where no coordinate has a gradient no rate drifts") {
  const Folder folder;
  RunConfig config = quadratic();
  config.model.noise = 0;
  config.model.heterogeneity = 0;
  config.steps = 8;
  std::vector<float> optimum;
  for (const double x : oracle::Quadratic{.eigenvalues = oracle::Vector(400, 1.0)}.optimum())
    optimum.push_back(static_cast<float>(x));
  write_weights(folder / "optimum.h5", VirtualCluster(config).model().tensors(), optimum);
  config.model.init = folder / "optimum.h5";
  const std::vector<ProbeRow> rows = probes_of(config);
  REQUIRE(rows.size() == 4);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    CHECK(rows[i].gradient_square == 0);
    CHECK(rows[i].rate_drift == 0);
    CHECK(rows[i].moved_share == 0);
  }
}

TEST_CASE("the squared gradient has no bias by noise") {
  RunConfig config = quadratic();
  config.probe = {.every = 1};
  config.steps = 200;
  config.optimizer.lr = 1e-30;
  config.workers = 4;
  config.model.heterogeneity = 0;
  const std::vector<ProbeRow> rows = probes_of(config);
  oracle::Quadratic problem{.eigenvalues = {}, .rotate = false};
  for (Index i = 0; i < 400; ++i) problem.eigenvalues.push_back(std::pow(10.0, -static_cast<double>(i) / 399));
  const std::vector<float> x = VirtualCluster(config).final_weights();
  const std::vector<double> optimum = problem.optimum();
  double exact = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    exact += std::pow(problem.eigenvalues[i] * (static_cast<double>(x[i]) - optimum[i]), 2);
  }
  const double noise = 9.0 / 4;
  CHECK(mean_of(rows, &ProbeRow::gradient_square) == Approx(exact).epsilon(0.01));
  CHECK(std::fabs(mean_of(rows, &ProbeRow::gradient_square) - exact) < noise / 4);
  CHECK(mean_of(rows, &ProbeRow::worker_gradient_square) == Approx(exact + 9).epsilon(0.02));
}

TEST_CASE("probes of gradients that are accumulated over parts of a batch are those of the whole batch") {
  RunConfig whole = mlp_config();
  whole.steps = 1;
  whole.batch = 12;
  whole.probe = {.every = 1};
  RunConfig parts = whole;
  parts.batch = 4;
  parts.accumulation = 3;
  const ProbeRow expected = probes_of(whole).front(), row = probes_of(parts).front();
  CHECK(row.gradient_square == Approx(expected.gradient_square).epsilon(1e-4));
  CHECK(row.worker_gradient_square == Approx(expected.worker_gradient_square).epsilon(1e-4));
  CHECK(row.noise_square == Approx(expected.noise_square).epsilon(1e-4));
  CHECK(row.heterogeneity_square == Approx(expected.heterogeneity_square).epsilon(1e-2));
}

TEST_CASE("scaled gradients divide by the denominators of the step") {
  RunConfig config = quadratic();
  config.optimizer.eps = 1e6;  // d is eps to rounding
  for (const ProbeRow& row : probes_of(config)) {
    CHECK(row.scaled_gradient_square == Approx(row.gradient_square / 1e6));
    CHECK(row.least_denominator == Approx(1e6));
  }
}

TEST_CASE("probes do not depend on devices, groups or threads") {
  RunConfig config = onebit_adam(mlp_config());
  config.probe = {.every = 1, .curvature = 4};
  const std::vector<double> expected = numbers_of(probes_of(config));
  CHECK(expected.size() == 9 * 18);
  for (const char* devices : {"cpu:2", "cpu:3", "debug"}) {
    config.device = devices;
    config.worker_group = 3;
    config.threads = 3;
    INFO(devices);
    CHECK(numbers_of(probes_of(config)) == expected);
  }
}

TEST_CASE("shadow and frozen variance: drift after the freeze, changes since the row before until then") {
  RunConfig config = quadratic();
  config.optimizer.beta2 = 0.5;
  config.optimizer.bias_correction = false;
  config.optimizer.freeze.policy = "fixed:5";
  const std::vector<ProbeRow> rows = probes_of(config);
  CHECK(std::isnan(rows[0].rate_drift));  // there is no row before
  CHECK(rows[1].rate_drift > 0);
  for (std::size_t i = 2; i < rows.size(); ++i) {
    CHECK(rows[i].rate_drift > 0.05);
    CHECK(rows[i].moved_share > 0.1);
    CHECK(rows[i].moved_share <= 1);
    CHECK(rows[i].shadow_l1 != rows[i - 1].shadow_l1);
  }
  config.optimizer.lr = 1e-30;
  config.model.noise = 0;
  config.model.heterogeneity = 0;
  config.optimizer.beta2 = 0;
  for (const ProbeRow& row : probes_of(config)) {  // the variance is the same square at every step
    CHECK((row.step == 2 || row.rate_drift == 0));
    CHECK((row.step == 2 || row.moved_share == 0));
  }
}

TEST_CASE("the errors of 0/1 Adam balance, at the steps that exchange") {
  for (const Index every : {1, 3, 4, 5}) {
    RunConfig config = zero_one_adam();
    config.probe.every = every;
    Index balances = 0;
    for (const ProbeRow& row : probes_of(config)) {
      if (std::isnan(row.feedback_size)) continue;
      ++balances;
      CHECK(row.feedback_residual < 1e-5 * row.feedback_size);
    }
    CHECK(balances > 0);
    CHECK((every > 1 || balances < 40));
  }
}

TEST_CASE("a resumed probed run that exchanges at some steps has the rows of one that was left alone") {
  const Folder folder;
  RunConfig config = zero_one_adam();
  config.probe.every = 1;
  config.checkpoint.every = 5;
  const LogReader whole = run_log(config, folder / "whole.h5");
  for (const Index stop : {7, 12, 19, 30}) run_log(config, folder / "stopped.h5", stop);
  CHECK(numbers_of(run_log(config, folder / "stopped.h5").probes()) == numbers_of(whole.probes()));
}

TEST_CASE("a resumed probed run has the rows of one that was left alone") {
  const Folder folder;
  RunConfig config = onebit_adam(mlp_config());
  config.probe = {.every = 1, .curvature = 2};
  config.log.tensors_every = 2;
  config.checkpoint.every = 5;
  const LogReader whole = run_log(config, folder / "whole.h5");
  run_log(config, folder / "stopped.h5", 6);
  const LogReader resumed = run_log(config, folder / "stopped.h5");
  CHECK(resumed.status() == RunStatus::finished);
  CHECK(numbers_of(resumed.probes()) == numbers_of(whole.probes()));
  CHECK(whole.probes().size() == 9);
  const std::vector<TensorRow> tensors = whole.tensors(), again = resumed.tensors();
  REQUIRE(tensors.size() == again.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CHECK(tensors[i].shadow_l1 == again[i].shadow_l1);
    CHECK((tensors[i].shadow_l1 == tensors[i].variance_l1) == (tensors[i].step <= 4));
  }
  CHECK(whole.steps().back().lr_drift == whole.probes().back().rate_drift);
}

TEST_CASE("logs without probes read as before") {
  const Folder folder;
  const RunConfig config = mlp_config();
  VirtualCluster cluster(config);
  train(cluster, config, folder / "run.h5", Existing::refuse, {}, {});
  const LogReader log(folder / "run.h5");
  CHECK_FALSE(log.header().probed);
  CHECK(log.probes().empty());
  for (const TensorRow& row : log.tensors()) {
    CHECK(row.shadow_l1.size() == log.header().tensors.size());
    CHECK(std::isnan(row.shadow_l1.front()));
  }
}

TEST_CASE("denominators and what is divided by them are those of the formula, in one dimension") {
  RunConfig config = quadratic();
  config.model.dimension = 1;
  config.model.condition = 1;
  config.model.spectrum = "flat";
  config.optimizer.beta2 = 0.9;
  config.optimizer.eps = 0.01;
  config.optimizer.freeze.policy = "fixed:12";
  config.probe = {.every = 1, .curvature = 1};
  const Folder folder;
  const LogReader log = run_log(config, folder / "run.h5");
  const std::vector<StepRow> steps = log.steps();
  const std::vector<ProbeRow> probes = log.probes();
  REQUIRE(probes.size() == 24);
  const auto denominator = [](double variance, Index updates) {
    return std::sqrt(variance / (1 - std::pow(0.9, static_cast<double>(updates)))) + 0.01;
  };
  Index moved = 0;
  for (std::size_t i = 1; i < probes.size(); ++i) {
    const Index t = probes[i].step;
    CAPTURE(t);
    const double d = denominator(steps[i].variance_l1, std::min<Index>(t, 12));
    CHECK(probes[i].smoothness == Approx(1).epsilon(1e-3));  // one iteration is enough
    CHECK(probes[i].least_denominator == Approx(d).epsilon(1e-5));
    CHECK(probes[i].scaled_gradient_square == Approx(probes[i].gradient_square / d).epsilon(1e-4));
    const double before = t >= 12 ? denominator(probes[i].shadow_l1, t)
                                  : denominator(steps[i - 1].variance_l1, t - 1);  // warm-up: the previous row's
    CHECK(probes[i].rate_drift == Approx(std::fabs(std::log(d / before))).epsilon(1e-3).margin(1e-6));
    const double old_root = (t > 12 ? d : before) - 0.01, new_root = (t > 12 ? before : d) - 0.01;
    const bool moves = std::fabs(new_root - old_root) > config.probe.moved * old_root;
    CHECK(probes[i].moved_share == (moves ? 1 : 0));  // of the one coordinate
    moved += moves ? 1 : 0;
  }
  CHECK((moved > 0 && moved < 23));
}

TEST_CASE("the probe's row of errors is the root mean square over workers") {
  RunConfig config = onebit_adam(mlp_config());
  config.steps = 8;
  config.log.workers_every = 1;
  const Folder folder;
  VirtualCluster cluster(config);
  train(cluster, config, folder / "run.h5", Existing::refuse, {"", "", "", {}}, RunControl{});
  const LogReader log(folder / "run.h5");
  const std::vector<StepRow> steps = log.steps();
  const std::vector<WorkerRow> workers = log.workers();
  REQUIRE(workers.size() == steps.size());
  double squares = 0;
  for (const double norm : workers.back().error_norm) squares += norm * norm;
  CHECK(squares > 0);
  CHECK(steps.back().worker_error_norm ==
        Approx(std::sqrt(squares / static_cast<double>(config.workers))).epsilon(1e-12));
}

namespace {

/// Reads all floats with the name `name`, in any group.
class ReadState final : public device::StateVisitor {
 public:
  ReadState(const device::Shard& shard, std::string name, std::vector<float>& values)
      : StateVisitor(shard), name_(std::move(name)), values_(values) {}
  bool loads() const override { return false; }

 private:
  void device(const std::string& path, const device::Elements& elements, std::span<const device::Piece> pieces, Index,
              Held) override {
    if (!path.ends_with("/" + name_)) return;
    for (const device::Piece& piece : pieces) {
      const std::size_t before = values_.size();
      values_.resize(before + static_cast<std::size_t>(piece.count));
      elements.download(values_.data() + before, piece.first, piece.count);
    }
  }
  void host(const std::string&, std::vector<double>&) override {}
  void host(const std::string&, std::vector<Index>&) override {}

  std::string name_;
  std::vector<float>& values_;
};

double l1_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += std::fabs(static_cast<double>(value));
  return sum;
}

double l2_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("a probe's norms are those of what the run holds after the step") {
  VirtualCluster cluster(onebit_adam(mlp_config()));
  StepOutcome outcome = cluster.advance();
  CHECK(std::isnan(measure_step(cluster, outcome).server_error_norm));  // there is no exchange yet
  while (cluster.step() < cluster.steps()) outcome = cluster.advance();
  const StepRow row = measure_step(cluster, outcome);
  const optim::StateView state = cluster.replicas().front().optimizer->state();
  const std::vector<float> momentum = state.momentum->to_host(), variance = state.variance->to_host();
  std::vector<float> server_error;
  cluster.visit_state([&](const device::Shard& shard, const VirtualCluster::Visit& visit) {
    ReadState read(shard, "server_error", server_error);
    visit(read);
  });
  REQUIRE(server_error.size() >= momentum.size());
  CHECK(row.param_norm == Approx(l2_of(cluster.weights().to_host())).epsilon(1e-12));
  CHECK(row.momentum_norm == Approx(l2_of(momentum)).epsilon(1e-12));
  CHECK(row.variance_l1 == Approx(l1_of(variance)).epsilon(1e-12));
  CHECK(row.variance_l2 == Approx(l2_of(variance)).epsilon(1e-12));
  CHECK(row.server_error_norm == Approx(l2_of(server_error)).epsilon(1e-12));
  CHECK(row.server_error_norm > 0);
  const auto positive = static_cast<double>(std::ranges::count_if(momentum, [](float value) { return value > 0; }));
  CHECK(row.sign_density == Approx(positive / static_cast<double>(momentum.size())).epsilon(1e-12));
  const TensorRow tensors = measure_tensors(cluster, outcome.step);
  const std::vector<Range> ranges = compress::ranges_of(cluster.model().tensors());
  REQUIRE(tensors.variance_l1.size() == ranges.size());
  for (std::size_t t = 0; t < ranges.size(); ++t) {
    const auto first = static_cast<std::size_t>(ranges[t].first), size = static_cast<std::size_t>(ranges[t].count);
    const std::span<const float> v = std::span(variance).subspan(first, size);
    CHECK(tensors.momentum_l2[t] == Approx(l2_of(std::span(momentum).subspan(first, size))).epsilon(1e-12));
    CHECK(tensors.variance_l1[t] == Approx(l1_of(v)).epsilon(1e-12));
    CHECK(tensors.variance_l2[t] == Approx(l2_of(v)).epsilon(1e-12));
  }
}
