// `onebit freeze`: what it tries, which seeds judge, and what it prints.

#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// Without noise, seeds differ only in their initial weights, and compressed steps explode where d is small.
Arguments quadratic(const Arguments& more) {
  return joined({"freeze",      "--model",          "quadratic", "--model.dimension",
                 "256",         "--model.spectrum", "power:2",   "--data",
                 "none",        "--model.noise",    "0",         "--workers",
                 "2",           "--steps",          "300",       "--optimizer",
                 "onebit-adam", "--optimizer.lr",   "1e-3",      "--optimizer.beta2",
                 "0.99",        "--seeds",          "4",         "-o",
                 "out"},
                more);
}

Index logs_of(const Folder& folder, const std::string& arm) {
  Index count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out")) {
    const std::string name = entry.path().filename().string();
    count += name.starts_with(arm + "-") && name.ends_with(".h5") ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("freeze: one seed chooses, others judge, and the answer stands on one screen") {
  const Folder folder;
  const Outcome result =
      run_onebit(folder, quadratic({"--model.condition", "2", "--margin", "0.5", "--cluster", "eth1"}));
  CAPTURE(result.out, result.err);
  REQUIRE(result.status == 0);
  CHECK(result.out.starts_with("freeze after "));
  CHECK_THAT(result.out, Contains("--freeze fixed:") && Contains("the freeze alone") &&
                             Contains("compression adds (compressed)") && Contains("both together (compressed)") &&
                             Contains("fewer than dense fp16 (saves ") && Contains("time on eth1: ") &&
                             Contains("seed 1 tried freezes (step: cost): ") && Contains("judged by seeds 2, 3") &&
                             Contains("precision: ") && Contains("more --seeds"));
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') <= 24);
  const Outcome json =
      run_onebit(folder, quadratic({"--model.condition", "2", "--margin", "0.5", "--json", "--resume"}));
  REQUIRE(json.status == 0);
  const Index dense = logs_of(folder, "dense"), frozen = logs_of(folder, "frozen"),
              compressed = logs_of(folder, "compressed");
  CHECK(frozen == dense - 1);  // the seed that chose has no frozen run
  CHECK_THAT(json.out, Contains("\"runs\": " + std::to_string(dense + frozen + compressed)) &&
                           Contains("\"verdict_runs\": " + std::to_string(3 * frozen)) &&
                           Contains("\"choosing_seed\": 1") && Contains("\"verdict\": \"safe"));
  CHECK(2 * (dense + frozen + compressed) <= 3 * 9);  // at most half of a full verdict by three seeds
}

TEST_CASE("freeze: the runs of more arms count where it decides how many seeds judge", "[once]") {
  const Folder folder;
  const Outcome result = run_onebit(
      folder, quadratic({"--model.condition", "2", "--margin", "0.5", "--arm", "eight:codec=int8", "--json"}));
  CAPTURE(result.out, result.err);
  REQUIRE(result.status == 0);
  CHECK(logs_of(folder, "compressed") == 5);  // three tries, which leave room for a dense run, and two judging seeds
  CHECK(logs_of(folder, "eight") == 2);
  CHECK_THAT(result.out, Contains("\"judging_seeds\": [2, 3]") && Contains("\"runs\": 12") &&
                             Contains("\"verdict_runs\": 8") && Contains("\"verdict\": \"safe"));
}

TEST_CASE("freeze: where the codec ruins every freeze it says so, and freezes nothing", "[once]") {
  const Folder folder;
  const Outcome result = run_onebit(folder, quadratic({"--model.condition", "1e4", "--margin", "0.5"}));
  CAPTURE(result.out, result.err);
  REQUIRE(result.status == 0);
  CHECK(result.out.starts_with("no freeze step was found: with seed 1, the compressed run costs"));
  CHECK_THAT(result.out, Contains("the cost is due to the codec, not to the freeze"));
  CHECK_THAT(result.out,
             Contains("compression adds (floor)") && Contains("again with --optimizer.variance-floor mean:0.01"));
  CHECK(logs_of(folder, "dense") == 1);
  CHECK(logs_of(folder, "frozen") == 1);
  CHECK(logs_of(folder, "floor") == 1);
  const Outcome own = run_onebit(folder, quadratic({"--model.condition", "1e4", "--margin", "1e-9", "--overwrite",
                                                    "--optimizer.variance-floor", "1e-30"}));
  CAPTURE(own.out, own.err);
  REQUIRE(own.status == 0);
  CHECK(own.out.find("compression adds (floor)") == std::string::npos);
  CHECK_THAT(own.out, Contains("next: try a larger"));
}

TEST_CASE("freeze: for 0/1 Adam it is the step that ends the variance updates", "[once]") {
  const Folder folder;
  const Outcome result = run_onebit(
      folder, quadratic({"--model.condition", "2", "--margin", "0.9", "--optimizer", "zeroone-adam", "--seeds", "3"}));
  CAPTURE(result.out, result.err);
  REQUIRE(result.status == 0);
  CHECK_THAT(result.out, Contains("freeze after ") && Contains(": --optimizer.var-freeze-step "));
  CHECK(result.out.find("--freeze fixed") == std::string::npos);
}

TEST_CASE("freeze: refuses what it cannot vary") {
  const Folder folder;
  const auto refused = [&](const Arguments& command, const std::string& why) {
    const Outcome result = run_onebit(folder, command);
    CAPTURE(result.err);
    CHECK(result.status == 2);
    CHECK_THAT(result.err, Contains(why));
    CHECK(entries(folder).empty());
  };
  refused(quadratic({"--freeze", "fixed:3"}), "freeze sets the freeze step itself");
  refused(quadratic({"--seeds", "2"}), "too few seeds");
  refused(quadratic({"--optimizer", "adam"}), "cannot be judged with this optimizer");
  refused(quadratic({"--cluster", "nowhere"}), "nowhere");
  refused(quadratic({"--measure", "steps"}), "no loss to reach");
}
