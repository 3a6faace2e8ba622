#include "analysis/compare/rate_grid.hpp"

#include "tests/analysis/runs.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

Arm arm(const std::string& optimizer, const std::string& rate, const std::vector<double>& losses) {
  return make_arm(optimizer + ", lr " + rate, losses, {{"optimizer", optimizer}, {"optimizer.lr", rate}});
}

/// Returns a grid with this number of rates, of which `best` is the index of the best one.
RateGrid grid(const std::string& name, std::size_t rates, std::size_t best) {
  RateGrid result{name, {}, {}, best};
  for (std::size_t i = 0; i < rates; ++i) result.rates.push_back(static_cast<double>(i + 1) / 8);
  return result;
}

using Places = std::vector<std::size_t>;

}  // namespace

TEST_CASE("rate grid: arms that differ in their learning rate alone, by rising rate") {
  const std::vector<Arm> arms = {arm("adam", "0.01", {2, 3}), arm("lamb", "0.01", {5, 5}), arm("adam", "1e-3", {3, 4}),
                                 arm("adam", "0.1", {4, 2.5})};
  const std::vector<RateGrid> grids = rate_grids(arms);
  REQUIRE(grids.size() == 2);
  CHECK(grids[0].name == "adam");
  CHECK(grids[0].arms == Places{2, 0, 3});
  CHECK(grids[0].rates == std::vector<double>{1e-3, 0.01, 0.1});
  CHECK(grids[0].best == 1);
  CHECK_FALSE(grids[0].best_at_edge());
  CHECK(grids[1].name == "lamb, lr 0.01");
  CHECK(grids[1].best == 0);
  CHECK_FALSE(grids[1].best_at_edge());  // one rate has no edge
}

TEST_CASE("rate grid: the best rate is one that did not diverge with any seed") {
  std::vector<Arm> arms = {arm("adam", "1", {2, 3}), arm("adam", "2", {1, 1}), arm("adam", "3", {0.5, 0.5})};
  arms[2].runs[1] = diverged(arms[2].runs[1]);
  CHECK(rate_grids(arms)[0].best == 1);
  CHECK_FALSE(rate_grids(arms)[0].best_at_edge());
  arms[1].runs[0] = diverged(arms[1].runs[0]);
  CHECK(rate_grids(arms)[0].best == 0);
  CHECK(rate_grids(arms)[0].best_at_edge());
  arms[0].runs[0] = diverged(arms[0].runs[0]);
  CHECK_FALSE(rate_grids(arms)[0].best.has_value());
  CHECK_FALSE(rate_grids(arms)[0].best_at_edge());
}

TEST_CASE("rate grid: a run that stopped early does not count") {
  std::vector<Arm> arms = {arm("adam", "1", {2, 3}), arm("adam", "2", {2, 9})};
  arms[1].runs[1].summary.status = sim::RunStatus::stopped;
  CHECK(rate_grids(arms)[0].best == 1);
}

TEST_CASE("rate grid: without a rate in the log there is one arm to a grid") {
  const std::vector<Arm> arms = {make_arm("a", {1}, {{"batch", "1"}}), make_arm("b", {1}, {{"batch", "2"}})};
  const std::vector<RateGrid> grids = rate_grids(arms);
  REQUIRE(grids.size() == 2);
  CHECK(grids[0].name == "a");
  CHECK(std::isnan(grids[0].rates[0]));
  CHECK(rate_grids({}).empty());
}

TEST_CASE("rate grid: arms with other labels are in other grids, named by the labels") {
  const auto labelled = [](const std::string& label, const std::string& rate) {
    return make_arm(label + ", lr " + rate, {2}, {{"label", label}, {"optimizer", "adam"}, {"optimizer.lr", rate}});
  };
  const std::vector<Arm> arms = {labelled("a", "1"), labelled("a", "2"), labelled("b", "1"), labelled("b", "2")};
  const std::vector<RateGrid> grids = rate_grids(arms);
  REQUIRE(grids.size() == 2);
  CHECK(grids[0].name == "a");
  CHECK(grids[1].name == "b");
}

TEST_CASE("rate grid: warnings") {
  CHECK(warnings_of(grid("a", 3, 1), grid("b", 3, 1)).empty());
  CHECK(warnings_of(grid("a", 1, 0), grid("b", 1, 0)).empty());
  CHECK(warnings_of(grid("a", 3, 1), grid("b", 5, 1)) ==
        std::vector<std::string>{"b had 5 learning rates to choose from, a had 3"});
  CHECK(warnings_of(grid("a", 5, 1), grid("b", 3, 1)) ==
        std::vector<std::string>{"a had 5 learning rates to choose from, b had 3"});
  CHECK(warnings_of(grid("a", 2, 0), grid("b", 2, 1)) ==
        std::vector<std::string>{
            "0.125 is the best learning rate of a and the smallest that was tried; a better one may be beyond it",
            "0.25 is the best learning rate of b and the largest that was tried; a better one may be beyond it"});
}

TEST_CASE("rate grid: rates that are more than 5 times away from the best are too far apart to find it") {
  const auto with_rates = [](const std::vector<double>& rates) {
    RateGrid result = grid("a", rates.size(), 1);
    result.rates = rates;
    return result;
  };
  const RateGrid fine = with_rates({1, 5, 25}), coarse = with_rates({1, 5, 35});
  CHECK(warnings_of(fine, fine).empty());
  const std::vector<std::string> far = {
      "the learning rates next to the best one of a, 5, differ from it by a factor of up to 7; rates between them may "
      "be better"};
  CHECK(warnings_of(with_rates({0.0003, 0.0006, 0.003}), fine).empty());  // 5, but for rounding
  CHECK(warnings_of(fine, coarse) == far);
  CHECK(warnings_of(coarse, fine) == far);
  CHECK(warnings_of(with_rates({1, 5, 25, 1000}), fine).size() == 1);  // about the numbers of rates
}
