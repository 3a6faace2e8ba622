// Local SGD, local Adam and DiLoCo compared with sequential versions in double.
#include "optim/sgd/local.hpp"

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/adam.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

constexpr Index kParameters = 60;
constexpr Index kSteps = 23;  // not a multiple of the period; the last step synchronizes nevertheless

TrainingOptions options_of(const std::string& name, Index workers = 4, Index period = 5) {
  TrainingOptions options;
  options.config.name = name;
  options.config.lr = 0.01;
  options.config.weight_decay = 0.1;
  options.config.local.period = period;
  options.tensors = {kParameters};
  options.workers = workers;
  options.total_steps = kSteps;
  return options;
}

/// Takes all steps. Returns the largest distance of a worker's parameters from `expected(step, gradients)`, [worker].
template <class Expected>
double worst(const TrainingOptions& options, const std::vector<float>& x0, Expected expected) {
  Training training(options, x0);
  const GradientStream gradients{options.workers, kParameters};
  double most = 0;
  for (Index step = 1; step <= kSteps; ++step) {
    const FloatRows rows = gradients(step);
    training.step(rows);
    const oracle::Rows all = expected(step, wide(rows));
    const std::vector<float> x = training.all_parameters();
    for (std::size_t w = 0; w < all.size(); ++w) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(w) * kParameters;
      const double away = oracle::distance(std::vector<float>(begin, begin + kParameters), all[w]);
      most = std::max(most, std::isfinite(away) ? away : 1e9);
    }
  }
  return most;
}

bool meets(Index step, Index period) {
  return step % period == 0 || step == kSteps;
}

/// Workers as independent AdamW optimizers.
std::vector<oracle::Adam> adams(const TrainingOptions& options, const std::vector<float>& x0) {
  return {static_cast<std::size_t>(options.workers),
          oracle::Adam({.weight_decay = options.config.weight_decay}, {x0.begin(), x0.end()})};
}

oracle::Rows rows_of(const std::vector<oracle::Adam>& workers, oracle::Vector oracle::Adam::*member) {
  oracle::Rows rows;
  for (const oracle::Adam& worker : workers) rows.push_back(worker.*member);
  return rows;
}

}  // namespace

TEST_CASE("local SGD: heavy ball on every worker, weights averaged every period and at the end") {
  const TrainingOptions options = options_of("local-sgd");
  const std::vector<float> x0 = oracle::normals(kParameters, 2);
  oracle::Rows x(4, {x0.begin(), x0.end()}), m(4, oracle::Vector(kParameters, 0.0));
  CHECK(worst(options, x0, [&](Index step, const oracle::Rows& g) {
          for (std::size_t w = 0; w < 4; ++w) {
            for (std::size_t i = 0; i < x[w].size(); ++i) {
              m[w][i] = 0.9 * m[w][i] + g[w][i];
              x[w][i] -= 0.01 * (m[w][i] + 0.1 * x[w][i]);
            }
          }
          if (meets(step, 5)) x.assign(4, oracle::mean(x));
          return x;
        }) < 1e-5);
}

TEST_CASE("local SGD without momentum that synchronizes at every step is SGD on the mean gradient") {
  TrainingOptions options = options_of("local-sgd", 6, 1);
  options.config.momentum = 0;
  const std::vector<float> x0 = oracle::normals(kParameters, 2);
  oracle::Vector x(x0.begin(), x0.end());
  CHECK(worst(options, x0, [&](Index, const oracle::Rows& g) {
          const oracle::Vector together = oracle::mean(g);
          for (std::size_t i = 0; i < x.size(); ++i) x[i] -= 0.01 * (together[i] + 0.1 * x[i]);
          return oracle::Rows(6, x);
        }) < 1e-5);
}

TEST_CASE("local Adam: AdamW on every worker, weights and moments averaged every period and at the end") {
  const TrainingOptions options = options_of("local-adam");
  const std::vector<float> x0 = oracle::normals(kParameters, 2);
  std::vector<oracle::Adam> workers = adams(options, x0);
  CHECK(worst(options, x0, [&](Index step, const oracle::Rows& g) {
          for (std::size_t w = 0; w < workers.size(); ++w) workers[w].step(0.01, {g[w]});
          for (auto member : {&oracle::Adam::x, &oracle::Adam::m, &oracle::Adam::v}) {
            if (!meets(step, 5)) continue;
            const oracle::Vector together = oracle::mean(rows_of(workers, member));
            for (oracle::Adam& worker : workers) worker.*member = together;
          }
          return rows_of(workers, &oracle::Adam::x);
        }) < 1e-5);
}

TEST_CASE("DiLoCo: AdamW on every worker, then a Nesterov step on the mean displacement, and moments that stay") {
  const TrainingOptions options = options_of("diloco");
  const std::vector<float> x0 = oracle::normals(kParameters, 2);
  std::vector<oracle::Adam> workers = adams(options, x0);
  oracle::Vector anchor(x0.begin(), x0.end()), outer(kParameters, 0.0);
  CHECK(worst(options, x0, [&](Index step, const oracle::Rows& g) {
          for (std::size_t w = 0; w < workers.size(); ++w) workers[w].step(0.01, {g[w]});
          if (meets(step, 5)) {
            const oracle::Vector together = oracle::mean(rows_of(workers, &oracle::Adam::x));
            for (std::size_t i = 0; i < anchor.size(); ++i) {
              const double displacement = anchor[i] - together[i];
              outer[i] = 0.9 * outer[i] + displacement;
              anchor[i] -= 0.7 * (displacement + 0.9 * outer[i]);
            }
            for (oracle::Adam& worker : workers) worker.x = anchor;
          }
          return rows_of(workers, &oracle::Adam::x);
        }) < 1e-5);
}

TEST_CASE("local optimizers send dense vectors when they synchronize, and nothing else") {
  const std::vector<std::pair<std::string, std::size_t>> vectors = {{"local-sgd", 1}, {"local-adam", 3}, {"diloco", 1}};
  for (const auto& [name, count] : vectors) {
    Training training(options_of(name), oracle::normals(kParameters, 2));
    const netmodel::Traffic dense = compress::DenseMean::plan(4, kParameters).front();
    for (Index step = 1; step <= kSteps; ++step) {
      const StepReport report = training.step(GradientStream{4, kParameters}(step));
      CAPTURE(name, step);
      CHECK(report.phase == Phase::local);
      CHECK(report.synchronised == meets(step, 5));
      CHECK(report.traffic == netmodel::TrafficList(meets(step, 5) ? count : 0, dense));
    }
  }
}

TEST_CASE("local optimizers clip every worker's own gradient") {
  TrainingOptions options = options_of("local-sgd", 2, 1);
  options.config.momentum = 0;
  options.config.weight_decay = 0;
  options.config.lr = 1;
  options.config.clip = 3;
  Training training(options);
  FloatRows rows(2, std::vector<float>(kParameters));
  rows[0][0] = 6;
  rows[1][1] = 2;
  const StepReport report = training.step(rows);
  CHECK(report.clip_share == 0.5);
  CHECK(report.grad_norm == Approx(std::sqrt((36.0 + 4.0) / 2)));
  CHECK(static_cast<double>(training.parameters()[0]) == Approx(-1.5));
  CHECK(static_cast<double>(training.parameters()[1]) == Approx(-1.0));
}

TEST_CASE("weight decay of workers' own weights leaves out the tensors that no-decay names") {
  for (const std::string name : {"local-sgd", "local-adam", "diloco", "zeroone-adam"}) {
    TrainingOptions options = options_of(name);
    options.tensors = {30, 30};
    options.config.no_decay = {"tensor1"};
    options.config.zeroone = {.var_freeze_step = 2};
    Training training(options, std::vector<float>(kParameters, 2.0f));
    for (int step = 1; step <= 4; ++step) training.step(FloatRows(4, std::vector<float>(kParameters)));
    CAPTURE(name);
    CHECK(static_cast<double>(training.parameters()[0]) == Approx(2 * std::pow(1 - 0.001, 4)));
    CHECK(training.parameters()[59] == 2.0f);
  }
}

TEST_CASE("local optimizers name the option that is out of range") {
  const auto refused = [](const auto& change) {
    LocalConfig config;
    change(config);
    return refusal([&] { check_local(config); });
  };
  CHECK(refused([](LocalConfig& c) { c.period = 0; }) ==
        "optimizer option out of range (optimizer.local-period 0); at least 1 step");
  for (const double bad : {0.0, -1.0, std::nan(""), 1e300}) {
    CHECK(contains(refused([bad](LocalConfig& c) { c.outer_lr = bad; }), "(optimizer.outer-lr "));
  }
  for (const double bad : {-0.1, 1.0, std::nan("")}) {
    CHECK(contains(refused([bad](LocalConfig& c) { c.outer_momentum = bad; }), "(optimizer.outer-momentum "));
  }
  CHECK(refused([](LocalConfig&) {}) == "accepted");
}
