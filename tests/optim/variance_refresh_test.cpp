// A frozen variance that is refreshed by dense steps at intervals.
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/adam.hpp"
#include "tests/saved_state.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

constexpr Index kDense = 5, kRefresh = 4, kParameters = 70;

TrainingOptions refreshed(const std::string& name, Index workers) {
  TrainingOptions options;
  options.config.name = name;
  options.config.lr = 0.01;
  options.config.beta2 = 0.9;
  options.config.freeze.policy = "fixed:" + std::to_string(kDense);
  options.config.variance_refresh = kRefresh;
  options.tensors = {50, 20};
  options.workers = workers;
  return options;
}

bool is_dense(Index update) {
  return update <= kDense || (update - kDense) % kRefresh == 0;
}

/// Adam whose variance uses dense updates only.
struct Oracle {
  OptimizerConfig config;
  std::vector<double> x, m, v;
  int updates = 0, dense = 0;

  void step(const oracle::Rows& gradients) {
    const oracle::Vector g = oracle::mean(gradients);
    ++updates;
    if (is_dense(updates)) ++dense;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (is_dense(updates)) v[i] = config.beta2 * v[i] + (1 - config.beta2) * g[i] * g[i];
      m[i] = v[i] == 0 ? 0 : config.beta1 * m[i] + (1 - config.beta1) * g[i];
      const double root = std::sqrt(v[i] / (1 - std::pow(config.beta2, dense)));
      const double direction = m[i] / (1 - std::pow(config.beta1, updates)) / (root + config.eps);
      x[i] -= config.lr * (direction + config.weight_decay * x[i]);
    }
  }
};

}  // namespace

TEST_CASE("with refreshes the frozen variance takes the gradients of dense steps, and its bias goes by them") {
  for (const char* name : {"onebit-adam-32", "onebit-adam"}) {
    TrainingOptions options = refreshed(name, 3);
    options.config.exchange.up.name = "fp32";
    options.config.weight_decay = 0.1;
    const std::vector<float> x0 = oracle::normals(kParameters, 4);
    Training training(options, x0);
    Oracle oracle{options.config, {x0.begin(), x0.end()}, std::vector<double>(kParameters, 0.0), {}, 0, 0};
    oracle.v = oracle.m;
    const GradientStream early{3, kParameters, 4, {0, 60}}, late{3, kParameters, 4, {0}};
    for (Index step = 1; step <= 40; ++step) {
      const FloatRows rows = (step <= 8 ? early : late)(step);  // a coordinate that wakes up is masked until a refresh
      training.step(rows);
      oracle.step(wide(rows));
      CAPTURE(name, step);
      REQUIRE(oracle::distance(training.parameters(), oracle.x) < 1e-5 * oracle::distance(oracle.x, x0));
    }
  }
}

TEST_CASE("a refresh is a dense step: its traffic, its phase, and errors that wait") {
  Training training(refreshed("onebit-adam", 4), oracle::normals(kParameters, 4));
  const GradientStream gradients{4, kParameters, 4};
  std::vector<std::string> events;
  for (Index step = 1; step <= 20; ++step) {
    const std::vector<float> before = step > kDense + 1
                                          ? training.optimizer->state().exchange->worker_errors().to_host({0, 4})
                                          : std::vector<float>{};
    const StepReport report = training.step(gradients(step));
    for (const Event& event : report.events) events.push_back(event.kind);
    CAPTURE(step);
    CHECK(report.phase == (is_dense(step) ? Phase::warmup : Phase::compression));
    CHECK(training.optimizer->state().exchanged == !is_dense(step));
    CHECK((report.traffic.front().payload_bytes == 4 * kParameters) == is_dense(step));
    if (step <= kDense + 1) continue;
    const std::vector<float> after = training.optimizer->state().exchange->worker_errors().to_host({0, 4});
    CHECK((before == after) == is_dense(step));
    CHECK(std::isnan(report.stability.corrected));
  }
  CHECK(events == std::vector<std::string>{"freeze"});
}

TEST_CASE("refreshes with a floor go on with the same bits from a state saved after any step") {
  for (const char* name : {"onebit-adam", "onebit-lamb"}) {
    TrainingOptions options = refreshed(name, 3);
    options.config.variance_floor = "mean:0.5";
    options.config.shadow = true;
    const GradientStream gradients{3, kParameters, 4, {0}};
    constexpr Index steps = 16;
    std::vector<SavedState> saved;
    std::vector<std::vector<float>> parameters;
    Training whole(options, oracle::normals(kParameters, 4));
    const device::Shard shard = device::whole(whole.device, 3);
    for (Index step = 1; step <= steps; ++step) {
      whole.step(gradients(step));
      SavedStateVisitor visitor(shard, saved.emplace_back(), false);
      whole.optimizer->visit_state(visitor);
      parameters.push_back(whole.parameters());
    }
    for (Index from = 1; from < steps; ++from) {
      Training resumed(options, parameters[static_cast<std::size_t>(from - 1)]);
      SavedStateVisitor visitor(shard, saved[static_cast<std::size_t>(from - 1)], true);
      resumed.optimizer->visit_state(visitor);
      resumed.steps = from;
      for (Index step = from + 1; step <= steps; ++step) resumed.step(gradients(step));
      CAPTURE(name, from);
      CHECK(resumed.parameters() == parameters.back());
    }
  }
}

TEST_CASE("refreshes that make no sense are refused") {
  TrainingOptions options = refreshed("onebit-adam", 2);
  options.config.variance_refresh = -1;
  CHECK(contains(refusal([&] { Training training(options); }), "optimizer.variance-refresh -1"));
  options.config.variance_refresh = 4;
  options.config.semantics = Semantics::deepspeed;
  CHECK(contains(refusal([&] { Training training(options); }), "never refreshes"));
}
