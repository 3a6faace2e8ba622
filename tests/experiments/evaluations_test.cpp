// What a run reports and records about evaluations that its options do not set.

#include <sstream>

#include "experiments/output/run_output.hpp"
#include "sim/log/reader.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

std::string recorded(const std::string& log, const std::string& option) {
  const sim::LogReader reader(log);
  for (const auto& [name, value] : reader.header().config) {
    if (name == option) return value;
  }
  return "";
}

}  // namespace

TEST_CASE("a run chooses its evaluations by what it trains on, says so and records it") {
  const Folder folder;
  const Outcome plan = run_onebit(folder, tiny_run("run", {"--dry-run", "--json"}));
  CHECK(json_value(plan.out, "eval.every") == "\"6\"");  // 24 examples are trained on: 12 may be evaluated
  CHECK(json_value(plan.out, "eval.examples") == "\"6\"");
  const Outcome run = run_onebit(folder, tiny_run("run", {"-o", "run.h5"}));
  CHECK_THAT(run.out, Contains("evaluation: 6 of ") && Contains(" examples every 6 steps\n"));
  CHECK(recorded(folder / "run.h5", "eval.every") == "6");
  CHECK(recorded(folder / "run.h5", "eval.examples") == "6");
  CHECK(sim::LogReader(folder / "run.h5").evaluations().size() == 2);
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "given.h5", "--eval.every", "2", "--eval.examples", "5"})).status ==
          0);
  CHECK(recorded(folder / "given.h5", "eval.examples") == "5");
  CHECK(sim::LogReader(folder / "given.h5").evaluations().size() == 4);
}

TEST_CASE("a run that is resumed and made longer keeps the evaluations that it began with", "[once]") {
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--checkpoint.every", "6"})).status == 0);
  const Outcome more = run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--checkpoint.every", "6", "--steps", "600",
                                                           "--resume", "--resume.allow", "steps"}));
  CAPTURE(more.err);
  CHECK(more.status == 0);
  CHECK(recorded(folder / "run.h5", "eval.examples") == "6");
  CHECK(sim::LogReader(folder / "run.h5").evaluations().size() == 101);
}

TEST_CASE("arms that train on different numbers of examples are evaluated on the same ones", "[once]") {
  const Folder folder;
  const Outcome run =
      run_onebit(folder, tiny_run("compare", {"--arm", "few:batch=2", "--arm", "many:batch=5", "-o", "out"}));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  CHECK(recorded(folder / "out/few-1.h5", "eval.examples") == "6");
  CHECK(recorded(folder / "out/many-1.h5", "eval.examples") == "6");
  CHECK(run_onebit(folder, {"analyze", "out"}).status == 0);
}

TEST_CASE("resumed arms are evaluated as they began, and so are new ones", "[once]") {
  const Folder folder;
  const Arguments few = {"--arm", "few:batch=2", "-o", "out"};
  REQUIRE(run_onebit(folder, tiny_run("compare", few)).status == 0);
  const std::string began = recorded(folder / "out/few-1.h5", "eval.examples");
  const Outcome run = run_onebit(folder, tiny_run("compare", joined(few, {"--arm", "many:batch=5", "--resume"})));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  CHECK(recorded(folder / "out/many-1.h5", "eval.examples") == began);
}

TEST_CASE("a run on made clicks says how good a model can be") {
  sim::PreparedRun run;
  run.config.steps = 3;
  for (const double holdout : {0.1, 0.0}) {
    run.config.data = {.name = "clicks", .holdout = holdout, .examples = 400, .rows = "20"};
    run.resources.data = sim::make_data(run.config.data);
    std::ostringstream out;
    experiments::print_start(run, out);
    const std::string what = holdout > 0 ? "40 held-out" : "400 training";
    CHECK_THAT(out.str(), Contains("\nceiling: on the " + what + " examples, the teacher has log loss "));
  }
}
