// 1-bit Adam in paper semantics: when it freezes, what it masks, what it clips, what it reports.
#include "optim/two_stage/onebit_adam.hpp"
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

TrainingOptions onebit_adam(Index workers, const std::string& freeze) {
  TrainingOptions options;
  options.config.name = "onebit-adam";
  options.config.freeze.policy = freeze;
  options.tensors = {6};
  options.workers = workers;
  return options;
}

int events(const StepReport& report, const std::string& kind) {
  return static_cast<int>(
      std::count_if(report.events.begin(), report.events.end(), [&](const Event& e) { return e.kind == kind; }));
}

const std::vector<float> kRow = {1, -2, 3, 0.5, -0.25, 4};

}  // namespace

TEST_CASE("fixed:K makes exactly K dense updates and tells of the freeze once") {
  for (const int dense : {1, 2, 5}) {
    Training training(onebit_adam(2, "fixed:" + std::to_string(dense)));
    for (int step = 1; step <= 8; ++step) {
      const StepReport report = training.step(FloatRows(2, kRow));
      CAPTURE(dense, step);
      CHECK(report.phase == (step <= dense ? Phase::warmup : Phase::compression));
      CHECK(events(report, "freeze") == (step == dense ? 1 : 0));
    }
  }
}

TEST_CASE("a freeze before the first update is refused") {
  CHECK(contains(refusal([] { Training{onebit_adam(2, "fixed:0")}; }), "before the first update"));
}

TEST_CASE("auto freezes where what preconditions has stayed") {
  // Constant gradients: what preconditions is stable from the first step on, so that lag 10 and dwell decide alone.
  for (const auto& [dwell, freeze] : std::vector<std::pair<Index, int>>{{1, 11}, {0, 11}, {5, 15}}) {
    TrainingOptions options = onebit_adam(2, "auto");
    options.config.beta2 = 0.9;
    options.config.freeze.dwell = dwell;
    Training training(options);
    for (int step = 1; step <= 20; ++step) {
      const StepReport report = training.step(FloatRows(2, kRow));
      CAPTURE(step, dwell);
      CHECK(report.phase == (step <= freeze ? Phase::warmup : Phase::compression));
      CHECK(events(report, "freeze") == (step == freeze ? 1 : 0));
      if (step > 10 && step <= freeze) CHECK(report.stability.corrected == Approx(1).epsilon(1e-5));
      if (step <= 10 || step > freeze) CHECK(std::isnan(report.stability.corrected));
    }
    CHECK(training.optimizer->failed_expectation().empty());
  }
}

TEST_CASE("published freezes where the stored variance comes to the threshold, bias and all") {
  TrainingOptions options = onebit_adam(2, "published");
  options.config.beta2 = 0.9;  // lag 10; constant gradients: ratio (1 - 0.9^(t-10)) / (1 - 0.9^t), 0.96 first at t = 37
  Training training(options);
  for (int step = 1; step <= 40; ++step) {
    const StepReport report = training.step(FloatRows(2, kRow));
    CAPTURE(step);
    CHECK(report.phase == (step <= 37 ? Phase::warmup : Phase::compression));
    if (step > 10 && step <= 37) {
      CHECK(report.stability.raw == Approx((1 - std::pow(0.9, step - 10)) / (1 - std::pow(0.9, step))).epsilon(1e-5));
    } else {
      CHECK(std::isnan(report.stability.raw));
    }
  }
}

TEST_CASE("auto waits for the end of the learning-rate warm-up") {
  TrainingOptions options = onebit_adam(2, "auto");
  options.config.beta2 = 0.9;
  options.config.freeze.dwell = 1;
  options.lr_warmup = 39;
  Training training(options);
  for (int step = 1; step <= 40; ++step) {
    CHECK(training.step(FloatRows(2, kRow)).phase == (step <= 39 ? Phase::warmup : Phase::compression));
  }
}

TEST_CASE("a run that was to compress and never did says so") {
  TrainingOptions options = onebit_adam(2, "auto");
  options.total_steps = 2000;
  Training training(options);
  for (int step = 1; step <= 5; ++step) training.step(FloatRows(2, kRow));
  CHECK(contains(training.optimizer->failed_expectation(), "ended before its compression stage"));
  Training never(onebit_adam(2, "never"));
  never.step(FloatRows(2, kRow));
  CHECK(never.optimizer->failed_expectation().empty());
}

TEST_CASE("a coordinate without variance is masked, stays, and a gradient there is one event") {
  TrainingOptions options = onebit_adam(2, "fixed:2");
  Training training(options, std::vector<float>(6, 1.0f));
  std::vector<float> row = kRow;
  row[3] = 0;
  for (int step = 1; step <= 8; ++step) {
    FloatRows rows(2, row);
    if (step >= 6) rows[1][3] = 1;
    const StepReport report = training.step(rows);
    CAPTURE(step);
    CHECK(report.masked == (step >= 2 ? 1 : 0));
    CHECK(events(report, "masked") == (step == 6 ? 1 : 0));
    CHECK(training.parameters()[3] == 1);
    CHECK(training.parameters()[2] != 1);
    CHECK(training.optimizer->state().momentum->to_host()[3] == 0);
  }
}

TEST_CASE("the masked gradient's event names worker and number of coordinates, in any group") {
  for (const Index group : {1, 2, 3}) {
    TrainingOptions options = onebit_adam(3, "fixed:1");
    options.group = group;
    Training training(options);
    training.step(FloatRows(3, {1, 1, 1, 0, 0, 0}));
    const StepReport report = training.step({{1, 1, 1, 0, 0, 0}, {1, 1, 1, 0, 0, 0}, {1, 1, 1, 0, 5, 5}});
    REQUIRE(report.events.size() == 1);
    CHECK(contains(report.events[0].text, "worker 2 has a gradient at 2 masked coordinates"));
  }
}

TEST_CASE("a masked coordinate still decays") {
  TrainingOptions options = onebit_adam(2, "fixed:2");
  options.config.lr = 0.125;
  options.config.weight_decay = 0.25;
  Training training(options, std::vector<float>(6, 8.0f));
  std::vector<float> row = kRow;
  row[5] = 0;
  float expected = 8;
  for (int step = 1; step <= 6; ++step) {
    training.step(FloatRows(2, row));
    expected -= 0.125f * (0.25f * expected);
    CHECK(training.parameters()[5] == expected);
  }
}

TEST_CASE("clipping is global before the freeze and every worker's own after it") {
  TrainingOptions options = onebit_adam(2, "fixed:1");
  options.tensors = {2};
  options.config.clip = 5;
  Training training(options);
  const FloatRows rows = {{3, 4}, {9, 12}};  // norms 5 and 15, mean 10
  const StepReport dense = training.step(rows);
  CHECK(dense.grad_norm == Approx(10));
  CHECK(dense.clip_share == 1);
  const StepReport compressed = training.step(rows);
  CHECK(compressed.clip_share == 0.5);
  CHECK(compressed.grad_norm == Approx(std::sqrt((25.0 + 225.0) / 2)));
  // Both workers' gradients are 3, 4 after clipping, and so was the mean: m = 0.19 (3, 4), sent with its L2 scale.
  const std::vector<float> momentum = training.optimizer->state().momentum->to_host();
  for (const float value : momentum) CHECK(static_cast<double>(value) == Approx(0.19 * 5 / std::sqrt(2.0)));
  CHECK(training.step({{1, 1}, {1, 1}}).clip_share == 0);
}

TEST_CASE("gradient norms of compressed steps are measured only where clipping needs them") {
  Training training(onebit_adam(2, "fixed:1"));
  CHECK_FALSE(std::isnan(training.step(FloatRows(2, kRow)).grad_norm));
  CHECK(std::isnan(training.step(FloatRows(2, kRow)).grad_norm));
}

TEST_CASE("one worker compresses too") {
  Training training(onebit_adam(1, "fixed:1"));
  training.step({kRow});
  const StepReport report = training.step({kRow});
  CHECK(report.phase == Phase::compression);
  REQUIRE(report.traffic.size() == 4);
  for (const auto& exchange : report.traffic) CHECK(sent_bytes(exchange).value == 0);
  const std::vector<float> momentum = training.optimizer->state().momentum->to_host();
  for (const float value : momentum) CHECK(std::fabs(value) == std::fabs(momentum[0]));  // one scale, six signs
  CHECK(oracle::norm(training.optimizer->state().exchange->worker_errors().to_host()) > 0);
}
