#include "analysis/verdict.hpp"

#include "tests/analysis/runs.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

const Rates one{0.001, {0.001}}, three{0.01, {0.001, 0.01, 0.1}};

Verdict of(const Arm& baseline, const Arm& arm) {
  return judge(baseline, arm, one, three);
}

Difference difference(double mean, double half_width, Index pairs) {
  return {{mean, half_width, pairs}, 1, pairs};
}

}  // namespace

TEST_CASE("verdict: by the interval of t alone") {
  constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
  CHECK(judge(difference(0.1, 0.2, 3)) == Judgement::no_difference);
  CHECK(judge(difference(-0.1, 0.1, 3)) == Judgement::no_difference);
  CHECK(judge(difference(0.3, 0.2, 3)) == Judgement::worse);
  CHECK(judge(difference(-0.3, 0.2, 3)) == Judgement::better);
  CHECK(judge(difference(0, 0, 2)) == Judgement::no_difference);
  CHECK(judge(difference(0.3, 0, 2)) == Judgement::worse);
  CHECK(judge(difference(0.3, nan_value, 1)) == Judgement::too_few_seeds);
  CHECK(judge(difference(nan_value, nan_value, 0)) == Judgement::too_few_seeds);
  CHECK(judge(difference(nan_value, nan_value, 5)) == Judgement::undefined);
}

TEST_CASE("verdict: better and worse, with interval, pairs, p and learning rates") {
  // relative differences -0.02, -0.02, -0.03, -0.03: mean -0.025, t(3 degrees) = 3.182446, deviation 0.0057735
  const Arm a = make_arm("a", {1, 2, 1, 2}), b = make_arm("b", {0.98, 1.96, 0.97, 1.94});
  const Verdict better = of(a, b);
  CHECK(better.judgement == Judgement::better);
  CHECK(better.baseline == "a");
  CHECK(better.arm == "b");
  CHECK(better.seeds == std::vector<std::uint32_t>{1, 2, 3, 4});
  CHECK(better.difference.relative.mean == Approx(-0.025));
  CHECK(better.difference.relative.half_width == Approx(3.182446 * 0.0057735 / 2).epsilon(1e-5));
  CHECK(better.difference.p == 0.125);
  CHECK(better.warnings.empty());
  CHECK(
      better.sentence ==
      "b is better than a: final loss 2.5% lower (95% interval -3.42% to -1.58% by t over 4 paired seeds, sign-flip p "
      "0.125); learning rate 0.01 (of 3 tried: 0.001, 0.01, 0.1) against 0.001 (the only one tried)");
  CHECK_THAT(of(make_arm("a", {1, 1}), make_arm("b", {101.254, 101.254})).sentence,
             Contains("final loss 10025% higher (95% interval 10025% to 10025%"));
  const Verdict worse = of(b, a);
  CHECK(worse.judgement == Judgement::worse);
  CHECK_THAT(worse.sentence, StartsWith("a is worse than b: final loss 2.57% higher (95% interval 1.6"));
}

TEST_CASE("verdict: no difference") {
  const Verdict verdict = of(make_arm("a", {1, 1, 1}), make_arm("b", {1.01, 0.99, 1.003}));
  CHECK(verdict.judgement == Judgement::no_difference);
  CHECK_THAT(verdict.sentence, StartsWith("no difference between b and a: final loss 0.1% higher (95% interval -2.4") &&
                                   Contains("over 3 paired seeds"));
  const Verdict itself = of(make_arm("a", {1, 2, 3}), make_arm("a", {1, 2, 3}));
  CHECK(itself.judgement == Judgement::no_difference);
  CHECK_THAT(itself.sentence, StartsWith("no difference between a and a: the same final loss with each of 3 paired"));
}

TEST_CASE("verdict: seeds are paired by number, and those without a partner are named") {
  Arm a = make_arm("a", {1, 2, 3, 4}), b = make_arm("b", {1, 2, 3, 4});
  a.runs.erase(a.runs.begin());
  b.runs.pop_back();
  const Verdict verdict = of(a, b);
  CHECK(verdict.seeds == std::vector<std::uint32_t>{2, 3});
  CHECK(verdict.difference.relative.mean == 0);
  CHECK(verdict.warnings ==
        std::vector<std::string>{"seed 4 of a without a pair in b", "seed 1 of b without a pair in a"});
}

TEST_CASE("verdict: too few seeds") {
  const Verdict single = of(make_arm("a", {2}), make_arm("b", {3}));
  CHECK(single.judgement == Judgement::too_few_seeds);
  CHECK_THAT(single.sentence, StartsWith("too few seeds to judge b against a: final loss 50% higher with seed 1, the "
                                         "only pair (two are needed); learning rate 0.01"));
  Arm other = make_arm("b", {1, 2});
  other.runs.erase(other.runs.begin());
  CHECK_THAT(of(make_arm("a", {2}), other).sentence, Contains("no seed finished in both (two are needed)"));
}

TEST_CASE("verdict: where a run diverged, those that did not are no judges") {
  Arm a = make_arm("a", {1, 1, 1, 1}), b = make_arm("b", {0.5, 0.5, 0.5, 0.5});
  b.runs[1] = diverged(b.runs[1]);
  b.runs[3] = diverged(b.runs[3]);
  const Verdict verdict = of(a, b);
  CHECK(verdict.judgement == Judgement::not_comparable_diverged);
  CHECK(verdict.seeds == std::vector<std::uint32_t>{1, 3});
  CHECK_THAT(verdict.sentence, StartsWith("b and a are not comparable: b diverged with seeds 2, 4 of 4; where both "
                                          "finished, final loss 50% lower (95% interval -50% to -50%"));
  CHECK(verdict.warnings == std::vector<std::string>{"b: seed 2 diverged: the loss is not finite (out/2.h5)",
                                                     "b: seed 4 diverged: the loss is not finite (out/4.h5)"});
  a.runs[0] = diverged(a.runs[0]);
  CHECK_THAT(of(a, b).sentence, Contains("b diverged with seeds 2, 4 of 4, a diverged with seed 1 of 4; where both "
                                         "finished, final loss 50% lower with seed 3, the only pair"));
  for (Run& run : b.runs) run = diverged(run);
  CHECK_THAT(of(a, b).sentence,
             Contains("b diverged with seeds 1, 2, 3, 4 of 4, a diverged with seed 1 of 4; learning"));
}

TEST_CASE("verdict: a run that stopped or failed is left out of the pairs and named") {
  const Arm a = make_arm("a", {1, 1, 1});
  Arm b = make_arm("b", {2, 2, 2.01});
  b.runs[0].summary.status = sim::RunStatus::failed;
  b.runs[0].summary.reason = "the disk is full";
  const Verdict verdict = of(a, b);
  CHECK(verdict.judgement == Judgement::worse);
  CHECK(verdict.seeds == std::vector<std::uint32_t>{2, 3});
  CHECK(verdict.warnings == std::vector<std::string>{"b: seed 1 failed: the disk is full (out/1.h5)"});
}

TEST_CASE("verdict: arms that saw other numbers of samples") {
  const Arm a = make_arm("a", {1, 1});
  Arm b = make_arm("b", {1, 1});
  for (Run& run : b.runs) run.evaluations.back().samples = 1280;
  CHECK(of(a, b).warnings == std::vector<std::string>{"a ended after 640 samples, b after 1280"});
}

TEST_CASE("verdict: a loss of zero has no relative difference to another") {
  const Verdict verdict = of(make_arm("a", {0, 1}), make_arm("b", {1, 1}));
  CHECK(verdict.judgement == Judgement::undefined);
  CHECK_THAT(verdict.sentence, StartsWith("b and a have no relative difference: a final loss of a is 0"));
}

TEST_CASE("verdict: a learning rate that the log does not tell") {
  const Arm a = make_arm("a", {1, 1});
  CHECK_THAT(judge(a, a, {}, {}).sentence, EndsWith("learning rate unknown against unknown"));
}
