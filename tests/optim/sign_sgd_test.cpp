// signSGD and Signum with majority vote, and 1-bit SGD.
#include "optim/sgd/worker_momentum.hpp"
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/sgd_family.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

TrainingOptions training_options(const std::string& name, Index workers, Index parameters) {
  TrainingOptions options;
  options.config.name = name;
  options.config.lr = 0.25;
  options.tensors = {parameters};
  options.workers = workers;
  return options;
}

}  // namespace

TEST_CASE("the majority decides, a tie and a zero count as plus") {
  Training odd(training_options("signsgd", 3, 3));
  odd.step({{1, -1, 0}, {-9, -1, 0}, {2, 5, -1}});
  CHECK(odd.parameters() == std::vector<float>{-0.25f, 0.25f, -0.25f});
  Training even(training_options("signsgd", 4, 2));
  even.step({{1, -1}, {-9, -1}, {2, -5}, {-3, 1}});
  CHECK(even.parameters() == std::vector<float>{-0.25f, 0.25f});
}

TEST_CASE("signSGD and Signum follow their oracle") {
  for (const std::string& backend : backends()) {
    for (const Index workers : {1, 4, 7}) {
      for (const bool momentum : {false, true}) {
        TrainingOptions options = training_options(momentum ? "signum" : "signsgd", workers, 300);
        options.config.lr = 1.0 / 64;
        options.config.beta1 = 0.5;  // exact in float: no sign is a matter of rounding
        options.config.weight_decay = 0.1;
        options.config.exchange.up.name = "sign-l2";  // pinned to `sign`: this is not used
        options.backend = backend;
        const std::vector<float> x0 = oracle::normals(300, 1);
        Training training(options, x0);
        oracle::MajorityVote oracle({.weight_decay = 0.1}, {x0.begin(), x0.end()}, momentum ? 0.5 : 0);
        CAPTURE(backend, workers, momentum);
        CHECK(worst_displacement(training, oracle, {workers, 300, 1}, 40) < 1e-4);
      }
    }
  }
}

TEST_CASE("with zero gradients a vote moves every weight by the rate, and decays it") {
  for (const std::string name : {"signsgd", "signum"}) {
    TrainingOptions options = training_options(name, 3, 2);
    options.config.weight_decay = 0.5;
    Training training(options, {-4, 8});
    training.step(FloatRows(3, {0, 0}));
    CHECK(training.parameters() == std::vector<float>{-4 - 0.25f * (1 - 2), 8 - 0.25f * (1 + 4)});
  }
}

TEST_CASE("votes are one bit per element in each direction") {
  Training training(training_options("signsgd", 4, 3200));
  const StepReport report = training.step(GradientStream{4, 3200}(1));
  CHECK(netmodel::sent_bytes(report.traffic).value == 2 * 300);  // 3/4 of 400 bytes to servers, 3 times 100 back
}

TEST_CASE("1-bit SGD sends the means of the two signs and keeps the rest") {
  TrainingOptions options = training_options("onebit-sgd", 1, 4);
  Training training(options);
  training.step({{1, 3, -1, -7}});  // 2, 2, -4, -4; errors -1, 1, 3, -3
  CHECK(training.parameters() == std::vector<float>{-0.5f, -0.5f, 1, 1});
  training.step({{2, 1, 0, -4}});  // 1, 2, 3, -7: 2, 2, 2, -7
  CHECK(training.parameters() == std::vector<float>{-1, -1, 0.5f, 2.75f});
}
