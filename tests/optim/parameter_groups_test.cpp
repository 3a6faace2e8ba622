// Tensors without weight decay.
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

const std::vector<std::string> kDecaying = {"adam",          "onebit-adam", "onebit-adam-32",
                                            "adam-naive-ec", "lamb",        "onebit-lamb"};

TrainingOptions decaying(const std::string& name) {
  TrainingOptions options;
  options.config.name = name;
  options.config.lr = 0.125;
  options.config.weight_decay = 0.25;
  options.config.freeze.policy = "fixed:3";
  options.config.lamb.min_coeff = options.config.lamb.max_coeff = 1;
  options.config.no_decay = {"*1", "tensor4"};
  options.tensors = {5000, 3, 0, 33, 1};
  options.workers = 2;
  return options;
}

}  // namespace

TEST_CASE("weight decay leaves the tensors of no-decay alone, in every stage") {
  for (const std::string& name : kDecaying) {
    Training training(decaying(name), std::vector<float>(5037, -4.0f));
    float expected = -4;
    for (int step = 1; step <= 6; ++step) {
      training.step(FloatRows(2, std::vector<float>(5037)));
      expected -= 0.125f * (0.25f * expected);
      std::vector<float> x(5037, expected);
      std::fill(x.begin() + 5000, x.begin() + 5003, -4.0f);
      x.back() = -4;
      CAPTURE(name, step);
      CHECK(training.parameters() == x);
    }
  }
}

TEST_CASE("a no-decay pattern that fits no tensor is refused") {
  for (const std::string& name : kDecaying) {
    TrainingOptions options = decaying(name);
    options.config.no_decay = {"tensor0", "bias*"};
    CHECK(contains(refusal([&] { Training{options}; }), "pattern matches no tensor (optimizer.no-decay bias*)"));
  }
}
