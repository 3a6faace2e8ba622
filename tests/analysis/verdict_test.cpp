#include "analysis/compare/verdict.hpp"

#include <cmath>

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
  return {mean, mean - half_width, mean + half_width, 1, pairs, half_width};
}

/// Returns an arm whose losses are those of another times exp(difference), so that the logarithms of the ratios are
/// these differences.
Arm shifted(const std::string& name, const std::vector<double>& losses, const std::vector<double>& differences) {
  std::vector<double> others;
  for (std::size_t i = 0; i < losses.size(); ++i) others.push_back(losses[i] * std::exp(differences[i]));
  return make_arm(name, others);
}

}  // namespace

TEST_CASE("verdict: by the interval and the margin alone") {
  constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
  CHECK(judge(difference(0.1, 0.2, 3)) == Judgement::not_resolved);
  CHECK(judge(difference(-0.1, 0.1, 3)) == Judgement::not_resolved);
  CHECK(judge(difference(-0.1, 0.1, 3), 0.2) == Judgement::equivalent);
  CHECK(judge(difference(0.1, 0.2, 3), 0.29) == Judgement::not_resolved);
  CHECK(judge(difference(0.3, 0.2, 3)) == Judgement::worse);
  CHECK(judge(difference(-0.3, 0.2, 3)) == Judgement::better);
  CHECK(judge(difference(0.3, 0.2, 3), 0.6) == Judgement::worse);
  CHECK(judge(difference(0, 0, 2)) == Judgement::equivalent);
  CHECK(judge(difference(0.3, 0, 2)) == Judgement::worse);
  CHECK(judge(difference(0.3, nan_value, 1)) == Judgement::too_few_seeds);
  CHECK(judge(difference(nan_value, nan_value, 0)) == Judgement::too_few_seeds);
  CHECK(judge(difference(nan_value, nan_value, 5)) == Judgement::undefined);
  CHECK(within_margin(difference(0.005, 0.005, 3), 0.01));
  CHECK_FALSE(within_margin(difference(-0.005, 0.0051, 3), 0.01));
  CHECK_FALSE(within_margin(difference(nan_value, nan_value, 5), 0.01));
  CHECK_FALSE(within_margin(difference(0, nan_value, 1), 0.01));
}

TEST_CASE("verdict: better and worse, with interval, pairs, p and learning rates") {
  // mean of the logarithms -0.025, t(3 degrees) = 3.182446, deviation 0.0057735: -0.025 ± 0.0091870
  const Arm a = make_arm("a", {1, 2, 1, 2}), b = shifted("b", {1, 2, 1, 2}, {-0.02, -0.02, -0.03, -0.03});
  const Verdict better = of(a, b);
  CHECK(better.judgement == Judgement::better);
  CHECK(better.baseline == "a");
  CHECK(better.arm == "b");
  CHECK(better.seeds == std::vector<std::uint32_t>{1, 2, 3, 4});
  CHECK(better.difference.mean == Approx(std::exp(-0.025) - 1));
  CHECK(better.difference.low == Approx(std::exp(-0.0341870) - 1).epsilon(1e-5));
  CHECK(better.difference.high == Approx(std::exp(-0.0158130) - 1).epsilon(1e-5));
  CHECK(better.difference.p == 0.125);
  CHECK(better.warnings.empty());
  CHECK(better.sentence ==
        "b is better than a: final loss 2.47% lower (95% interval -3.36% to -1.57%, Student's t over 4 paired seeds; "
        "sign-flip test: p = 0.125, the least possible); learning rate 0.01 (of 3 tried) against 0.001 "
        "(the only one tried)");
  const Verdict worse = of(b, a);
  CHECK(worse.judgement == Judgement::worse);
  CHECK_THAT(worse.sentence, StartsWith("a is worse than b: final loss 2.53% higher (95% interval 1.59% to 3.48%"));
}

TEST_CASE("verdict: accuracies differ by points, over the same pairs") {
  Arm a = make_arm("a", {1, 1, 1}), b = make_arm("b", {1.01, 0.99, 1.003});
  const double before[] = {0.8, 0.81, 0.82}, after[] = {0.77, 0.77, 0.79};
  for (std::size_t seed = 0; seed < 3; ++seed) {
    a.runs[seed].summary.accuracy = before[seed];
    b.runs[seed].summary.accuracy = after[seed];
  }
  // differences -0.03, -0.04, -0.03: deviation 0.0057735, t(2 degrees) 4.302653
  const Verdict verdict = of(a, b);
  const Interval accuracy = verdict.accuracy;
  CHECK(accuracy_text(verdict) ==
        "accuracy is 3.33 points lower (95% interval -4.77 to -1.9, not counted among the comparisons)");
  CHECK(accuracy.mean == Approx(-0.1 / 3));
  CHECK(accuracy.half_width == Approx(4.302653 * 0.0057735 / std::sqrt(3.0)).epsilon(1e-5));
  for (std::size_t seed = 0; seed < 3; ++seed) {  // of models with an AUC, the AUC counts, in its own unit
    a.runs[seed].summary.auc = before[seed];
    b.runs[seed].summary.auc = after[seed];
  }
  CHECK(accuracy_text(of(a, b)) ==
        "AUC is 0.0333 lower (95% interval -0.0477 to -0.019, not counted among the comparisons)");
  for (Run& run : a.runs) run.summary.auc = std::numeric_limits<double>::quiet_NaN();
  a.runs[1].summary.accuracy = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(of(a, b).accuracy.mean));
  CHECK(accuracy_text(of(a, b)).empty());
}

TEST_CASE("verdict: what the seeds do not tell is not resolved, and it says how many would") {
  // logarithms: mean 0.001, deviation 0.0101489; t(2 degrees) 4.302653: ± 0.0252113; 1% is 0.0099503
  const Arm a = make_arm("a", {1, 1, 1}), b = shifted("b", {1, 1, 1}, {0.01, -0.01, 0.003});
  const Verdict verdict = of(a, b);
  CHECK(verdict.judgement == Judgement::not_resolved);
  CHECK_FALSE(verdict.equivalent);
  CHECK(verdict.difference.agreeing == 2);   // higher, as the mean is, in two of three pairs
  CHECK(of(b, a).difference.agreeing == 2);  // lower
  CHECK(verdict.visible == 0.01);
  // t(10 degrees) 2.228139 + 0.879058: (3.107197 * 1.019956)^2 = 10.04 <= 11; with 10: (3.145561 * 1.019956)^2 = 10.29
  CHECK(verdict.seeds_needed == 11);
  // t(13 degrees) at 97.5% and 90%: ((2.160369 + 1.350171) * 1.019956)^2 = 12.82 <= 14; with 13: 13.0003
  CHECK(verdict.seeds_for_equivalence == 14);
  CHECK_THAT(
      verdict.sentence,
      StartsWith("b and a cannot be told apart (detecting 1% takes about 11 seeds, showing equivalence within 1% "
                 "about 14 seeds if the losses agree): final loss 0.1% higher (95% interval -2.39% to 2.66%, "
                 "Student's t over 3 paired seeds"));
  CHECK_THAT(verdict.sentence, !Contains("no difference"));
  // logarithms from -0.19 to 0.58 over three seeds: mean 0.195, half width 0.385, deviation 0.155
  const double wide = 0.385 * std::sqrt(3.0) / 4.302653;
  const Verdict noise = of(a, shifted("b", {1, 1, 1}, {0.195 - wide, 0.195, 0.195 + wide}));
  CHECK(noise.judgement == Judgement::not_resolved);
  CHECK_THAT(noise.sentence, Contains("(95% interval -17.3% to 78.6%"));
  CHECK(noise.seeds_needed > 1900);  // (1.959964 + 0.841621)^2 * 15.576^2 = 1904.2, and a little for t
  CHECK(noise.seeds_needed < 1910);
  // For 0.195, with 8 seeds: (2.364624 + 0.896030)^2 * 0.79478^2 = 6.7 <= 8; with 7: (2.446912 + 0.905703)^2 *
  // 0.79478^2 = 7.1
  CHECK(noise.seeds_for_seen == 8);
  CHECK(noise.seeds_for_equivalence == 0);  // its mean lies beyond the margin
  // mean 3.4539, deviation 4.8845; with 18 seeds: (2.109816 + 0.863279)^2 * 2 = 17.7 <= 18; with 17: (2.119905 +
  // 0.864667)^2 * 2 = 17.8
  const Verdict wild = of(make_arm("a", {1e-3, 1e-3}), make_arm("b", {1e-3, 1}));
  CHECK_THAT(wild.sentence,
             Contains("told apart (detecting 1% takes more than 1000 seeds, the observed difference about 18 seeds)"));
  const double even = 2 * std::sqrt(3.0) / 4.302653;  // mean 0.02, half width 2
  const Verdict hopeless = of(a, shifted("b", {1, 1, 1}, {0.02 - even, 0.02, 0.02 + even}));
  CHECK_THAT(hopeless.sentence, Contains("the observed difference more than 1000 seeds"));
}

TEST_CASE("verdict: an arm that is behind and still falls is no slower arm, but an unfinished one") {
  // evaluations every 100 of 1000 steps; `late` is the loss at step 900, that is, where the last tenth begins
  const auto arm = [](const std::string& name, const std::vector<double>& finals, double late) {
    Arm made = make_arm(name, finals);
    for (Run& run : made.runs) {
      const double last = run.summary.final_loss;
      run.evaluations.clear();
      for (Index step = 0; step <= 1000; step += 100) {
        run.evaluations.push_back({.step = step,
                                   .samples = step,
                                   .loss = step < 900    ? 5
                                           : step < 1000 ? late * last
                                                         : last});
      }
    }
    return made;
  };
  const Arm settled = arm("a", {1, 1.01}, 1.005), falling = arm("b", {1.3, 1.32}, 1.08);
  const std::vector<std::string> expected = {
      "the loss of b was still falling when its runs ended, by 7.41% or more over the last tenth of the steps, but the "
      "loss of a by 0.498% or less: a longer run may change the order"};
  CHECK(of(settled, falling).warnings == expected);
  CHECK(of(falling, settled).warnings == expected);                  // whichever is the baseline
  CHECK(of(settled, arm("b", {1.3, 1.32}, 1.02)).warnings.empty());  // falls by less than twice the margin more
  CHECK(of(settled, arm("b", {0.9, 0.91}, 1.08)).warnings.empty());  // is ahead already
  Arm others = falling;
  for (Run& run : others.runs) run.summary.seed += 10;
  for (const std::string& warning : of(settled, others).warnings) CHECK_THAT(warning, !Contains("falling"));
  Arm coarse = settled;
  for (Run& run : coarse.runs) run.evaluations.erase(run.evaluations.begin(), run.evaluations.begin() + 8);
  CHECK(of(coarse, falling).warnings.empty());  // too few evaluations to tell
  Arm distant = falling;
  for (Run& run : distant.runs) run.evaluations.erase(run.evaluations.end() - 2);
  for (const std::string& warning : of(settled, distant).warnings) CHECK_THAT(warning, !Contains("falling"));
}

TEST_CASE("verdict: a difference of the last evaluation alone is named where losses rise and fall") {
  // 16 evaluations, the last four of them in the last fifth of the steps, for three seeds that differ by `shifts`
  const auto arm = [](const std::string& name, const std::vector<double>& late, const std::vector<double>& shifts) {
    Arm made{name, {}, {}};
    for (std::size_t seed = 0; seed < shifts.size(); ++seed) {
      std::vector<double> losses(12, 5.0);
      for (const double loss : late) losses.push_back(loss + shifts[seed]);
      made.runs.push_back(make_run({}, static_cast<std::uint32_t>(seed + 1), losses));
      for (std::size_t i = 0; i < losses.size(); ++i)
        made.runs.back().evaluations[i].step = static_cast<Index>(10 * i);  // to 150; the last fifth begins at 120
    }
    return made;
  };
  const std::vector<double> none = {0, 0, 0}, some = {0.01, -0.01, 0};
  const Verdict hinges = of(arm("a", {1, 1.3, 1, 1.3}, none), arm("b", {1.3, 1, 1.3, 1}, some));
  CHECK(hinges.judgement == Judgement::better);
  CHECK(hinges.hinges_on_last);
  // log(1.16 / 1.15), log(1.14 / 1.15), 0: mean -0.0000252, deviation 0.0086959, t(2 degrees) 4.302653: ± 0.0216017
  CHECK(hinges.warnings ==
        std::vector<std::string>{
            "averaged over the evaluations in the last fifth of the steps, the losses of b and a "
            "cannot be told apart (95% interval -2.14% to 2.18%): the verdict hinges on the last "
            "evaluation, and in that fifth, losses rise by up to 30.3% from one evaluation to the next"});
  const Verdict holds = of(arm("a", {1.3, 1.2, 1.3, 1.3}, none), arm("b", {1, 1.1, 1, 1}, some));
  CHECK((holds.judgement == Judgement::better && !holds.hinges_on_last));  // the means differ, too
  const Verdict meets = of(arm("a", {1, 1.3, 1, 1.3}, none), arm("b", {1.2, 1.3, 1.25, 1.3}, none));
  CHECK((meets.judgement == Judgement::equivalent && meets.hinges_on_last));
  REQUIRE(meets.warnings.size() == 1);
  CHECK_THAT(meets.warnings[0], Contains("of b and a differ (b is higher: 95% interval 9.78% to 9.78%)"));
  const Verdict calm = of(arm("a", {1, 1, 1, 1}, none), arm("b", {1.06, 1, 1, 0.9}, some));
  CHECK((calm.judgement == Judgement::better && !calm.hinges_on_last));  // no loss rises: the last is the best
  // The last evaluation alone does not tell arms apart that differ before.
  Arm noisy = arm("b", {1.1, 1.3, 1.2, 1}, none);
  for (std::size_t seed = 0; seed < 3; ++seed) {
    const double last = std::vector{1.2, 1.0, 0.9}[seed];
    noisy.runs[seed].evaluations.back().loss = noisy.runs[seed].summary.final_loss = last;
  }
  // ln 1.2, ln 1.15, ln 1.125: mean 0.14662, deviation 0.032811: ± 0.081507
  const Verdict open = of(arm("a", {1, 1, 1, 1}, none), noisy);
  CHECK((open.judgement == Judgement::not_resolved && open.hinges_on_last));
  REQUIRE(open.warnings.size() == 1);
  CHECK_THAT(open.warnings[0],
             Contains("the losses of b and a differ (b is higher: 95% interval 6.73% to 25.6%): the verdict hinges"));
}

TEST_CASE("verdict: losses more than twice as high are ratios, and no percentage is impossible") {
  const auto sentence = [](const std::vector<double>& a, const std::vector<double>& b) {
    return of(make_arm("a", a), make_arm("b", b)).sentence;
  };
  CHECK_THAT(sentence({0.01, 0.01}, {1.01254, 1.01254}),
             Contains("final loss 101 times as high (95% interval 101 to 101 times as high, Student's t"));
  // 7 ± 12.706205 * 0.1
  CHECK_THAT(of(make_arm("a", {1e-3, 1e-3}), shifted("b", {1e-3, 1e-3}, {6.9, 7.1})).sentence,
             Contains("final loss 1097 times as high (95% interval 308 to 3907 times as high, Student's t"));
  // sqrt(6); 0.895880 ± 12.706205 * 0.202733
  CHECK_THAT(sentence({1, 1}, {2, 3}),
             Contains("final loss 2.45 times as high (95% interval 0.186 to 32.2 times as high"));
  // sqrt(9.5 * 9.9); 2.271919 ± 12.706205 * 0.020621
  CHECK_THAT(sentence({1, 1}, {9.5, 9.9}),
             Contains("final loss 9.7 times as high (95% interval 7.46 to 12.6 times as high"));
  CHECK_THAT(sentence({1, 1}, {2.4, 2.6}),
             Contains("final loss 2.5 times as high (95% interval 1.5 to 4.15 times as high"));
  CHECK_THAT(sentence({1, 1}, {1.7, 1.8}), Contains("final loss 74.9% higher (95% interval 21."));
  CHECK_THAT(sentence({1, 1}, {0.01, 8}), Contains("95% interval less than 1e-06 to more than 1e+12 times as high"));
  CHECK_THAT(sentence({1, 1}, {0.01, 0.0101}), Contains("final loss 99% lower (95% interval -99.1% to -98.9%"));
  // Where the baseline's loss is not above 0, there is no ratio.
  CHECK_THAT(sentence({-0.1, -0.1}, {1.9, 2.1}), Contains("final loss 2100% higher (95% interval 829% to 3371%"));
}

TEST_CASE("verdict: numbers of seeds that would be needed are as exact as they are useful") {
  CHECK(seeds_needed_text(99) == "about 99 seeds");
  CHECK(seeds_needed_text(523) == "about 520 seeds");
  CHECK(seeds_needed_text(1000) == "about 1000 seeds");
  CHECK(seeds_needed_text(1001) == "more than 1000 seeds");
}

TEST_CASE("verdict: what p of the sign-flip test a number of seeds can give is said where it cannot be small") {
  CHECK(least_p(3) == 0.25);
  CHECK(least_p(6) == 0.03125);
  CHECK(least_p(16) == 0x1p-15);
  CHECK(least_p(30) == 1.0 / 65537);  // from 17 pairs on, p counts drawn assignments and the observed one
  CHECK(p_text({0.1, 0, 0.2, 0.25, 3, 0.1}) == "p = 0.25, the least possible");
  CHECK(p_text({0.1, 0, 0.2, 0.75, 3, 0.1}) == "p = 0.75");
  CHECK(p_text({0.1, 0, 0.2, 0.03125, 6, 0.1}) == "p = 0.0312");
}

TEST_CASE("verdict: learning rates are stated once") {
  const Arm a = make_arm("adam, lr 0.001", {1, 2}, {{"optimizer.lr", "0.001"}});
  const Arm b = make_arm("onebit, lr 0.01", {1, 3}, {{"optimizer.lr", "0.01"}});
  const Rates low{0.001, {0.001, 0.01}}, high{0.01, {0.001, 0.01}};
  CHECK_THAT(judge(a, b, low, high).sentence, !Contains("learning rate"));  // the names say it
  CHECK_THAT(judge(a, a, one, one).sentence, !Contains("learning rate"));
  const Arm tables = make_arm("tables.lr 0.001", {1, 2}, {{"optimizer.lr", "0.001"}, {"tables.lr", "0.001"}});
  CHECK_THAT(judge(tables, tables, one, one).sentence, EndsWith("; learning rate 0.001 for both, the only one tried"));
  CHECK_THAT(judge(make_arm("a", {1, 2}), make_arm("b", {1, 3}), low, high).sentence,
             EndsWith("; learning rate 0.01 against 0.001, of the same 2 tried"));
  CHECK_THAT(judge(make_arm("a", {1, 2}), make_arm("b", {1, 3}), one, one).sentence,
             EndsWith("; learning rate 0.001 for both, the only one tried"));
  CHECK_THAT(judge(a, b, one, high).sentence, EndsWith("; learning rate 0.01 (of 2 tried) against 0.001 (the only "
                                                       "one tried)"));
}

TEST_CASE("verdict: where the seeds suffice for the margin, those that see half of it are named") {
  std::vector<double> losses, differences;
  for (int i = 0; i < 12; ++i) {
    losses.push_back(1);
    differences.push_back(0.0049 + (i % 2 == 0 ? 0.0095 : -0.0095));  // mean 0.0049, deviation 0.0099225: ± 0.0063
  }
  const Verdict verdict = of(make_arm("a", losses), shifted("b", losses, differences));
  CHECK(verdict.judgement == Judgement::not_resolved);
  CHECK(verdict.visible == 0.005);
  CHECK(verdict.seeds_needed == 34);  // ((2.034515 + 0.852935) * 1.989456)^2 = 33.00 <= 34; with 33: 33.06
  // for 1%, ((2.178813 + 1.356217) * 0.997202)^2 = 12.43 <= 13; with 12: 12.63
  CHECK_THAT(verdict.sentence, Contains("(detecting 0.5% takes about 34 seeds, showing equivalence within 1% about "
                                        "13 seeds if the losses agree):"));
}

TEST_CASE("verdict: equivalent is what lies within the margin, which it names") {
  const Arm a = make_arm("a", {1, 1, 1}), b = shifted("b", {1, 1, 1}, {0.001, -0.001, 0.0003});
  const Verdict verdict = of(a, b);
  CHECK(verdict.judgement == Judgement::equivalent);
  CHECK(verdict.equivalent);
  CHECK(verdict.seeds_needed == 0);
  CHECK_THAT(verdict.sentence,
             StartsWith("b and a are equivalent within 1%: final loss 0.01% higher (95% interval -0.24"));
  CHECK(judge(a, b, one, one, {.margin = 0.002}).judgement == Judgement::not_resolved);
  const Verdict itself = of(make_arm("a", {1, 2, 3}), make_arm("a", {1, 2, 3}));
  CHECK(itself.judgement == Judgement::equivalent);
  CHECK_THAT(itself.sentence,
             StartsWith("a and a are equivalent within 1%: the same final loss with each of 3 paired"));
  const Verdict small = of(make_arm("a", {1, 1, 1}), shifted("b", {1, 1, 1}, {0.002, 0.0021, 0.0022}));
  CHECK(small.judgement == Judgement::worse);
  CHECK(small.equivalent);
  CHECK_THAT(small.sentence, StartsWith("b is worse than a, yet equivalent within 1%: final loss 0.21% higher"));
}

TEST_CASE("verdict: the level is corrected for the number of comparisons, and it is said") {
  // logarithms: mean 0.03, deviation 0.01; half width 0.0248414 at 95%, 0.0441607 at 98.33%
  const Arm a = make_arm("a", {1, 1, 1}), b = shifted("b", {1, 1, 1}, {0.02, 0.03, 0.04});
  CHECK(judge(a, b, one, one).judgement == Judgement::worse);
  const Verdict third = judge(a, b, one, one, {.comparisons = 3});
  CHECK(third.criterion.level_of_each() == Approx(1 - 0.05 / 3));
  CHECK(std::log1p(third.difference.high) == Approx(0.03 + 7.648804 * 0.01 / std::sqrt(3.0)).epsilon(1e-5));
  CHECK(third.judgement == Judgement::not_resolved);
  CHECK_THAT(third.sentence, Contains("(98.3% interval -1.41% to 7.7%, Student's t"));
  // t at 99.1667% and 80%, 13 degrees: ((2.745939 + 0.870152) * 1.004992)^2 = 13.21 <= 14; 12 degrees: 13.47 > 13
  CHECK(third.seeds_needed == 14);
  CHECK(text_of(Criterion{.comparisons = 3}) ==
        "3 comparisons, each judged by its 98.3% interval (95% for all together, by Bonferroni)");
  // Words are explained where a verdict uses them.
  CHECK_THAT(text_of(std::vector{third}), EndsWith("; the numbers of seeds are rough estimates, for a power of 80%") &&
                                              !Contains("equivalent means"));
  CHECK(text_of(std::vector{judge(a, a, one, one, {.margin = 0.005})}) ==
        "1 comparison, judged by its 95% interval; equivalent means an interval within ±0.5%");
  CHECK_THAT(text_of(Criterion{.comparisons = 1000}), Contains("99.995% interval"));
}

TEST_CASE("verdict: seeds are paired by number, and those without a partner are named") {
  Arm a = make_arm("a", {1, 2, 3, 4}), b = make_arm("b", {1, 2, 3, 4});
  a.runs.erase(a.runs.begin());
  b.runs.pop_back();
  const Verdict verdict = of(a, b);
  CHECK(verdict.seeds == std::vector<std::uint32_t>{2, 3});
  CHECK(verdict.difference.mean == 0);
  CHECK(verdict.warnings ==
        std::vector<std::string>{"b has no run with seed 4, unlike a", "a has no run with seed 1, unlike b"});
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

TEST_CASE("verdict: if a run diverged, those that did not cannot judge") {
  Arm a = make_arm("a", {1, 1, 1, 1}), b = make_arm("b", {0.5, 0.5, 0.5, 0.5});
  b.runs[1] = diverged(b.runs[1]);
  b.runs[3] = diverged(b.runs[3]);
  const Verdict verdict = of(a, b);
  CHECK(verdict.judgement == Judgement::not_comparable_diverged);
  CHECK(verdict.seeds == std::vector<std::uint32_t>{1, 3});
  CHECK_THAT(verdict.sentence, StartsWith("b and a are not comparable: b diverged on 2 of 4 seeds (2, 4); where both "
                                          "finished, final loss 50% lower (95% interval -50% to -50%"));
  CHECK(verdict.warnings == std::vector<std::string>{"b: seed 2 diverged: the loss is not finite (out/2.h5)",
                                                     "b: seed 4 diverged: the loss is not finite (out/4.h5)"});
  a.runs[0] = diverged(a.runs[0]);
  CHECK_THAT(of(a, b).sentence,
             Contains("b diverged on 2 of 4 seeds (2, 4), a diverged on 1 of 4 seeds (1); where both "
                      "finished, final loss 50% lower with seed 3, the only pair"));
  for (Run& run : b.runs) run = diverged(run);
  CHECK_THAT(of(a, b).sentence,
             Contains("b diverged on 4 of 4 seeds (1, 2, 3, 4), a diverged on 1 of 4 seeds (1); learning"));
}

TEST_CASE("verdict: one seed is enough to see that an arm did not train") {
  const Verdict verdict = of(make_arm("a", {1}), make_arm("b", {1e9}));
  CHECK(verdict.judgement == Judgement::not_comparable_untrained);
  CHECK_THAT(verdict.sentence,
             StartsWith("b and a are not comparable: b ended at a loss of 1e+09, above its starting loss of 10"));
  CHECK(of(make_arm("a", {1}), make_arm("b", {2})).judgement == Judgement::too_few_seeds);
}

TEST_CASE("verdict: an arm that ended above the loss of its start did not train, and seeds would not decide more") {
  const Arm a = make_arm("a", {1, 1.1, 0.9}), b = make_arm("b", {20, 3e3, 1e9}), c = make_arm("c", {11, 4e4, 1e7});
  const Verdict verdict = of(a, b);
  CHECK(verdict.judgement == Judgement::not_comparable_untrained);
  CHECK(name(verdict.judgement) == "not_comparable_untrained");
  CHECK(verdict.seeds_needed == 0);
  CHECK_THAT(verdict.sentence, StartsWith("b and a are not comparable: b ended at a loss of 3.33e+08, "
                                          "above its starting loss of 10 (means over 3 seeds); learning rate 0.01"));
  CHECK_THAT(of(make_arm("b", {20, 12}), make_arm("a", {9, 9.9})).sentence,
             StartsWith("a and b are not comparable: b ended at a loss of 16, above its starting loss of 10"));
  CHECK(of(a, make_arm("b", {20, 22, 18})).judgement == Judgement::not_comparable_untrained);
  CHECK_THAT(of(a, make_arm("b", {20, 9, 18})).sentence, Contains(" (means over 3 seeds, of which 2 ended above)"));
  const Verdict near = of(make_arm("a", {9.99, 9.98}), make_arm("b", {10.03, 10.02}));  // both start at 10
  CHECK((near.judgement == Judgement::worse && near.equivalent));
  // Where both blew up, the interval judges.
  CHECK(of(b, c).judgement == Judgement::not_resolved);
  CHECK_THAT(of(b, c).sentence, EndsWith("; both arms ended above their starting losses"));
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
  const std::string consequence = ": their final losses come from different amounts of training";
  const Arm a = make_arm("a", {1, 1});
  Arm b = make_arm("b", {1, 1});
  for (Run& run : b.runs) run.evaluations.back().samples = 1280;
  CHECK(of(a, b).warnings == std::vector<std::string>{"a ended after 640 samples, b after 1280" + consequence});
  for (Run& run : b.runs) run.evaluations.back().samples = 0;
  CHECK(of(a, b).warnings == std::vector<std::string>{"a ended after 640 samples, b after 0" + consequence});
  CHECK(of(b, a).warnings == std::vector<std::string>{"b ended after 0 samples, a after 640" + consequence});
}

TEST_CASE("verdict: a loss of zero has no relative difference to another") {
  const Verdict verdict = of(make_arm("a", {0, 1}), make_arm("b", {1, 1}));
  CHECK(verdict.judgement == Judgement::undefined);
  CHECK_THAT(verdict.sentence,
             StartsWith("the relative difference of b and a is undefined, because a has a final loss of 0"));
}

TEST_CASE("verdict: a learning rate that the log does not tell") {
  const Arm a = make_arm("a", {1, 1});
  CHECK_THAT(judge(a, a, {}, {}).sentence, EndsWith("learning rate unknown against unknown"));
}
