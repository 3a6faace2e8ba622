// The grid in which a sweep's results are shown, without the program.

#include <limits>
#include <sstream>

#include "experiments/sweep/grid_output.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::experiments;
using Catch::Matchers::Contains;

namespace {

struct Sweep {
  std::vector<Point> points;
  std::vector<PointResult> results;

  void add(const std::string& arm, const std::string& rate, std::uint32_t seed, PointStatus status, double loss = 0) {
    Point point;
    point.arm = arm;
    point.varied = {{"optimizer.lr", rate}};
    run_option("optimizer.lr").set(point.config, rate);
    point.config.seed = seed;
    points.push_back(point);
    PointResult result;
    result.status = status;
    if (status == PointStatus::done) result.eval_loss = loss;
    if (status == PointStatus::diverged) result.reason = "the loss is not finite";
    results.push_back(result);
  }
};

/// Two arms with three rates and two seeds: losses, a divergence, a failure, a run that is missing, and no run at all.
Sweep two_arms() {
  Sweep sweep;
  for (const std::uint32_t seed : {1U, 2U}) {
    sweep.add("adam", "0.1", seed, seed == 1 ? PointStatus::done : PointStatus::diverged, 0.5);
    sweep.add("adam", "0.001", seed, PointStatus::done, 2.0 + 0.01 * seed);
    sweep.add("adam", "0.01", seed, PointStatus::done, 1.0 + 0.01 * seed);
    sweep.add("sgd", "0.001", seed, seed == 1 ? PointStatus::done : PointStatus::waiting, 0.1);
    sweep.add("sgd", "0.1", seed, PointStatus::done, 1.5);
    if (seed == 1) sweep.add("sgd", "1", seed, PointStatus::failed);
  }
  return sweep;
}

std::string printed(const SweepGrid& grid) {
  std::ostringstream out;
  print_grid(grid, out);
  return out.str();
}

}  // namespace

TEST_CASE("sweep grid: arms against rates, with a mark for each arm's best and words for what has no loss") {
  const Sweep sweep = two_arms();
  const SweepGrid grid = grid_of(sweep.points, sweep.results);
  CHECK(printed(grid) ==
        "final loss, mean ± 95% interval over 2 seeds; *: the arm's lowest\n"
        "arm / optimizer.lr          0.001             0.01             0.1         1\n"
        "adam                2.015 ± 0.064    1.015 ± 0.064 *  diverged 1/2         -\n"
        "sgd                   not run 1/2                -         1.5 ± 0 *  failed\n");
  CHECK(grid.best == std::size_t{0});
  CHECK(answer_of(grid, "out") ==
        "So far, adam at optimizer.lr 0.01 has the lowest mean final loss, 1.015 ± 0.064 over 2 seeds; the next best, "
        "sgd "
        "at optimizer.lr 0.1, ends at a final loss 47.8% higher ('onebit analyze out' judges the difference).");
}

TEST_CASE("sweep grid: two arms are as far apart as their verdict says, relative to the parent") {
  Sweep sweep;
  for (const std::uint32_t seed : {1U, 2U}) {
    sweep.add("dense", "0.1", seed, PointStatus::done, seed == 1 ? 1.0 : 4.0);
    sweep.add("bits", "0.1", seed, PointStatus::done, seed == 1 ? 0.9 : 3.2);
    sweep.points.back().config.optimizer.name = "onebit-adam";
  }
  // 1 - sqrt(0.9/1 * 3.2/4). Relative to the other arm, it would be sqrt(1/0.9 * 4/3.2) - 1; for the means, 0.9/4.1.
  CHECK_THAT(answer_of(grid_of(sweep.points, sweep.results), "out"),
             Contains("; compared with the next best, dense, it ends at a final loss 15.1% lower ('onebit analyze "
                      "out' judges the difference)."));
}

TEST_CASE("sweep grid: a paired difference that contradicts the ranking is left out") {
  Sweep sweep;
  for (const std::uint32_t seed : {1U, 2U}) {
    sweep.add("adam", "0.1", seed, PointStatus::done, seed == 1 ? 2.0 : 7.0);
    sweep.add("sgd", "0.1", seed, PointStatus::done, seed == 1 ? 1.0 : 8.5);  // mean: +5.6%; ratios: -22%
    sweep.add("lamb", "0.1", seed, PointStatus::done, 9);
  }
  CHECK_THAT(answer_of(grid_of(sweep.points, sweep.results), "out"),
             Contains("; the next best is sgd ('onebit analyze out' judges the difference)."));
}

TEST_CASE("sweep grid: a best rate at the end of those tried is a warning, of a search") {
  Sweep sweep;
  for (const char* arm : {"adam", "sgd"}) {
    for (const char* rate : {"0.1", "0.2", "0.3"}) {
      const bool second = std::string(rate) == "0.2";
      sweep.add(arm, rate, 1, PointStatus::done, std::string(arm) == "adam" && second ? 0 : std::stod(rate));
    }
  }
  const SweepGrid grid = grid_of(sweep.points, sweep.results);
  std::ostringstream swept, tuned;
  print_edges(grid, false, swept);
  print_edges(grid, true, tuned);
  const std::string start = "warning: the best optimizer.lr is at the end of the values tried: sgd (smallest); ";
  CHECK(swept.str() == start + "a better one may be beyond it\n");
  CHECK(tuned.str() == start + "widen the range of --tune\n");
  CHECK_THAT(printed(grid), Contains("final loss; *: the arm's lowest\n"));
  CHECK_THAT(answer_of(grid, "out"), Contains("adam at optimizer.lr 0.2 has the lowest final loss, 0"));
}

TEST_CASE("sweep grid: points that differ only in one option, or only in seeds, are a list") {
  Sweep sweep;
  for (const char* rate : {"0.3", "0.02"}) sweep.add("", rate, 1, PointStatus::done, std::stod(rate));
  CHECK(printed(grid_of(sweep.points, sweep.results)) ==
        "final loss; *: the lowest\n"
        "optimizer.lr  final loss  done\n"
        "        0.02        0.02   1/1  *\n"
        "         0.3         0.3   1/1\n");
  Sweep seeds;
  for (const std::uint32_t seed : {1U, 2U}) seeds.add("", "0.1", seed, PointStatus::done, seed);
  CHECK_THAT(printed(grid_of(seeds.points, seeds.results)), Contains("final loss  done\n 1.5 ± 6.4   2/2  *\n"));
  CHECK(answer_of(grid_of(seeds.points, seeds.results), "out") ==
        "The lowest mean final loss is 1.5 ± 6.4 over 2 seeds.");
}

TEST_CASE("sweep grid: a sweep without a whole cell says so, and why") {
  Sweep sweep;
  for (const std::uint32_t seed : {1U, 2U, 3U}) sweep.add("adam", "9", seed, PointStatus::diverged);
  CHECK(answer_of(grid_of(sweep.points, sweep.results), "out") == "No arm has a finite loss with all of its seeds.");
  std::ostringstream reasons;
  print_reasons(sweep.points, sweep.results, reasons);
  CHECK(reasons.str() == "arm adam, optimizer.lr 9, seed 1 and 2 more diverged: the loss is not finite\n");
}
