// Properties of every optimizer of the table.
#include "optim/optimizer.hpp"
#include "optim/read_options.hpp"

#include <functional>
#include <map>

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

TrainingOptions options_of(const OptimizerEntry& entry) {
  TrainingOptions options;
  options.config.name = entry.name;
  options.config.freeze.policy = "fixed:3";
  options.config.weight_decay = 0.01;
  options.config.clip = 100;
  options.config.zeroone = {
      .var_freeze_step = 3, .var_update_scaler = 1, .local_step_scaler = 2, .local_step_clipper = 2};
  options.config.local.period = 3;
  options.tensors = {9000, 0, 17, 8000};
  options.workers = 6;
  return options;
}

}  // namespace

TEST_CASE("an unknown optimizer is named with the nearest one") {
  OptimizerConfig config;
  config.name = "onebit_adam";
  CHECK(refusal([&] {
          make_optimizer({device::whole(device::Device::cpu(1), 1), {{"x", 1}}}, config);
        }) == "unknown optimizer (onebit_adam); did you mean onebit-adam?");
}

TEST_CASE("every optimizer names the option that is out of range") {
  struct Bad {
    std::string option;
    std::function<void(OptimizerConfig&)> set;
  };
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<Bad> bad;
  for (const double value : {0.0, -1.0, nan, inf}) {
    bad.push_back({"optimizer.lr", [value](OptimizerConfig& c) { c.lr = value; }});
    bad.push_back({"optimizer.eps", [value](OptimizerConfig& c) { c.eps = value; }});
  }
  for (const double value : {-0.1, 1.0, nan, inf}) {
    bad.push_back({"optimizer.beta1", [value](OptimizerConfig& c) { c.beta1 = value; }});
    bad.push_back({"optimizer.beta2", [value](OptimizerConfig& c) { c.beta2 = value; }});
  }
  for (const double value : {-0.1, 1.0, nan}) {
    bad.push_back({"optimizer.momentum", [value](OptimizerConfig& c) { c.momentum = value; }});
  }
  for (const double value : {0.0, 1.1, nan}) {
    bad.push_back({"optimizer.ef21-momentum", [value](OptimizerConfig& c) { c.ef21_momentum = value; }});
  }
  for (const double value : {-0.1, nan, inf}) {
    bad.push_back({"optimizer.cada-threshold", [value](OptimizerConfig& c) { c.cada.threshold = value; }});
  }
  bad.push_back({"optimizer.ramp", [](OptimizerConfig& c) { c.ramp = -1; }});
  bad.push_back({"optimizer.cada-window", [](OptimizerConfig& c) { c.cada.window = 0; }});
  bad.push_back({"optimizer.cada-delay", [](OptimizerConfig& c) { c.cada.max_delay = 0; }});
  for (const double value : {-0.1, nan, inf}) {
    bad.push_back({"optimizer.weight-decay", [value](OptimizerConfig& c) { c.weight_decay = value; }});
    bad.push_back({"optimizer.clip", [value](OptimizerConfig& c) { c.clip = value; }});
  }
  for (const OptimizerEntry& entry : optimizers()) {
    for (const Bad& one : bad) {
      TrainingOptions options = options_of(entry);
      one.set(options.config);
      CAPTURE(entry.name, one.option);
      CHECK(contains(refusal([&] { Training{options}; }), one.option + " "));
    }
    CHECK(refusal([&] { Training{options_of(entry)}; }) == "accepted");
  }
}

TEST_CASE("every optimizer has the same bits for all groups, threads and backends") {
  std::vector<FloatRows> gradients;
  for (Index step = 1; step <= 6; ++step) gradients.push_back(GradientStream{6, 17017}(step));
  for (const OptimizerEntry& entry : optimizers()) {
    for (const auto semantics : {Semantics::paper, Semantics::deepspeed}) {
      if (semantics == Semantics::deepspeed && !takes_option(entry.name, "semantics")) continue;
      TrainingOptions options = options_of(entry);
      options.config.semantics = semantics;
      const auto train = [&] {
        Training training(options, oracle::normals(17017, 3));
        for (const FloatRows& rows : gradients) training.step(rows);
        return training.all_parameters();
      };
      const std::vector<float> expected = train();
      for (const auto& [threads, group] : std::vector<std::pair<int, Index>>{{1, 1}, {2, 4}, {2, 0}, {7, 5}}) {
        options.threads = threads;
        options.group = group;
        CAPTURE(entry.name, threads, group);
        CHECK(train() == expected);
      }
      for (const std::string& backend : backends()) {
        options.backend = backend;
        CAPTURE(entry.name, backend);
        CHECK(train() == expected);
      }
    }
  }
}

TEST_CASE("with zero gradients every parameter shrinks by lr times weight decay, in every stage") {
  for (const OptimizerEntry& entry : optimizers()) {
    if (entry.name == "signsgd" || entry.name == "signum") continue;  // one bit cannot encode zero
    TrainingOptions options = options_of(entry);
    options.config.lr = 0.125;
    options.config.weight_decay = 0.25;
    options.config.lamb.min_coeff = options.config.lamb.max_coeff = 1;  // LAMB multiplies the rate by its trust ratio
    options.config.local.outer_lr = 1;                                  // DiLoCo then continues from the mean
    options.config.local.outer_momentum = 0;
    options.tensors = {33};
    Training training(options, std::vector<float>(33, -4.0f));
    const FloatRows zeros(6, std::vector<float>(33));
    float expected = -4;
    for (int step = 1; step <= 8; ++step) {
      const StepReport report = training.step(zeros);
      expected -= 0.125f * (0.25f * expected);
      CAPTURE(entry.name, step, static_cast<int>(report.phase));
      for (const float x : training.all_parameters()) REQUIRE(x == expected);
    }
    CHECK(static_cast<double>(expected) == Approx(-4 * std::pow(1 - 0.125 * 0.25, 8)));
  }
}

TEST_CASE("the update norm is the length of the step taken") {
  for (const OptimizerEntry& entry : optimizers()) {
    TrainingOptions options = options_of(entry);
    options.tensors = {50};
    Training training(options, oracle::normals(50, 4));
    for (Index step = 1; step <= 6; ++step) {
      const std::vector<float> before = training.all_parameters();
      const StepReport report = training.step(GradientStream{6, 50}(step));
      const double rows = static_cast<double>(before.size()) / 50;
      CAPTURE(entry.name, step);
      CHECK(report.update_norm ==
            Approx(oracle::distance(training.all_parameters(), before) / std::sqrt(rows)).epsilon(1e-3));
    }
  }
}

TEST_CASE("all workers have the same bits after every synchronised step, and after the last step of a run") {
  for (const OptimizerEntry& entry : optimizers()) {
    TrainingOptions options = options_of(entry);
    options.tensors = {50};
    options.total_steps = 13;
    Training training(options, oracle::normals(50, 4));
    Index apart = 0;
    for (Index step = 1; step <= options.total_steps; ++step) {
      const StepReport report = training.step(GradientStream{6, 50}(step));
      const std::vector<float> all = training.all_parameters();
      bool equal = true;
      for (std::size_t i = 50; i < all.size(); ++i) equal = equal && all[i] == all[i - 50];
      CAPTURE(entry.name, step);
      CHECK(report.synchronised == equal);
      CHECK((equal || step < options.total_steps));
      apart += !equal;
    }
    CHECK((apart > 0) == training.optimizer->local_weights());
  }
}

TEST_CASE("phases have names") {
  CHECK(name(Phase::dense) == "dense");
  CHECK(name(Phase::warmup) == "warmup");
  CHECK(name(Phase::compression) == "compression");
  CHECK(name(Phase::dry_run) == "dry_run");
  CHECK(name(Phase::local) == "local");
  CHECK(static_cast<int>(Phase::compression) == 2);  // what logs hold
}

TEST_CASE("an optimizer's schedule counts the steps that it then makes") {
  for (const OptimizerEntry& entry : optimizers()) {
    if (entry.schedule == nullptr) continue;
    CHECK(schedule_of(entry.name) == entry.schedule);
    for (const Semantics semantics : {Semantics::paper, Semantics::deepspeed}) {
      for (const Index steps : {1, 4, 20, 23}) {
        TrainingOptions options = options_of(entry);
        options.config.semantics = semantics;
        options.tensors = {40};
        options.total_steps = steps;
        std::map<std::pair<Phase, bool>, Index> made, counted;
        Training training(options, std::vector<float>(40, 1.0f));
        const GradientStream gradients{options.workers, 40};
        for (Index step = 1; step <= steps; ++step) {
          const StepReport report = training.step(gradients(step));
          ++made[{report.phase, report.synchronised}];
        }
        for (const StepCount& count : entry.schedule->count(options.config, steps)) {
          counted[{count.phase, count.synchronised}] = count.steps;
        }
        CAPTURE(entry.name, static_cast<int>(semantics), steps);
        CHECK(counted == made);
      }
    }
  }
  CHECK(schedule_of("adam") == nullptr);
  CHECK(schedule_of("no-such-optimizer") == nullptr);
}
