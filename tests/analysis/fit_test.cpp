// Power laws, and the rates of convergence that they are fitted for.

#include "analysis/fit.hpp"

#include <cmath>

#include "device/error.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log_fixture.hpp"

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
