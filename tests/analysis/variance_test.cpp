// Stability, thresholds and drift in logs written by hand.

#include "analysis/freeze/variance.hpp"

#include <cmath>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

constexpr Index kSteps = 40;

sim::LogHeader header(const std::string& semantics = "paper") {
  sim::LogHeader result = sample_header();
  result.tensors = {{"w", 60}, {"b", 20}};
  result.variance_lag = 4;
  result.probed = true;
  result.config = {{"optimizer.beta2", "0.5"},
                   {"optimizer.bias-correction", "true"},
                   {"optimizer.semantics", semantics},
                   {"schedule.warmup", "3"}};
  return result;
}

/// ||v||_1 = t^2 up to the freeze after step 20: over a lag of 4 the ratio is ((t - 4) / t)^2.
double norm(Index step) {
  const auto t = static_cast<double>(std::min<Index>(step, 20));
  return t * t;
}

void write_log(const std::string& path, bool freezes, const std::string& semantics = "paper") {
  sim::LogWriter log(path, header(semantics), false);
  for (Index step = 1; step <= kSteps; ++step) {
    const double t = static_cast<double>(step);
    sim::StepRow row;
    row.step = step;
    row.loss = 100 - t;
    row.variance_l1 = freezes ? norm(step) : t * t;
    row.variance_l2 = row.variance_l1 / 10;
    log.append(row);
    if (step % 2 == 0) {
      const double b = step < 10 ? t : 10.0;  // the bias stops moving at step 10
      log.append(sim::TensorRow{.step = step,
                                .momentum_l2 = {0, 0},
                                .variance_l1 = {row.variance_l1, b},
                                .variance_l2 = {0, 0},
                                .trust_ratio = {0, 0},
                                .frozen_coefficient = {0, 0},
                                .coefficient_factor = {0, 0},
                                .scaling_coefficient = {0, 0},
                                .least_denominator = {0, 0},
                                .low_denominator = {0, 0},
                                .median_denominator = {0, 0},
                                .shadow_l1 = {t * t, 20}});
    }
    if (step % 4 == 0) {
      sim::ProbeRow probe;
      probe.step = step;
      probe.shadow_l1 = t * t;
      probe.shadow_l2 = t * t / 10;
      probe.rate_drift = 0.25;
      probe.moved_share = 0.5;
      log.append(probe);
    }
  }
  if (freezes) log.append(sim::Event{20, "freeze", "variance frozen"});
  log.close(sim::RunStatus::finished);
}

const Threshold& at(const VarianceView& view, double threshold) {
  return *std::ranges::find(view.thresholds, threshold, &Threshold::threshold);
}

}  // namespace

TEST_CASE("stability ratios for several lags, and where each threshold would have frozen") {
  const Folder folder;
  write_log(folder / "run.h5", false);
  const VarianceView view =
      view_variance(sim::LogReader(folder / "run.h5"), {.lags = {1, 4}, .thresholds = {0.2, 0.25, 0.5, 0.8, 0.99}});
  CHECK(view.freeze_step == 0);
  CHECK(view.rule_lag == 4);
  CHECK(view.rule_after == 3);
  CHECK(view.rule_dwell == 1);
  REQUIRE(view.stability.size() == 5);
  CHECK(view.stability[0].norm == "l1");
  CHECK(std::isnan(view.stability[0].ratio[0]));
  CHECK(view.stability[0].ratio[9] == Approx(0.81 * 1023 / 1022));  // (9/10)^2 without the bias 1 - 0.5^t
  CHECK(view.stability[3].norm == "l2");
  CHECK(view.stability[3].lag == 4);
  CHECK(std::isnan(view.stability[3].ratio[3]));
  CHECK(view.stability[3].ratio[7] == Approx(0.265625));  // (4/8)^2 (255/256) / (15/16)
  CHECK_FALSE(view.stability[3].raw);
  CHECK(view.stability[4].raw);
  CHECK(view.stability[4].ratio[7] == Approx(0.25));
  CHECK(&rule_series(view) == &view.stability[2]);
  CHECK(at(view, 0.2).published == 8);    // (3/7)^2 = 0.184, (4/8)^2 = 0.25
  CHECK(at(view, 0.2).freeze_step == 7);  // 0.184 (127/128) / (7/8) = 0.208
  CHECK(at(view, 0.25).freeze_step == 8);
  CHECK(at(view, 0.25).published == 8);
  CHECK(at(view, 0.25).stay.until == 40);
  CHECK(at(view, 0.25).deepspeed_step == 9);
  CHECK(at(view, 0.25).share == Approx(0.2));
  CHECK(at(view, 0.25).volume_ratio == Approx(1 / (0.2 + 0.8 / 16)));
  CHECK(at(view, 0.25).loss_then == 92);
  CHECK(at(view, 0.5).freeze_step == 14);  // (10/14)^2 = 0.51
  CHECK(at(view, 0.8).freeze_step == 38);
  CHECK(at(view, 0.99).freeze_step == 0);
  CHECK(view.drift.steps.empty());
}

TEST_CASE("without lags asked for, they go up to the run's own, or to a tenth of a run that is too short for it") {
  const auto lags_of = [](Index own) {
    const Folder folder;
    sim::LogHeader with_lag = header();
    with_lag.variance_lag = own;
    {
      sim::LogWriter log(folder / "run.h5", with_lag, false);
      for (Index step = 1; step <= kSteps; ++step) {
        sim::StepRow row;
        row.step = step;
        row.variance_l1 = row.variance_l2 = 1;
        log.append(row);
      }
      log.close(sim::RunStatus::finished);
    }
    const VarianceView view = view_variance(sim::LogReader(folder / "run.h5"));
    std::vector<Index> lags;
    for (const StabilitySeries& series : view.stability) {
      if (series.norm == "l1" && !series.raw) lags.push_back(series.lag);
    }
    CHECK(view.rule_lag == lags.back());
    CHECK(view.rule_dwell == std::max<Index>(1, lags.back() / 10));
    return lags;
  };
  CHECK(lags_of(20) == std::vector<Index>{2, 6, 20});
  CHECK(lags_of(6) == std::vector<Index>{2, 6});
  CHECK(lags_of(21) == std::vector<Index>{1, 4});
  CHECK(lags_of(1) == std::vector<Index>{1});
  CHECK(lags_of(0) == std::vector<Index>{1, 4});
}

TEST_CASE("a run that ended early is judged by the steps that it was to take") {
  const Folder folder;
  const auto view_of = [&](const std::string& steps) {
    sim::LogHeader planned = header();
    planned.variance_lag = 0;
    planned.config.emplace_back("steps", steps);
    {
      sim::LogWriter log(folder / "run.h5", planned, true);
      for (Index step = 1; step <= kSteps; ++step) {
        sim::StepRow row;
        row.step = step;
        row.variance_l1 = row.variance_l2 = static_cast<double>(step * step);
        log.append(row);
      }
      log.close(sim::RunStatus::diverged);
    }
    return view_variance(sim::LogReader(folder / "run.h5"), {.thresholds = {0.25}});
  };
  CHECK(view_of("4000").rule_lag == 4);  // a tenth of 4,000 steps does not fit into 40
  const VarianceView view = view_of("80");
  CHECK(view.rule_lag == 8);
  CHECK(at(view, 0.25).freeze_step == 16);  // (8/16)^2 (1 - 0.5^16) / (1 - 0.5^8)
  CHECK(at(view, 0.25).share == Approx(0.2));
}

TEST_CASE("after the freeze ratios are those of the shadow variance, at the steps of its probes") {
  const Folder folder;
  write_log(folder / "run.h5", true);
  const VarianceView view = view_variance(sim::LogReader(folder / "run.h5"), {.thresholds = {0.25, 0.64, 0.75}});
  CHECK(view.freeze_step == 20);
  CHECK(view.l1[19] == 400);
  CHECK(std::isnan(view.l1[20]));
  CHECK(view.l1[23] == 24 * 24);
  CHECK(at(view, 0.25).freeze_step == 8);
  CHECK(at(view, 0.64).freeze_step == 20);
  CHECK(at(view, 0.75).freeze_step == 32);  // (28/32)^2 = 0.766; step 28 gives 0.735
  REQUIRE(view.drift.steps.size() == 5);
  CHECK(view.drift.steps.front() == 24);
  CHECK(view.drift.norm_ratio.front() == Approx(24.0 * 24 / 400).epsilon(1e-5));
  CHECK(view.drift.rate_drift.back() == 0.25);
  CHECK(view.drift.moved_share.back() == 0.5);
}

TEST_CASE("single tensors: when they become stable, and how far they drift") {
  const Folder folder;
  write_log(folder / "run.h5", true);
  const VarianceView view = view_variance(sim::LogReader(folder / "run.h5"), {.tensor_threshold = 0.6});
  REQUIRE(view.tensors.size() == 2);
  CHECK(view.tensors[0].name == "w");
  CHECK(view.tensors[0].stable_step == 18);                         // (14/18)^2 = 0.605
  CHECK(view.tensors[0].last_ratio == Approx(0.64).epsilon(1e-4));  // some bias is left at step 16
  CHECK(view.tensors[0].drift == Approx(4).epsilon(1e-5));          // the bias is next to nothing
  CHECK(view.tensors[1].stable_step == 10);                         // 6/10
  CHECK(view.tensors[1].last_ratio == Approx(1).epsilon(1e-4));
  CHECK(view.tensors[1].drift == Approx(2).epsilon(1e-5));
}

TEST_CASE("the rule waits as long as the run's own does") {
  const Folder folder;
  sim::LogHeader after = header();
  after.config.emplace_back("freeze.after", "15");
  {
    sim::LogWriter log(folder / "run.h5", after, false);
    for (Index step = 1; step <= kSteps; ++step) {
      sim::StepRow row;
      row.step = step;
      row.variance_l1 = 1;
      log.append(row);
    }
    log.close(sim::RunStatus::finished);
  }
  const VarianceView view = view_variance(sim::LogReader(folder / "run.h5"));
  CHECK(view.rule_after == 15);
  CHECK(at(view, 0.96).freeze_step == 15);
}

TEST_CASE("a threshold that is touched in passing freezes nothing where the ratio has to stay") {
  const Folder folder;
  const auto write = [&](const std::string& dwell) {
    sim::LogHeader own = header("deepspeed");  // no bias correction: the ratios are those of the norms
    own.config.emplace_back("freeze.dwell", dwell);
    sim::LogWriter log(folder / ("dwell" + dwell), own, false);
    for (Index step = 1; step <= kSteps; ++step) {
      sim::StepRow row;
      row.step = step;
      row.variance_l1 = row.variance_l2 = step < 3 ? 100 : step < 7 ? 50 : 20;
      log.append(row);
    }
    log.close(sim::RunStatus::finished);
    return view_variance(sim::LogReader(folder / ("dwell" + dwell)), {.lags = {1}, .thresholds = {0.9, 0.3}});
  };
  // Ratios over a step: 0.5 at step 3, 0.4 at step 7, else 1; the rule begins with step 3.
  const VarianceView three = write("3");
  CHECK(three.rule_dwell == 3);
  CHECK(at(three, 0.9).published == 4);
  CHECK(at(three, 0.9).stay.first == 4);
  CHECK(at(three, 0.9).stay.from == 4);
  CHECK(at(three, 0.9).stay.until == 6);
  CHECK(at(three, 0.9).freeze_step == 6);
  const VarianceView four = write("4");
  CHECK(at(four, 0.9).published == 4);
  CHECK(at(four, 0.9).stay.first == 4);
  CHECK(at(four, 0.9).stay.from == 8);
  CHECK(at(four, 0.9).stay.until == 40);
  CHECK(at(four, 0.9).freeze_step == 11);
  CHECK(at(four, 0.3).freeze_step == 6);
  const VarianceView many = write("34");
  CHECK(at(many, 0.9).stay.first == 4);
  CHECK(at(many, 0.9).stay.from == 0);
  CHECK(at(many, 0.9).freeze_step == 0);
}

TEST_CASE("the bias of 0/1 Adam's variance goes by its updates, which are rare") {
  const Folder folder;
  sim::LogHeader own = header();
  own.config.emplace_back("optimizer", "zeroone-adam");
  {
    sim::LogWriter log(folder / "run.h5", own, false);
    for (Index step = 1; step <= 6; ++step) {
      sim::StepRow row;
      row.step = step;
      const bool full = step == 1 || step == 3 || step == 6;
      row.phase = full ? 1 : 2;
      row.variance_l1 = row.variance_l2 = 1 - std::pow(0.5, step < 3 ? 1 : step < 6 ? 2 : 3);  // constant gradients
      log.append(row);
    }
    log.close(sim::RunStatus::finished);
  }
  const VarianceView view = view_variance(sim::LogReader(folder / "run.h5"), {.lags = {1}, .thresholds = {0.9}});
  for (std::size_t row = 1; row < 6; ++row) CHECK(rule_series(view).ratio[row] == Approx(1));
}

TEST_CASE("in the released code's own counting the dry run is in the step already") {
  const Folder folder;
  write_log(folder / "run.h5", false, "deepspeed");
  const VarianceView view = view_variance(sim::LogReader(folder / "run.h5"), {.thresholds = {0.25}});
  CHECK(view.thresholds[0].freeze_step == 8);
  CHECK(view.thresholds[0].deepspeed_step == 8);
}

TEST_CASE("logs without a variance or without steps are refused in a line") {
  const Folder folder;
  {
    sim::LogWriter log(folder / "sgd.h5", sample_header(), false);
    append_samples(log, 1, 5);
    log.close(sim::RunStatus::finished);
    sim::LogWriter none(folder / "empty.h5", sample_header(), false);
    none.close(sim::RunStatus::finished);
  }
  CHECK_THROWS_WITH(view_variance(sim::LogReader(folder / "sgd.h5")), Contains("no variance") && Contains("sgd.h5"));
  CHECK_THROWS_WITH(view_variance(sim::LogReader(folder / "empty.h5")),
                    Contains("no steps yet") && Contains("empty.h5"));
}

namespace {

/// Returns the view of a run that is frozen after step 4 of 8, with beta2 0.9 and more options. The norm of the shadow
/// is 3; in a tensor it is 3 after 2.
VarianceView drifted(const std::vector<std::pair<std::string, std::string>>& options) {
  const Folder folder;
  sim::LogHeader slow = header();
  slow.config[0] = {"optimizer.beta2", "0.9"};
  slow.config.insert(slow.config.end(), options.begin(), options.end());
  {
    sim::LogWriter log(folder / "run.h5", slow, false);
    for (Index step = 1; step <= 8; ++step) {
      sim::StepRow row;
      row.step = step;
      row.loss = row.variance_l1 = row.variance_l2 = 1;
      log.append(row);
      sim::TensorRow tensors{.step = step};
      for (auto* column : {&tensors.momentum_l2, &tensors.variance_l2, &tensors.trust_ratio,
                           &tensors.frozen_coefficient, &tensors.coefficient_factor, &tensors.scaling_coefficient,
                           &tensors.least_denominator, &tensors.low_denominator, &tensors.median_denominator})
        *column = {0, 0};
      tensors.variance_l1 = {2, 2};
      tensors.shadow_l1 = {3, 3};
      log.append(tensors);
    }
    sim::ProbeRow probe{.step = 8};
    probe.shadow_l1 = 3;
    log.append(probe);
    log.append(sim::Event{4, "freeze", "variance frozen"});
    log.close(sim::RunStatus::finished);
  }
  return view_variance(sim::LogReader(folder / "run.h5"));
}

double weight(Index updates) {
  return 1 - std::pow(0.9, static_cast<double>(updates));
}

}  // namespace

TEST_CASE("drift, of all and of a tensor, is that of the variances without their bias") {
  const VarianceView view = drifted({});
  CHECK(view.tensors[0].drift == Approx(1.5 * weight(4) / weight(8)).epsilon(1e-12));
  REQUIRE(view.drift.norm_ratio.size() == 1);
  CHECK(view.drift.norm_ratio[0] == Approx(3 * weight(4) / weight(8)).epsilon(1e-12));
}

TEST_CASE("a variance that is refreshed has the bias of its updates, its shadow that of every step") {
  const VarianceView view = drifted({{"optimizer.variance-refresh", "2"}});
  CHECK(view.tensors[0].drift == Approx(1.5 * weight(6) / weight(8)).epsilon(1e-12));
  CHECK(view.drift.norm_ratio.at(0) == Approx(3 * weight(4) / weight(8)).epsilon(1e-12));
}

TEST_CASE("where tensors freeze one by one the variance has no bias from the freeze on") {
  const VarianceView view = drifted({{"freeze", "auto"}, {"freeze.scope", "tensor"}});
  CHECK(view.tensors[0].drift == Approx(1.5 / weight(8)).epsilon(1e-12));
  CHECK(view.drift.norm_ratio.at(0) == Approx(3 / weight(8)).epsilon(1e-12));
}

TEST_CASE("tensors of a run that did not freeze have no drift") {
  const Folder folder;
  write_log(folder / "run.h5", false);
  CHECK(std::isnan(view_variance(sim::LogReader(folder / "run.h5")).tensors[0].drift));
}

TEST_CASE("a ratio that is known only shortly after the freeze is cut off there, but not at the end of a short log") {
  const double unknown = std::nan("");
  VarianceView view;
  view.steps = {10, 20, 30, 40, 50, 60};
  view.freeze_step = 20;
  view.rule_lag = 15;
  view.stability = {{"l1", 15, false, {unknown, 1, 1, unknown, unknown, unknown}}};
  view.l1 = {1, 1, 1, 1, 1, 1};
  CHECK(cut_off(view) == 30);  // at 40, 50 and 60 the norm is known, but not that of 15 steps earlier
  view.l1 = {1, 1, 1, unknown, unknown, unknown};
  CHECK(cut_off(view) == 0);  // there is no later probe
  view.stability.front().ratio = {unknown, 1, unknown, unknown, unknown, unknown};
  CHECK(cut_off(view) == 20);
  view.stability.front().ratio = {unknown, 1, 1, 1, 1, 1};
  CHECK(cut_off(view) == 0);
  view.freeze_step = 0;
  CHECK(cut_off(view) == 0);
}
