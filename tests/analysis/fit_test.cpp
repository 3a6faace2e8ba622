// Power laws, and the rates of convergence to which they are fitted.

#include "analysis/theory/fit.hpp"

#include <cmath>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;

TEST_CASE("a power law is found exactly, with no width") {
  const std::vector<double> x = {1, 2, 4, 8};
  const std::vector<double> y = {3, 3 / std::sqrt(2.0), 1.5, 1.5 / std::sqrt(2.0)};
  const PowerFit fit = fit_power(x, y);
  CHECK(fit.exponent == Approx(-0.5));
  CHECK(fit.factor == Approx(3));
  CHECK(fit.half_width < 1e-7);
  CHECK(fit.points == 4);
}

TEST_CASE("the width of an exponent is Student's t on the residuals") {
  // u = -1, 0, 1 and v = 0, 1, 0 in logarithms: slope 0, residuals -1/3, 2/3, -1/3, one degree of freedom.
  const std::vector<double> x = {std::exp(-1.0), 1, std::exp(1.0)};
  const std::vector<double> y = {1, std::exp(1.0), 1};
  const PowerFit fit = fit_power(x, y);
  CHECK(std::fabs(fit.exponent) < 1e-12);
  CHECK(fit.half_width == Approx(12.7062 * std::sqrt(6.0 / 9 / 2)).epsilon(1e-4));
}

TEST_CASE("the residuals are shared out among the degrees of freedom") {
  // u = -3, -1, 1, 3 and v = 1, -1, -1, 1 in logarithms: slope 0, residuals v, two degrees of freedom.
  const double e = std::exp(1.0);
  const PowerFit fit =
      fit_power(std::vector<double>{1 / (e * e * e), 1 / e, e, e * e * e}, std::vector<double>{e, 1 / e, 1 / e, e});
  CHECK(std::fabs(fit.exponent) < 1e-12);
  CHECK(fit.half_width == Approx(4.30265 * std::sqrt(4.0 / 2 / 20)).epsilon(1e-5));
}

TEST_CASE("two points give an exponent without an interval, and what is no power law is refused") {
  const std::vector<double> x = {1, 4}, y = {1, 2};
  CHECK(fit_power(x, y).exponent == Approx(0.5));
  CHECK(std::isnan(fit_power(x, y).half_width));
  CHECK_THROWS_WITH(fit_power(x, std::vector<double>{1, 0}), Contains("positive"));
  CHECK_THROWS_WITH(fit_power(std::vector<double>{2, 2}, y), Contains("differ"));
}

TEST_CASE("a point of a fit is the mean over the probes after the freeze") {
  const Folder folder;
  sim::LogHeader header = sample_header();
  header.probed = true;
  {
    sim::LogWriter log(folder / "run.h5", header, false);
    for (Index step = 1; step <= 5; ++step) {
      sim::ProbeRow probe;
      probe.step = 10 * step;
      if (step != 4) probe.gradient_square = static_cast<double>(step * step);
      log.append(probe);
    }
    log.append(sim::Event{20, "freeze", "variance frozen"});
    log.close(sim::RunStatus::finished);
  }
  const RatePoint point = rate_point(sim::LogReader(folder / "run.h5"), Variable::steps);
  CHECK(point.x == 30);                // the last one
  CHECK(point.gradient_square == 17);  // 9 and 25
  CHECK(point.learning_rate == 1e-3);
}

namespace {

/// A folder with logs of probed runs, and fits to them.
class ProbedRuns {
 public:
  /// Writes a run of ten steps whose squared gradient is the same at every probe. errors: norm of the servers' errors.
  void add(const OptionValues& options, Index workers, double gradient_square, double errors = 0) {
    sim::LogHeader header = sample_header();
    header.probed = true;
    header.workers = workers;
    header.config.assign(options.begin(), options.end());
    const std::string path = folder_ / ("run" + std::to_string(runs_.size()) + ".h5");
    {
      sim::LogWriter log(path, header, false);
      for (Index step = 1; step <= 10; ++step) {
        sim::StepRow row = sample_step(step);
        row.server_error_norm = errors;
        log.append(row);
        if (step % 5 == 0) log.append(sim::ProbeRow{.step = step, .gradient_square = gradient_square});
      }
      log.append(sim::EvaluationRow{.step = 10, .samples = 320, .loss = 1});
      log.close(sim::RunStatus::finished);
    }
    runs_.push_back(load_run(sim::LogReader(path)));
  }

  std::vector<RateFit> fit(Variable variable) const { return fit_rates(runs_, variable); }

 private:
  Folder folder_;
  std::vector<Run> runs_;
};

OptionValues adam(const std::string& workers, const std::string& rate, const std::string& batch = "8") {
  return {{"optimizer", "adam"},
          {"workers", workers},
          {"optimizer.lr", rate},
          {"batch", batch},
          {"eval.examples", workers}};
}

}  // namespace

TEST_CASE("a rate that each setting has for itself is part of the fit, and several of one setting are fitted apart") {
  ProbedRuns coupled;
  coupled.add(adam("4", "0.002"), 4, 3);
  coupled.add(adam("1", "0.001"), 1, 6);
  const std::vector<RateFit> one = coupled.fit(Variable::workers);
  REQUIRE(one.size() == 1);
  CHECK(one[0].name == "adam");
  CHECK(one[0].optimizer == "adam");
  CHECK(one[0].fit.exponent == Approx(-0.5));
  CHECK(one[0].fit.factor == Approx(6));
  CHECK(one[0].differing == std::vector<std::string>{"eval.examples", "optimizer.lr", "workers"});
  REQUIRE(one[0].points.size() == 2);
  CHECK((one[0].points[0].x == 1 && one[0].points[1].x == 4));
  CHECK((one[0].points[0].learning_rate == 0.001 && one[0].points[1].learning_rate == 0.002));

  ProbedRuns crossed;
  for (const char* rate : {"0.001", "0.01"}) {
    const double factor = rate == std::string("0.01") ? 10 : 1;
    crossed.add(adam("1", rate), 1, 8 * factor);
    crossed.add(adam("2", rate), 2, 8 * factor);
    crossed.add(adam("4", rate), 4, 2 * factor * factor);
  }
  const std::vector<RateFit> two = crossed.fit(Variable::workers);
  REQUIRE(two.size() == 2);
  CHECK(two[0].name == "adam, lr 0.001");
  CHECK(two[1].name == "adam, lr 0.01");
  CHECK(two[0].fit.exponent == Approx(-1));
  CHECK(two[1].fit.exponent == Approx(std::log(200.0 / 80) / std::log(4.0)));
  CHECK(two[0].differing == std::vector<std::string>{"eval.examples", "workers"});
}

TEST_CASE("runs that differ in anything else have fits of their own, in the order of their first ones") {
  ProbedRuns runs;
  runs.add(adam("1", "0.1", "8"), 1, 8);
  runs.add(adam("1", "0.1", "16"), 1, 4);
  runs.add(adam("2", "0.1", "8"), 2, 4);
  runs.add(adam("2", "0.1", "16"), 2, 1);
  const std::vector<RateFit> fits = runs.fit(Variable::workers);
  REQUIRE(fits.size() == 2);
  CHECK(fits[0].name == "adam, batch 8");
  CHECK(fits[0].fit.exponent == Approx(-1));
  CHECK(fits[1].name == "adam, batch 16");
  CHECK(fits[1].fit.exponent == Approx(-2));
  runs.add(adam("4", "0.1", "32"), 4, 1);
  CHECK_THROWS_WITH(runs.fit(Variable::workers),
                    Contains("adam, batch 32") && Contains("differ in the variable of the fit"));
  CHECK_THROWS_WITH(runs.fit(Variable::steps), Contains("differ in the variable of the fit"));
}

TEST_CASE("a fit against errors goes over twice the largest ones, made by codecs, feedback or the quadratic's noise") {
  ProbedRuns runs;
  const auto options = [](const std::string& option, const std::string& value) {
    return OptionValues{{"optimizer", "onebit-adam"}, {"batch", "8"}, {option, value}};
  };
  double errors = 1;
  for (const char* option : {"codec", "codec.k", "channel", "feedback", "model.noise", "model.heterogeneity"}) {
    runs.add(options(option, "1"), 2, errors * errors, errors);
    errors *= 2;
  }
  const std::vector<RateFit> fits = runs.fit(Variable::errors);
  REQUIRE(fits.size() == 1);
  CHECK(fits[0].fit.exponent == Approx(2));
  CHECK(fits[0].fit.factor == Approx(0.25));
  CHECK(fits[0].points.front().x == 2);
  CHECK(fits[0].points.size() == 6);
  runs.add(options("model.dimension", "1"), 2, 1, 1);
  CHECK_THROWS_WITH(runs.fit(Variable::errors), Contains("differ in the variable of the fit"));
  ProbedRuns dense;
  dense.add(options("codec", "a"), 2, 1, 0);
  dense.add(options("codec", "b"), 2, 1, 0);
  CHECK_THROWS_WITH(dense.fit(Variable::errors), Contains("no errors to fit against"));
}

TEST_CASE("a fit against steps or epochs, of runs that log neither rate nor optimizer") {
  ProbedRuns runs;
  runs.add({{"steps", "10"}}, 2, 4);
  runs.add({{"epochs", "2"}}, 2, 4);
  CHECK_THROWS_WITH(runs.fit(Variable::steps),
                    Contains("differ in the variable of the fit"));  // both logs have ten steps
}
