#include "analysis/compare/arm_figures.hpp"

#include "device/base/error.hpp"
#include "netmodel/cost/link_load.hpp"
#include "tests/analysis/runs.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;

namespace {

constexpr double kT2 = 12.706205;  // t(1 degree, 97.5%)

netmodel::Cluster ring_cluster() {
  netmodel::Cluster cluster = round_cluster();
  cluster.all_reduce = netmodel::Selection::ring;
  return cluster;
}

/// The update takes no time.
ArmFigures figures(const Arm& arm, double target = 5, double forward = 0,
                   const netmodel::Cluster& cluster = ring_cluster()) {
  const std::vector<netmodel::Cluster> clusters = {cluster};
  const netmodel::LinkLoad model;
  const PriceRules rules{.forward = netmodel::Seconds(forward), .optimizer = netmodel::Seconds(0)};
  return price_arms({&arm, 1}, target, clusters, rules, model).arms.front();
}

/// Seconds of a dense step.
double step_seconds() {
  const PriceRules rules{.optimizer = netmodel::Seconds(0)};
  return Timeline({.workers = 4, .parameters = 80}, {{1, 1, dense_exchange()}}, ring_cluster(), netmodel::LinkLoad(),
                  rules)
      .at(1);
}

/// Two seeds, evaluated at steps 0, 5 and 10.
Arm two_seeds() {
  return {"a", {}, {make_run({}, 1, {10, 6, 2}), make_run({}, 2, {10, 4, 3})}};
}

}  // namespace

TEST_CASE("arm figures: means over seeds with their intervals") {
  Arm arm = two_seeds();
  arm.runs[1].summary.bytes = 2400;
  arm.runs[1].summary.ratio_fp32 = 2;
  arm.runs[1].summary.ratio_fp16 = 1;
  arm.runs[1].summary.accuracy = 0.7;
  const ArmFigures result = figures(arm);
  CHECK(result.name == "a");
  CHECK((result.runs == 2 && result.finished == 2 && result.diverged == 0));
  CHECK(result.unfinished_runs.empty());
  CHECK(result.final_loss.mean == 2.5);
  CHECK(result.final_loss.half_width == Approx(kT2 * 0.5).epsilon(1e-6));
  CHECK(result.best_loss.mean == 2.5);
  CHECK(result.accuracy.mean == Approx(0.6));
  CHECK(result.bytes.mean == 3600);
  CHECK(result.ratio_fp16.baseline == "a ring all-reduce of fp16 gradients at every step");
  CHECK(result.ratio_fp16.times.mean == 0.75);
  CHECK(result.ratio_fp32.baseline == "a ring all-reduce of fp32 gradients at every step");
  CHECK(result.ratio_fp32.times.mean == 1.5);
}

TEST_CASE("arm figures: estimated seconds, with computing where it is given") {
  const ArmFigures result = figures(two_seeds());
  REQUIRE(result.seconds.size() == 1);
  CHECK(result.seconds[0].cluster == "round");
  CHECK(result.seconds[0].seconds.mean == Approx(10 * step_seconds()).epsilon(1e-12));
  REQUIRE(result.times.size() == 2);
  CHECK(result.times[1].seconds[0] == Approx(10 * step_seconds()).epsilon(1e-12));
  REQUIRE(result.times.front().communication.size() == 1);
  CHECK(result.times[0].communication[0].cluster == "round");
  CHECK(result.times[0].communication[0].dense_seconds == Approx(step_seconds()).epsilon(1e-12));
  CHECK(figures(two_seeds(), 5, 0.25).seconds[0].seconds.mean == Approx(2.5 + 10 * step_seconds()).epsilon(1e-12));
  netmodel::Cluster small = ring_cluster();
  small.nodes = 2;
  CHECK_THROWS_AS(figures(two_seeds(), 5, 0, small), ConfigError);
}

TEST_CASE("arm figures: only the time of exchanges is longer or shorter by the cluster's uncertainty") {
  netmodel::Cluster cluster = ring_cluster();
  cluster.uncertainty = 0.25;
  const ClusterSeconds seconds = figures(two_seeds(), 5, 0.25, cluster).seconds[0];
  CHECK(seconds.longer - 2.5 == Approx(1.25 * 10 * step_seconds()).epsilon(1e-9));
  CHECK(seconds.shorter - 2.5 == Approx(0.75 * 10 * step_seconds()).epsilon(1e-9));
}

TEST_CASE("arm figures: loss against steps, samples, bytes and seconds") {
  const ArmFigures result = figures(two_seeds());
  REQUIRE(result.curves.size() == 4);
  const Axis axes[] = {Axis::steps, Axis::samples, Axis::bytes, Axis::seconds};
  const double at_the_end[] = {10, 640, 4800, 10 * step_seconds()};
  for (std::size_t i = 0; i < 4; ++i) {
    const LossCurve& curve = result.curves[i];
    CHECK(curve.axis == axes[i]);
    CHECK(curve.cluster == (i == 3 ? "round" : ""));
    REQUIRE(curve.points.size() == 3);
    CHECK(curve.points[0].x == 0);
    CHECK(curve.points[1].x == Approx(at_the_end[i] / 2).epsilon(1e-12));
    CHECK(curve.points[2].x == Approx(at_the_end[i]).epsilon(1e-12));
    CHECK(curve.points[1].loss.mean == 5);
    CHECK(curve.points[1].loss.half_width == Approx(kT2).epsilon(1e-6));
    CHECK(curve.points[1].loss.count == 2);
  }
}

TEST_CASE("arm figures: a curve has the steps that all runs evaluated, at the mean of their bytes") {
  Arm arm = two_seeds();
  arm.runs[0].evaluations[2].bytes = 2400;
  arm.runs[1].evaluations.erase(arm.runs[1].evaluations.begin() + 1);
  const ArmFigures result = figures(arm);
  REQUIRE(result.curves[2].points.size() == 2);
  CHECK(result.curves[2].points[1].x == 3600);
  CHECK(result.curves[0].points[1].x == 10);
  CHECK(result.curves[0].points[1].loss.mean == 2.5);
}

TEST_CASE("arm figures: runs that did not finish are counted and named, but no mean contains them") {
  Arm arm = two_seeds();
  arm.runs.push_back(diverged(make_run({}, 3, {10, 50})));
  arm.runs.push_back(make_run({}, 4, {10, 50}));
  arm.runs.back().summary.status = sim::RunStatus::running;
  arm.runs.push_back(make_run({}, 5, {10, 50}));
  arm.runs.back().summary.status = sim::RunStatus::failed;
  const ArmFigures result = figures(arm);
  CHECK((result.runs == 5 && result.finished == 2 && result.diverged == 1 && result.unfinished == 1));
  CHECK(result.failed == 1);
  CHECK(result.final_loss.mean == 2.5);
  CHECK(result.final_loss.count == 2);
  CHECK(result.curves[0].points.back().loss.count == 2);
  CHECK(result.unfinished_runs == std::vector<std::string>{"seed 3 diverged: the loss is not finite (out/3.h5)",
                                                           "seed 4 not finished: still running, or killed (out/4.h5)",
                                                           "seed 5 failed (out/5.h5)"});
}

TEST_CASE("arm figures: an arm that diverged on every seed keeps its curves") {
  Arm arm = two_seeds();
  for (Run& run : arm.runs) run = diverged(run);
  arm.runs.push_back(diverged(make_run({}, 3, {1})));
  arm.runs.back().evaluations.clear();
  const ArmFigures result = figures(arm);
  CHECK(result.finished == 0);
  CHECK(std::isnan(result.final_loss.mean));
  CHECK(std::isnan(result.seconds[0].seconds.mean));
  REQUIRE(result.curves[0].points.size() == 3);
  CHECK(result.curves[0].points[1].loss.count == 2);
}

TEST_CASE("arm figures: what it took to reach a loss") {
  // Seed 1 reaches 5 between steps 6 (loss 5.2) and 7 (4.4), at 6.25; seed 2 between 4 (5.2) and 5 (4), at 25/6
  const Arm arm = {"a",
                   {},
                   {make_run({}, 1, {10, 9.2, 8.4, 7.6, 6.8, 6, 5.2, 4.4, 3.6, 2.8, 2}),
                    make_run({}, 2, {10, 8.8, 7.6, 6.4, 5.2, 4, 3.8, 3.6, 3.4, 3.2, 3})}};
  const TargetCost cost = figures(arm).to_target;
  const double mean = (6.25 + 25.0 / 6) / 2;
  CHECK_FALSE(cost.is_bound);
  CHECK((cost.runs == 2 && cost.reached == 2));
  CHECK(cost.steps.mean == Approx(mean));
  CHECK(cost.steps.half_width == Approx(kT2 * (6.25 - mean)).epsilon(1e-6));
  CHECK(cost.samples.mean == Approx(64 * mean));
  CHECK(cost.bytes.mean == Approx(480 * mean));
  REQUIRE(cost.seconds.size() == 1);
  CHECK(cost.seconds[0].cluster == "round");
  CHECK(cost.seconds[0].seconds.mean == Approx(step_seconds() * mean));
  // With evaluations at steps 0, 5 and 10 only: at most step 10 and step 5
  const TargetCost bound = figures(two_seeds()).to_target;
  CHECK(bound.is_bound);
  CHECK(bound.steps.mean == 10);
  CHECK(std::isnan(bound.steps.half_width));
  CHECK(bound.bytes.mean == 4800);
}

TEST_CASE("arm figures: a loss that one run did not reach, also because it diverged") {
  const TargetCost cost = figures(two_seeds(), 2.5).to_target;
  CHECK((cost.runs == 2 && cost.reached == 1));
  CHECK(std::isnan(cost.steps.mean));
  CHECK(std::isnan(cost.bytes.mean));
  Arm arm = two_seeds();
  arm.runs.push_back(diverged(make_run({}, 3, {10, 50})));
  arm.runs.push_back(make_run({}, 4, {10, 50}));
  arm.runs.back().summary.status = sim::RunStatus::stopped;
  arm.runs.push_back(make_run({}, 5, {10, 1}));
  arm.runs.back().summary.status = sim::RunStatus::failed;
  CHECK((figures(arm).to_target.runs == 3 && figures(arm).to_target.reached == 2));
  CHECK(std::isnan(figures(arm).to_target.samples.mean));
}
