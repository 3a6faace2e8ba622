#include "analysis/compare/comparison.hpp"

#include "device/base/error.hpp"
#include "device/math/philox.hpp"
#include "tests/analysis/runs.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

Arm with_rate(const std::string& optimizer, const std::string& rate, const std::vector<double>& losses) {
  return make_arm(optimizer + "-" + rate, losses, {{"optimizer", optimizer}, {"optimizer.lr", rate}});
}

double normal(Index step, Index worker, Index element) {
  return static_cast<double>(device::normal({7, device::Purpose::data}, {step, worker, element}));
}

/// Returns the final losses of one arm: a factor per seed, shared by all arms, with a deviation of 5%, times a factor
/// per arm and seed with a deviation of 0.5%. The difference of two arms then has a deviation of 0.7%.
std::vector<double> losses(Index resampling, Index arm, Index seeds, double shift) {
  std::vector<double> result;
  for (Index seed = 0; seed < seeds; ++seed) {
    const double shared = 1 + 0.05 * normal(resampling, 0, seed);
    result.push_back(2 * shared * (1 + shift + 0.005 * normal(resampling, 1 + arm, seed)));
  }
  return result;
}

struct Tally {
  Index unseen = 0, better = 0, worse = 0, small_p = 0;
};

/// Verdicts over 1,000 resamplings of 5 to 10 paired seeds.
Tally tally(double shift) {
  Tally result;
  for (Index i = 0; i < 1000; ++i) {
    const Index seeds = 5 + i % 6;
    const std::vector<Arm> arms = {make_arm("a", losses(i, 0, seeds, 0), {{"optimizer", "x"}}),
                                   make_arm("b", losses(i, 1, seeds, shift), {{"optimizer", "y"}})};
    const Verdict verdict = compare(arms, {}).verdicts.front();
    result.unseen += verdict.judgement == Judgement::not_resolved || verdict.judgement == Judgement::equivalent;
    result.better += verdict.judgement == Judgement::better;
    result.worse += verdict.judgement == Judgement::worse;
    result.small_p += verdict.difference.p <= 0.05;
  }
  return result;
}

}  // namespace

TEST_CASE("comparison: an arm against itself differs in 3 to 7 of 100 resamplings at 95%") {
  const Tally result = tally(0);
  INFO(result.unseen << " without a difference seen, " << result.better << " better, " << result.worse << " worse, "
                     << result.small_p << " with p at most 0.05");
  CHECK(result.unseen >= 930);
  CHECK(result.unseen <= 970);
  CHECK(result.better > 0);
  CHECK(result.worse > 0);
  CHECK(result.small_p <= 60);  // the permutation test is exact or conservative
}

TEST_CASE("comparison: a shift of 2% is seen where seeds differ by 5% and arms by 0.5% of a seed") {
  const Tally up = tally(0.02), down = tally(-0.02);
  INFO(up.worse << " of 1000 worse, " << down.better << " of 1000 better");
  CHECK(up.worse >= 980);
  CHECK(up.better == 0);
  CHECK(down.better >= 980);
  CHECK(down.worse == 0);
}

TEST_CASE("comparison: the figures of every arm, and a verdict for every one but the baseline") {
  const std::vector<Arm> arms = {make_arm("a", {1, 2}, {{"optimizer", "x"}}),
                                 make_arm("b", {2, 4}, {{"optimizer", "y"}}),
                                 make_arm("c", {1, 2}, {{"optimizer", "z"}})};
  const Comparison first = compare(arms, {});
  CHECK(first.baseline == "a");
  CHECK(first.arms.size() == 3);
  CHECK(first.arms[1].name == "b");
  CHECK(first.arms[1].final_loss.mean == 3);
  REQUIRE(first.verdicts.size() == 2);
  CHECK((first.verdicts[0].baseline == "a" && first.verdicts[0].arm == "b"));
  CHECK(first.verdicts[0].judgement == Judgement::worse);
  CHECK(first.verdicts[1].judgement == Judgement::equivalent);
  CHECK(first.grids.size() == 3);
  CHECK(first.other_rates.empty());
  const Comparison second = compare(arms, {.baseline = "b"});
  CHECK(second.baseline == "b");
  CHECK((second.verdicts[0].arm == "a" && second.verdicts[1].arm == "c"));
  CHECK(second.verdicts[0].judgement == Judgement::better);
  const Comparison alone = compare(std::vector{arms[0]}, {});
  CHECK(alone.verdicts.empty());
}

TEST_CASE("comparison: a target for all arms, its own or the lowest that all runs reached") {
  const std::vector<Arm> arms = {make_arm("a", {1, 2}, {{"optimizer", "x"}}),
                                 make_arm("b", {3, 4}, {{"optimizer", "y"}})};
  const Comparison common = compare(arms, {});
  CHECK(common.target == 4);
  CHECK(common.arms[1].to_target.reached == 2);
  CHECK((common.arms[1].to_target.is_bound && common.arms[1].to_target.steps.mean == 10));
  const Comparison given = compare(arms, {.target = 2});
  CHECK(given.target == 2);
  CHECK(given.arms[0].to_target.reached == 2);
  CHECK(given.arms[1].to_target.reached == 0);
  CHECK(std::isnan(given.arms[1].to_target.steps.mean));
  const Arm risen = make_arm("c", {20, 30}, {{"optimizer", "z"}});  // all runs start at 10
  CHECK(compare(std::vector{arms[0], arms[1], risen}, {}).target == 4);
  CHECK(compare(std::vector{risen}, {}).target == 10);
}

TEST_CASE("comparison: clusters are priced, and computing added") {
  const std::vector<Arm> arms = {make_arm("a", {1, 2})};
  ComparisonRequest request;
  request.clusters = {round_cluster(), netmodel::find_cluster("eth10")};
  request.rules.forward = netmodel::Seconds(1);
  const Comparison result = compare(arms, request);
  REQUIRE(result.arms[0].seconds.size() == 2);
  CHECK(result.arms[0].seconds[0].cluster == "round");
  CHECK(result.arms[0].seconds[1].cluster == "eth10");
  CHECK(result.arms[0].seconds[1].seconds.mean > 10);
  CHECK(result.arms[0].curves.size() == 5);
  CHECK(result.arms[0].to_target.seconds.size() == 2);
}

TEST_CASE("comparison: learning rates stand with each verdict, and grids are compared at their best") {
  const std::vector<Arm> arms = {with_rate("adam", "0.001", {2, 2.1}), with_rate("adam", "0.01", {1, 1.1}),
                                 with_rate("adam", "0.1", {3, 3.1}), with_rate("onebit", "0.01", {1.5, 1.6}),
                                 with_rate("onebit", "0.1", {1.2, 1.32})};
  const Comparison result = compare(arms, {});
  CHECK(result.baseline == "adam-0.01");
  CHECK(result.arms[3].rates.rate == 0.01);
  CHECK(result.arms[3].rates.tried == std::vector<double>{0.01, 0.1});
  REQUIRE(result.grids.size() == 2);
  CHECK(result.grids[1].name == "onebit");
  REQUIRE(result.other_rates.size() == 3);
  CHECK((result.other_rates[0].arm == "adam-0.001" && result.other_rates[0].baseline == "adam-0.01"));
  CHECK((result.other_rates[2].arm == "onebit-0.01" && result.other_rates[2].baseline == "adam-0.01"));
  CHECK(result.other_rates[2].criterion.comparisons == 3);
  CHECK_THAT(result.other_rates[2].sentence, Contains("; learning rate 0.01 (of 2 tried) against 0.01 (of 3 tried)"));
  REQUIRE(result.verdicts.size() == 1);
  const Verdict& best = result.verdicts[0];
  CHECK((best.baseline == "adam-0.01" && best.arm == "onebit-0.1"));
  CHECK(best.judgement == Judgement::worse);
  CHECK(best.criterion.comparisons == 1);
  CHECK(result.target == 1.32);  // the worst run at the best rates; runs at other rates need not reach it
  CHECK(result.arms[0].to_target.reached == 0);
  CHECK_THAT(best.sentence,
             StartsWith("with each arm at its best learning rate, onebit-0.1 is worse than adam-0.01: final loss "
                        "20% higher"));
  CHECK(best.warnings ==
        std::vector<std::string>{
            "adam had 3 learning rates to choose from, onebit had 2",
            "0.1 is the best learning rate of onebit and the largest that was tried; a better one may be beyond it",
            "the learning rates next to the best one of adam, 0.01, differ from it by a factor of up to 10; rates "
            "between "
            "them may be better",
            "the learning rates next to the best one of onebit, 0.1, differ from it by a factor of up to 10; rates "
            "between "
            "them may be better"});
  const std::vector<VerdictSection> sections = sections_of(result);
  REQUIRE(sections.size() == 2);
  CHECK(sections[0].heading == "at the best learning rates");
  CHECK_THAT(
      sections[0].rule,
      StartsWith("1 comparison, judged by its 95% interval") &&
          Contains("; with 2 seeds, p of the sign-flip test is at least 0.5 (below 0.05 takes 6 seeds): judge by"));
  CHECK(sections[1].verdicts.size() == 3);
  CHECK_THAT(sections[1].rule, StartsWith("3 comparisons, each judged by its 98.3% interval"));
}

TEST_CASE("comparison: a parent at its best rate judges its own children, and the number is corrected for") {
  const std::vector<Arm> arms = {with_rate("onebit-adam", "0.01", {1, 1.1}), with_rate("adam", "0.01", {2, 2.2}),
                                 with_rate("adam", "0.1", {1, 1.1}), with_rate("lamb", "0.1", {4, 4.4}),
                                 with_rate("onebit-lamb", "0.1", {4, 4.4})};
  const Comparison result = compare(arms, {.margin = 0.02});
  REQUIRE(result.verdicts.size() == 3);
  for (const Verdict& verdict : result.verdicts) {
    CHECK(verdict.criterion.comparisons == 3);
    CHECK(verdict.criterion.margin == 0.02);
  }
  CHECK((result.verdicts[0].arm == "onebit-adam-0.01" && result.verdicts[0].baseline == "adam-0.1"));
  CHECK(result.verdicts[0].judgement == Judgement::equivalent);
  CHECK((result.verdicts[1].arm == "lamb-0.1" && result.verdicts[1].baseline == "adam-0.1"));
  CHECK((result.verdicts[2].arm == "onebit-lamb-0.1" && result.verdicts[2].baseline == "lamb-0.1"));
  CHECK_THAT(result.verdicts[0].sentence,
             StartsWith("with each arm at its best learning rate, "));              // two rates against one
  CHECK_THAT(result.verdicts[2].sentence, !Contains("at the best learning rate"));  // one rate against one
  CHECK(result.notes.empty());
}

TEST_CASE("comparison: a grid that diverged at every rate has no best one, and that is its verdict") {
  std::vector<Arm> arms = {with_rate("adam", "1", {1, 1}), with_rate("lamb", "1", {1, 1}),
                           with_rate("lamb", "2", {1, 1})};
  for (std::size_t i : {1U, 2U}) arms[i].runs[0] = diverged(arms[i].runs[0]);
  const Comparison result = compare(arms, {});
  REQUIRE(result.verdicts.size() == 1);
  CHECK(result.verdicts[0].judgement == Judgement::not_comparable_diverged);
  CHECK(result.verdicts[0].arm == "lamb-1");
  CHECK(result.other_rates.size() == 1);
  CHECK(result.arms[2].diverged == 1);
  CHECK_THAT(result.verdicts[0].sentence, !Contains("at the best learning rate"));
}

TEST_CASE("comparison: against a baseline that is not at its best rate nothing is said to be at the best of each") {
  const std::vector<Arm> arms = {with_rate("adam", "0.01", {2, 2.2}), with_rate("adam", "0.1", {1, 1.1}),
                                 with_rate("lamb", "0.1", {1, 1.2})};
  for (const bool best : {false, true}) {
    const Comparison result = compare(arms, {.baseline = best ? "adam-0.1" : "adam-0.01"});
    REQUIRE(result.verdicts.size() == 1);
    CHECK(result.verdicts[0].arm == "lamb-0.1");
    CHECK_THAT(result.verdicts[0].sentence,
               StartsWith(best ? "with each arm at its best learning rate, " : "lamb-0.1 "));
  }
}

TEST_CASE("comparison: refuses other problems, unknown baselines and nothing") {
  std::vector<Arm> arms = {make_arm("adam", {1, 2}), make_arm("lamb", {1, 2})};
  CHECK_THROWS_WITH(compare(arms, {.baseline = "adm"}),
                    Contains("no arm of this name") && Contains("did you mean adam?"));
  CHECK_THROWS_AS(compare({}, {}), ConfigError);
  arms[1].runs[1].header.data_hash = "ff";
  CHECK_THROWS_WITH(compare(arms, {}), Contains("their data differ: hash '00000000000000aa' and 'ff'"));
}

TEST_CASE("comparison: arms with one seed in common give no interval, and do not widen those of others") {
  std::vector<Arm> arms = {make_arm("adam", {1, 1.1, 1.2}, {{"optimizer", "adam"}}),
                           make_arm("onebit-adam", {1, 1.1, 1.3}, {{"optimizer", "onebit-adam"}}),
                           make_arm("zeroone-adam", {1.5}, {{"optimizer", "zeroone-adam"}})};
  const Comparison comparison = compare(arms, {});
  REQUIRE(comparison.verdicts.size() == 2);
  CHECK(comparison.verdicts[0].criterion.comparisons == 1);
  CHECK(comparison.verdicts[1].judgement == Judgement::too_few_seeds);
  arms[2] = make_arm("zeroone-adam", {1.5, 1.6}, {{"optimizer", "zeroone-adam"}});
  CHECK(compare(arms, {}).verdicts[0].criterion.comparisons == 2);
}
