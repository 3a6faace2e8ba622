#include "optim/sgd/dgc.hpp"

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/sgd_family.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

TrainingOptions dgc(double k) {
  TrainingOptions options;
  options.config.name = "dgc";
  options.config.lr = 0.01;
  options.config.momentum = 0.7;
  options.config.exchange.up.name = "top-k";
  options.config.exchange.up.k = k;
  options.tensors = {400};
  options.workers = 4;
  return options;
}

/// Returns the worst relative difference from an oracle that sends `k` elements at each step.
double difference(const TrainingOptions& options, const std::function<std::size_t(Index)>& k) {
  const OptimizerConfig& c = options.config;
  const std::vector<float> x0 = oracle::normals(400, 1);
  Training training(options, x0);
  oracle::Dgc oracle({.weight_decay = c.weight_decay, .clip = c.clip}, {x0.begin(), x0.end()}, c.momentum, c.nesterov);
  double worst = 0;
  for (Index step = 1; step <= 50; ++step) {
    const FloatRows rows = GradientStream{4, 400, 1}(step);
    training.step(rows);
    oracle.step(c.lr, wide(rows), k(step));
    worst = std::max(worst, oracle::distance(training.parameters(), oracle.x) / oracle::distance(oracle.x, x0));
  }
  return worst;
}

}  // namespace

TEST_CASE("DGC corrects, accumulates, masks and clips as its oracle does") {
  for (const std::string& backend : backends()) {
    TrainingOptions options = dgc(0.05);
    options.backend = backend;
    CHECK(difference(options, [](Index) { return 20; }) < 1e-4);
    options.config.nesterov = true;
    options.config.weight_decay = 0.1;
    options.config.clip = 15;  // 7.5 at each of 4 workers
    CHECK(difference(options, [](Index) { return 20; }) < 1e-4);
  }
}

TEST_CASE("DGC's density falls from a quarter to k as a geometric series") {
  CHECK(Dgc::density(1, 4, 0.25 / 16) == 0.25);
  CHECK(Dgc::density(2, 4, 0.25 / 16) == Approx(0.125));
  CHECK(Dgc::density(4, 4, 0.25 / 16) == Approx(0.25 / 8));
  CHECK(Dgc::density(5, 4, 0.25 / 16) == 0.25 / 16);
  CHECK(Dgc::density(1, 0, 0.001) == 0.001);
  CHECK(Dgc::density(3, 8, 0.5) == 0.5);  // dense enough from the start

  TrainingOptions options = dgc(0.25 / 4);
  options.config.ramp = 2;
  CHECK(difference(options, [](Index step) { return step == 1 ? 100 : step == 2 ? 50 : 25; }) < 1e-4);
}

TEST_CASE("DGC refuses a codec that sends everything, and a ramp that ends at a number") {
  TrainingOptions options = dgc(0.05);
  options.config.exchange.up.name = "sign-l1";
  CHECK(contains(refusal([&] { Training{options}; }), "dgc needs a sparse codec (codec sign-l1)"));
  options = dgc(20);
  CHECK(refusal([&] { Training{options}; }) == "accepted");
  options.config.ramp = 3;
  CHECK(contains(refusal([&] { Training{options}; }), "codec.k 20, optimizer.ramp 3"));
}

TEST_CASE("DGC masks by errors that are kept as bfloat16, and refuses integers, which round small ones to zero") {
  TrainingOptions options = dgc(0.05);
  options.config.exchange.error_type = compress::ErrorType::bf16;
  CHECK(difference(options, [](Index) { return 20; }) < 0.15);
  options.config.exchange.error_type = compress::ErrorType::int8;
  CHECK(
      refusal([&] { Training{options}; }) ==
      "dgc treats elements without an error as sent, but int8 rounds small errors to 0 (optimizer dgc, feedback.dtype "
      "int8); use bf16, or leave out feedback.dtype");
}

TEST_CASE("DGC takes top-k where no codec was chosen") {
  TrainingOptions chosen = dgc(0.05);
  TrainingOptions unchosen = chosen;
  unchosen.config.exchange.up.name = compress::CodecConfig{}.name;
  Training a(chosen), b(unchosen);
  for (Index step = 1; step <= 3; ++step) {
    const FloatRows rows = GradientStream{4, 400, 2}(step);
    CHECK(a.step(rows).traffic == b.step(rows).traffic);
  }
  CHECK(a.parameters() == b.parameters());
}
