// The variance as it would be without the freeze.
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"

using namespace onebit;
using namespace onebit::tests;

namespace {

/// v = beta2 v + (1 - beta2) g^2 with the clipped mean gradient, in double.
std::vector<double> variance_of(const GradientStream& stream, Index steps, double beta2, double clip) {
  std::vector<double> v(static_cast<std::size_t>(stream.parameters));
  for (Index step = 1; step <= steps; ++step) {
    const oracle::Rows rows = wide(stream(step));
    std::vector<double> mean(v.size());
    double square = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      for (const auto& row : rows) mean[i] += row[i] / static_cast<double>(rows.size());
      square += mean[i] * mean[i];
    }
    const double norm = std::sqrt(square);
    const double factor = clip > 0 && norm > clip ? clip / (norm + 1e-6) : 1;
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = beta2 * v[i] + (1 - beta2) * std::pow(factor * mean[i], 2);
  }
  return v;
}

TrainingOptions options(const std::string& name) {
  TrainingOptions result;
  result.tensors = {20, 13};
  result.workers = 6;
  result.group = 4;
  result.config.name = name;
  result.config.beta2 = 0.9;
  result.config.freeze.policy = "fixed:5";
  result.config.shadow = true;
  return result;
}

}  // namespace

TEST_CASE("the shadow goes on where the variance stands still") {
  const GradientStream stream{.workers = 6, .parameters = 33, .silent = {4}};
  for (const char* name : {"onebit-adam", "onebit-adam-32", "onebit-lamb"}) {
    for (const double clip : {0.0, 2.0}) {
      INFO(name << ", clip " << clip);
      TrainingOptions with = options(name);
      with.config.clip = clip;
      Training training(with);
      for (Index step = 1; step <= 12; ++step) {
        training.step(stream(step));
        const optim::StateView state = training.optimizer->state();
        REQUIRE(state.shadow.variance != nullptr);
        CHECK((state.shadow.variance == state.denominator.variance) == (step < 5));
        const std::vector<double> expected = variance_of(stream, step, 0.9, clip);
        CHECK(oracle::distance(state.shadow.variance->to_host(), expected) < 1e-5 * oracle::norm(expected));
        CHECK(state.shadow.correction ==
              Approx(1 / std::sqrt(1 - std::pow(0.9, static_cast<double>(step)))).epsilon(1e-6));
        const auto frozen = static_cast<double>(std::min<Index>(step, 5));
        CHECK(state.denominator.correction == Approx(1 / std::sqrt(1 - std::pow(0.9, frozen))).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("a shadow changes nothing but what is known") {
  const GradientStream stream{.workers = 6, .parameters = 33};
  for (const char* name : {"onebit-adam", "onebit-adam-32", "onebit-lamb"}) {
    TrainingOptions without = options(name);
    without.config.shadow = false;
    Training shadowed(options(name)), plain(without);
    for (Index step = 1; step <= 9; ++step) {
      const optim::StepReport a = shadowed.step(stream(step)), b = plain.step(stream(step));
      CHECK(a.traffic == b.traffic);
      CHECK(shadowed.parameters() == plain.parameters());
    }
    CHECK(plain.optimizer->state().shadow.variance == nullptr);
  }
}
