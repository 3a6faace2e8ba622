// How often a run is evaluated, and on how many examples, if its options do not set it.

#include "sim/run/config.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::sim;

namespace {

RunConfig run_of(Index workers, Index batch, Index accumulation) {
  RunConfig config;
  config.workers = workers;
  config.batch = batch;
  config.accumulation = accumulation;
  return config;
}

Index times(const EvalConfig& eval, Index steps) {
  return 1 + (steps + eval.every - 1) / eval.every;
}

}  // namespace

TEST_CASE("evaluations that are left open cost at most a quarter of the training") {
  for (const Index workers : {1, 3, 16, 256}) {
    for (const Index batch : {1, 16}) {
      for (const Index accumulation : {1, 5}) {
        for (const Index steps : {1, 2, 7, 30, 100, 2000}) {
          for (const Index size : {1, 40, 1000, 100'000}) {
            for (const Index every : {0, 1, 7}) {
              RunConfig config = run_of(workers, batch, accumulation);
              config.eval.every = every;
              const EvalConfig eval = planned_evaluations(config, steps, size);
              CAPTURE(workers, batch, accumulation, steps, size, every, eval.every, eval.examples);
              const Index evaluated = times(eval, steps) * std::min(eval.examples, size);
              const double share = 0.5 * static_cast<double>(evaluated) /  // as a share of a trained example
                                   static_cast<double>(steps * workers * batch * accumulation);
              const bool least = eval.examples == 1 || size == 1;
              CHECK((share <= 0.25 || least));
              CHECK((eval.every >= 1 && eval.examples >= 1 && eval.examples <= 8192));
              if (every > 0) CHECK(eval.every == every);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("evaluations that a run can afford, and those that are given, stay") {
  const EvalConfig rich = planned_evaluations(run_of(16, 16, 1), 2000, 100'000);
  CHECK((rich.every == 100 && rich.examples == 8192));
  const EvalConfig small = planned_evaluations(run_of(16, 16, 1), 30, 10);
  CHECK((small.every == 1 && small.examples == 8192));  // all ten
  RunConfig given = run_of(1, 1, 1);
  given.eval = {.every = 1, .examples = 100'000};
  const EvalConfig same = planned_evaluations(given, 10, 100'000);
  CHECK((same.every == 1 && same.examples == 100'000));
  given.eval = {.every = 0, .examples = 256};
  CHECK(planned_evaluations(given, 10, 100'000).every == 10);     // before and after
  CHECK(planned_evaluations(given, 5120, 100'000).every == 569);  // 2,560 examples: ten times
}

TEST_CASE("runs on as many examples evaluate as many") {
  for (const Index workers : {1, 2, 4, 8, 16}) {
    const EvalConfig eval = planned_evaluations(run_of(workers, 16, 1), 6400 / workers, 50'000);
    CHECK(eval.examples == planned_evaluations(run_of(1, 16, 1), 6400, 50'000).examples);
  }
}
