#include "optim/two_stage/variance_floor.hpp"

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

std::vector<float> raised(const std::string& floor, double weight, Index& count, std::vector<double>* least = nullptr) {
  const device::Device device = device::parse_devices("cpu", 1).front();
  auto variance = device::Buffer<float>::copy_of(device, std::vector<float>{1, 3, 0, 8, 2, 0.5f});
  const RaisedVariance result = raise(parse_variance_floor(floor), {{"a", 4}, {"b", 2}}, weight, variance);
  count = result.raised;
  if (least != nullptr) *least = result.least;
  return variance.to_host();
}

}  // namespace

TEST_CASE("a floor raises what is below it, and leaves zeros alone") {
  Index count = 0;
  CHECK(raised("0", 1, count) == std::vector<float>{1, 3, 0, 8, 2, 0.5f});
  CHECK(count == 0);
  CHECK(raised("2.5", 1, count) == std::vector<float>{2.5f, 3, 0, 8, 2.5f, 2.5f});
  CHECK(count == 3);
  CHECK(raised("5", 0.5, count) == std::vector<float>{2.5f, 3, 0, 8, 2.5f, 2.5f});  // stored, with half of its weight
  CHECK(raised("mean:0.5", 0.5, count) == std::vector<float>{2, 3, 0, 8, 2, 0.625f});  // means 4 and 1.25
  CHECK(count == 2);
}

TEST_CASE("malformed floors are refused with the valid forms") {
  for (const char* text : {"", "mean", "mean:", "mean:x", "-1", "mean:-0.5", "nan", "1e99", "1 "}) {
    CAPTURE(text);
    CHECK(contains(refusal([&] { parse_variance_floor(text); }), "optimizer.variance-floor " + std::string(text)));
  }
}

TEST_CASE("with a floor the frozen variance has it from the freeze on, the shadow has not, and the log says so") {
  for (const char* name : {"onebit-adam", "onebit-adam-32"}) {
    TrainingOptions options;
    options.config.name = name;
    options.config.freeze.policy = "fixed:2";
    options.config.variance_floor = "mean:1";
    options.config.shadow = true;
    options.tensors = {3};
    options.workers = 2;
    Training training(options);
    const FloatRows rows(2, {1, 2, 0.01f});
    CHECK(training.step(rows).events.empty());
    const StepReport report = training.step(rows);
    REQUIRE(report.events.size() == 2);
    CHECK(report.events[0].kind == "floor");
    CHECK(contains(report.events[0].text, "2 coordinates"));
    CHECK(report.events[1].kind == "freeze");
    training.step(rows);
    const StateView state = training.optimizer->state();
    const std::vector<float> frozen = state.variance->to_host(), shadow = state.shadow.variance->to_host();
    CHECK(frozen[0] == frozen[2]);
    CHECK(frozen[1] > frozen[0]);
    CHECK(shadow[2] < frozen[2] / 100);
  }
}
