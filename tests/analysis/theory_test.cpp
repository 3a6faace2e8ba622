// Runs on the quadratic against the theory: its constants, the bounds, the rates.

#include "analysis/theory/theory.hpp"

#include <cmath>

#include "analysis/theory/fit.hpp"
#include "device/base/error.hpp"
#include "sim/run/train.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

sim::RunConfig quadratic() {
  sim::RunConfig config;
  config.model = {.name = "quadratic", .layers = {}, .dimension = 256, .condition = 10, .noise = 2, .heterogeneity = 1};
  config.data = {.name = "none"};
  config.workers = 16;
  config.batch = 4;
  config.steps = 200;
  config.optimizer.name = "onebit-adam";
  config.optimizer.lr = 1e-3;
  config.optimizer.freeze.policy = "fixed:50";
  config.probe = {.every = 10, .curvature = 80};
  return config;
}

TheoryView view_of(const sim::RunConfig& config) {
  const Folder folder;
  sim::VirtualCluster cluster(config);
  const sim::RunIdentity identity{
      "", "", "", {{"batch", std::to_string(config.batch)}, {"optimizer", config.optimizer.name}}};
  train(cluster, config, folder / "run.h5", sim::Existing::refuse, identity, {});
  return view_theory(sim::LogReader(folder / "run.h5"));
}

void check_close(const Measured& measured) {
  CHECK(measured.value == Approx(measured.known).epsilon(0.05));
}

}  // namespace

TEST_CASE("constants of a run on the quadratic are within 5% of those that were set", "[once]") {
  const TheoryView view = view_of(quadratic());
  const TheoryConstants& c = view.constants;
  check_close(c.smoothness);
  check_close(c.noise);
  CHECK(c.noise.known == 1);  // 2 over the root of 4 examples
  check_close(c.heterogeneity);
  CHECK(c.path_smoothness.most <= 1.001);
  CHECK(c.worker_delta.value > 0.3);
  CHECK(c.worker_delta.value < 0.7);  // 2 / pi for normal numbers
  CHECK(c.epsilon >= 2 * std::max(c.worker_error.most, c.server_error.most));
}

TEST_CASE("errors telescope to rounding, and keep within the bound of error feedback where gradients are fed",
          "[once]") {
  sim::RunConfig config = quadratic();
  const TheoryView momenta = view_of(config);
  CHECK(momenta.telescoping.probes == 15);
  CHECK(momenta.telescoping.worst < 1e-5);
  CHECK(std::isnan(momenta.error.bound));  // they carry the errors of former exchanges
  config.optimizer.name = "adam-naive-ec";
  const TheoryView gradients = view_of(config);
  CHECK(gradients.error.error_square > 0);
  CHECK(gradients.error.error_square <= gradients.error.bound);
}

namespace {

/// Steps 1 and 2 dense, 3 to 6 compressed; probes at 4 and 6.
TheoryView written(const std::string& optimizer, bool per_worker = true) {
  const Folder folder;
  sim::LogHeader header = sample_header();  // three workers
  header.constants.reset();
  header.probed = true;
  header.per_worker = per_worker;
  header.config = {{"optimizer", optimizer}, {"optimizer.beta1", "0.5"}};
  sim::LogWriter log(folder / "run.h5", header, false);
  for (Index step = 1; step <= 6; ++step) {
    sim::StepRow row;
    row.step = step;
    row.lr = step > 2 ? 0.1 : 7;
    row.phase = step > 2 ? 2 : 1;
    if (step == 4) row.worker_codec_error = 0.6;
    if (step == 6) row.worker_codec_error = 0.8;
    row.worker_error_norm = step == 4 ? 2 : 1;
    row.server_error_norm = 0.5;
    log.append(row);
  }
  if (per_worker) {
    log.append(sim::WorkerRow{.step = 4, .loss = {0, 0, 0}, .error_norm = {1, 3, 2}});
    log.append(sim::WorkerRow{.step = 6, .loss = {0, 0, 0}, .error_norm = {1, 1, 1}});
  }
  for (const Index step : {4, 6}) {
    const bool first = step == 4;
    sim::ProbeRow probe;
    probe.step = step;
    probe.path_smoothness = first ? 2 : 3;
    probe.smoothness = first ? 1 : 1.5;  // of both measures, the one along the path is larger
    probe.noise_square = first ? 4 : 9;
    probe.heterogeneity_square = first ? 0.25 : 0.49;
    probe.worker_gradient_square = first ? 7 : 5;
    probe.scaled_gradient_square = first ? 10 : 20;
    probe.least_denominator = first ? 2 : 2.5;
    log.append(probe);
  }
  log.append(sim::EvaluationRow{.step = 2, .loss = 5});
  log.append(sim::EvaluationRow{.step = 6, .loss = 1});
  log.append(sim::Event{2, "freeze", "variance frozen"});
  log.close(sim::RunStatus::finished);
  return view_theory(sim::LogReader(folder / "run.h5"));
}

}  // namespace

TEST_CASE("without the errors of single workers, their bound is unknown") {
  CHECK(std::isnan(written("onebit-adam", false).constants.epsilon));
}

TEST_CASE("both sides of Theorem 1, term by term, are what a hand computes") {
  const TheoryView view = written("onebit-adam");
  // g 0.1, b 0.5, n 3, L 3, s^2 = (4 + 9) / 2, e twice worker 1's 3 at step 4, f(x0) - f* = 5 - 1.
  CHECK(view.constants.epsilon == 6);
  CHECK(view.constants.noise.value == Approx(std::sqrt(6.5)));
  CHECK((view.constants.noise.least == 2 && view.constants.noise.most == 3));
  CHECK(view.constants.heterogeneity.value == Approx(std::sqrt(0.37)));
  CHECK((view.constants.heterogeneity.least == 0.5 && view.constants.heterogeneity.most == 0.7));
  CHECK((view.constants.smoothness.value == 1.5 && view.constants.path_smoothness.value == 3));
  CHECK((view.constants.path_smoothness.least == 2 && view.constants.least_denominator.value == 2.25));
  REQUIRE(view.bound.size() == 2);
  const BoundRow& first = view.bound[0];  // T 2, v 2: g L / v = 0.15
  CHECK(first.start == Approx(80));
  CHECK(first.factor == Approx(1 - 0.15 - 0.18));
  CHECK(first.left == Approx(0.67 * 2 * 10));                                // step 4 stands for 3 too
  CHECK(first.errors == Approx(6 * 0.01 * 9 * 36 * 2 / (0.25 * 8)));         // 19.44
  CHECK(first.noise == Approx(3 * 0.1 * 6.5 * 2 / (3 * 2)));                 // 0.65
  CHECK(first.momentum == Approx(2 * 0.01 * 9 * 6.5 * 2 / (3 * 0.25 * 4)));  // 0.78
  CHECK(first.right() == Approx(80 + 19.44 + 0.65 + 0.78));
  const BoundRow& second = view.bound[1];  // T 4, v 2.5: g L / v = 0.12
  CHECK(second.factor == Approx(1 - 0.12 - 0.1152));
  CHECK(second.left == Approx(0.7648 * (20 + 40)));
  CHECK(second.errors == Approx(19.90656));
  CHECK(second.noise == Approx(1.04));
  CHECK(second.momentum == Approx(0.9984));
  CHECK(std::isnan(view.error.bound));
}

TEST_CASE("the bound of error feedback, its delta and its G^2 are what a hand computes") {
  const TheoryView view = written("ef-sgd");
  CHECK(view.bound.empty());
  CHECK(view.constants.worker_delta.value == Approx((0.64 + 0.36) / 2));
  CHECK(view.error.delta == Approx(0.36));
  CHECK(view.error.input_square == 7);
  CHECK(view.error.error_square == 4);
  CHECK(view.error.bound == Approx(4 * 0.64 * 7 / 0.1296));
}

TEST_CASE("along the path L is that of a quadratic whose curvature is the same everywhere") {
  sim::RunConfig config = quadratic();
  config.model.spectrum = "flat";
  config.model.condition = 1;
  config.probe.curvature = 0;
  const TheoryConstants c = view_of(config).constants;
  CHECK(c.path_smoothness.least == Approx(c.path_smoothness.known).epsilon(1e-3));
  CHECK(c.path_smoothness.most == Approx(c.path_smoothness.known).epsilon(1e-3));
}

TEST_CASE("a codec of known delta is measured as what it is", "[once]") {
  sim::RunConfig config = quadratic();
  config.optimizer.name = "ef-sgd";
  config.optimizer.momentum = 0;
  config.optimizer.exchange.up.name = "random-k";
  config.optimizer.exchange.up.k = 0.25;
  config.optimizer.exchange.down = "fp32";
  config.optimizer.freeze.policy = "never";
  config.log.workers_every = 1;
  const TheoryView view = view_of(config);
  CHECK(view.constants.worker_delta.value == Approx(0.25).epsilon(0.05));
  CHECK(view.error.error_square <= view.error.bound);
}

TEST_CASE("both sides of the bound of 1-bit Adam, one row a probe of the compression stage", "[once]") {
  const TheoryView view = view_of(quadratic());
  REQUIRE(view.bound.size() == 15);
  CHECK(view.bound.front().step == 60);
  for (std::size_t i = 1; i < view.bound.size(); ++i) {
    const BoundRow& row = view.bound[i];
    CHECK(row.start == view.bound[0].start);
    CHECK(row.noise > view.bound[i - 1].noise);
    CHECK(row.right() == row.start + row.errors + row.noise + row.momentum);
    CHECK(row.factor < 1);
    CHECK(row.left <= row.right());  // holds here; in general the constants are not certain
  }
}

namespace {

/// Mean squared gradient after the freeze of a run of T steps with n workers on a quadratic where noise dominates, the
/// learning rate being c d sqrt(n / T). eps is far above sqrt(v), so that d is eps. H is the identity: the squared
/// gradient is twice the loss above the minimum, which is known without noise.
double mean_square(const std::string& optimizer, Index workers, Index steps) {
  constexpr double eps = 200;
  sim::RunConfig config;
  config.model = {.name = "quadratic", .layers = {}, .dimension = 64, .spectrum = "flat", .condition = 1, .noise = 45};
  config.data = {.name = "none"};
  config.workers = workers;
  config.batch = 1;
  config.steps = steps + 1;
  config.optimizer.name = optimizer;
  config.optimizer.beta1 = optimizer == "onebit-adam" ? 0.9 : 0;
  config.optimizer.eps = eps;
  config.optimizer.lr = 0.125 * eps * std::sqrt(static_cast<double>(workers) / static_cast<double>(steps));
  config.optimizer.freeze.policy = "fixed:1";
  sim::VirtualCluster cluster(config);
  cluster.advance();
  double sum = 0;
  while (cluster.step() < cluster.steps()) {
    sum += 2 * cluster.evaluate().mean_loss();
    cluster.advance();
  }
  return sum / static_cast<double>(steps);
}

PowerFit fitted(const std::string& optimizer, Variable variable, const std::vector<Index>& values) {
  std::vector<double> x, y;
  for (const Index value : values) {
    x.push_back(static_cast<double>(value));
    y.push_back(variable == Variable::workers ? mean_square(optimizer, value, 1600)
                                              : mean_square(optimizer, 16, value));
  }
  return fit_power(x, y);
}

}  // namespace

TEST_CASE("where noise dominates the rate is -1/2 in steps and in workers", "[once]") {
  for (const char* optimizer : {"onebit-adam-32", "onebit-adam"}) {
    const PowerFit steps = fitted(optimizer, Variable::steps, {400, 800, 1600, 3200, 6400});
    const PowerFit workers = fitted(optimizer, Variable::workers, {1, 4, 16, 64, 256});
    INFO(optimizer << ": steps " << steps.exponent << " ± " << steps.half_width << ", workers " << workers.exponent
                   << " ± " << workers.half_width);
    CHECK(std::fabs(steps.exponent + 0.5) < 0.05);
    CHECK(std::fabs(workers.exponent + 0.5) < 0.05);
  }
}

TEST_CASE("a log without probes is refused with what to do") {
  const Folder folder;
  {
    sim::LogWriter log(folder / "run.h5", sample_header(), false);
    append_samples(log, 1, 5);
    log.close(sim::RunStatus::finished);
  }
  CHECK_THROWS_WITH(view_theory(sim::LogReader(folder / "run.h5")), Contains("no probes") && Contains("--probe.every"));
}

TEST_CASE("telescoping tells the worst probe, and one that is no number is the worst") {
  const auto worst_of = [](const std::vector<double>& residuals) {
    const Folder folder;
    sim::LogHeader header = sample_header();
    header.probed = true;
    header.constants.reset();
    {
      sim::LogWriter log(folder / "run.h5", header, false);
      log.append(sample_step(1));
      for (std::size_t i = 0; i < residuals.size(); ++i) {
        sim::ProbeRow probe;
        probe.step = static_cast<Index>(i) + 1;
        probe.feedback_size = i == 1 ? 0 : 4;  // the second exchanged nothing
        probe.feedback_residual = residuals[i];
        log.append(probe);
      }
      log.close(sim::RunStatus::finished);
    }
    return view_theory(sim::LogReader(folder / "run.h5")).telescoping;
  };
  const Telescoping rising = worst_of({1, 100, 3, 2});
  CHECK(rising.probes == 3);
  CHECK(rising.worst == 0.75);
  CHECK(rising.step == 3);
  const Telescoping falling = worst_of({3, 100, 2});
  CHECK(falling.worst == 0.75);
  CHECK(falling.step == 1);
  const Telescoping broken = worst_of({1, 100, std::nan(""), 3});
  CHECK(std::isnan(broken.worst));
  CHECK(broken.step == 3);
}
