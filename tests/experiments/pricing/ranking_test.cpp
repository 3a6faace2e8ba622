// The table of `price --optimizers`, and its answer in words.

#include "experiments/output/pricing/ranking_output.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::experiments;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

analysis::RankedMethod method(const std::string& name, bool compresses, const analysis::Ranged& speedup) {
  analysis::RankedMethod method;
  method.optimizer = name;
  method.compresses = compresses;
  method.speedup = speedup;
  return method;
}

std::string answer(const std::vector<analysis::RankedMethod>& methods) {
  analysis::Ranking ranking;
  ranking.nodes = 2;
  ranking.methods = methods;
  return answer_of(ranking);
}

Outcome rank(const Arguments& more) {
  return run_onebit(Folder(), joined({"price", "--workload", "bert-large", "--batch", "16", "--workers", "16"}, more));
}

}  // namespace

TEST_CASE("ranking: the answer says that compression pays, or does not, only within all of the uncertainty") {
  const auto onebit = [](double value, double low, double high) {
    return answer({method("onebit-adam", true, {value, low, high}), method("adam", false, {})});
  };
  CHECK(onebit(1.35, 1.301, 1.392) ==
        "Compression pays here: the fastest method that exchanges in every step, onebit-adam, processes 1.35 times "
        "(1.30 to "
        "1.39) as many samples per second as dense Adam.");
  CHECK_THAT(onebit(0.8, 0.7, 0.99),
             StartsWith("Compression does not pay here: ") && Contains(" 0.800 times (0.700 to 0.990)"));
  CHECK_THAT(onebit(0.99, 0.98, 0.995), StartsWith("Compression does not pay here: ") && Contains(" 0.990 times"));
  CHECK_THAT(onebit(1.1, 0.99, 1.3), StartsWith("The predictions are too uncertain to tell whether compression pays"));
  CHECK_THAT(onebit(1.02, 0.94, 1.04),
             StartsWith("The predictions are too uncertain to tell whether compression pays"));
  CHECK_THAT(onebit(1.02, 0.96, 1.06), StartsWith("Compression makes little difference here: the fastest method"));
  CHECK_THAT(onebit(1.051, 1.0, 1.06), StartsWith("Compression pays here"));
  CHECK(answer({method("adam", false, {})}) == "None of these methods compresses and exchanges in every step.");
  CHECK(answer_of({}) == "A single GPU has nothing to exchange.");
}

TEST_CASE("ranking: the answer keeps what exchanging rarely saves apart from what compression saves") {
  const analysis::RankedMethod onebit = method("onebit-adam", true, {2, 1.9, 2.1}), adam = method("adam", false, {});
  analysis::RankedMethod rare = method("zeroone-adam", true, {3, 2.9, 3.1});
  rare.rare = true;
  rare.codec = "sign-l2";
  CHECK_THAT(answer({rare, onebit, adam}),
             StartsWith("Compression pays here: the fastest method that exchanges in every step, onebit-adam, ") &&
                 Contains("\nA method that exchanges less often saves more: zeroone-adam with sign-l2 processes 3.00 "
                          "times (2.90 to 3.10) as many samples per second as dense Adam."));
  CHECK_THAT(answer({rare, adam}),
             StartsWith("None of these methods compresses and exchanges in every step.\nA method that exch"));
  rare.speedup = {1.5, 1.4, 1.6};
  CHECK_THAT(answer({onebit, rare, adam}), !Contains("less often"));
}

TEST_CASE("ranking: all optimizers on a cluster, with the answer at the end", "[once]") {
  const Outcome all = rank({"--cluster", "eth10", "--optimizers", "all"});
  CAPTURE(all.err);
  REQUIRE(all.status == 0);
  CHECK(all.err.empty());
  const std::size_t answer = all.out.find("\n\nA dense step takes ");
  CHECK(answer > all.out.find("not priced: "));
  CHECK_THAT(all.out.substr(answer), Contains(" are hidden behind computation.\nCompression pays here: "));
  CHECK_THAT(line_of(all.out, "the same estimate as for adam:"), Contains("lamb") && Contains("momentum-sgd"));
  CHECK_THAT(line_of(all.out, "not priced: cada1"), Contains("depends on the data"));
  CHECK_THAT(all.out, Contains("\nef-momentum-sgd  power-sgd "));
  CHECK_THAT(all.out, Contains("50% longer or shorter") && Contains("\nA dense step takes "));
  CHECK_THAT(line_of(all.out, "memory of a GPU with dense Adam:"), Contains("at least") && Contains(" of 80 GB"));
  CHECK_THAT(line_of(all.out, "zeroone-adam: a run of"), Contains("666667 steps is assumed; --steps sets it"));
  CHECK_THAT(all.out, Contains("faster than dense Adam's; here a link reaches 8.8 Gb/s") && !Contains("does not fit"));
  CHECK_THAT(rank({"--cluster", "eth10", "--optimizers", "adam", "--cluster.gpu-memory", "5GB"}).out,
             Contains("\nThe model does not fit in a GPU's memory; see --step.sharding.\n"));
  CHECK_THAT(rank({"--cluster", "aws-p4d", "--optimizers", "adam"}).out, Contains(" of 40 GB ("));
  const Outcome json = rank({"--cluster", "eth10,dgx-h100", "--optimizers", "all", "--json"});
  REQUIRE(json.status == 0);
  CHECK_THAT(json.out, StartsWith("{\"clusters\": [") && Contains("\"answer\": \"Compression pays here"));
  CHECK_THAT(json.out, Contains("\"break_even\": \"-\"") && Contains("\"uncertainty\": 0.2"));
}

TEST_CASE("ranking: optimizers may be named with their codecs, and options count where they are read") {
  const Arguments some = {"--cluster", "eth10", "--optimizers", "adam,ef-sgd:top-k,ef-sgd:int8"};
  const Outcome named = rank(joined(some, {"--codec.k", "0.001"}));
  CAPTURE(named.out, named.err);
  REQUIRE(named.status == 0);
  CHECK(named.err.empty());
  CHECK_THAT(named.out, Contains("\nef-sgd     top-k") && Contains("\nef-sgd     int8"));
  CHECK_THAT(rank(joined(some, {"--codec.levels", "3"})).err, Contains("--codec.levels has no effect"));
  CHECK_THAT(rank({"--cluster", "eth10", "--cluster.uncertainty", "0.3"}).err,
             Contains("--cluster.uncertainty has no effect without --optimizers"));
  const Outcome own =
      rank({"--cluster", "eth10,eth25", "--cluster.uncertainty", "0.1", "--optimizers", "adam,signum:top-k"});
  REQUIRE(own.status == 0);
  CHECK_THAT(own.out, Contains("not priced: signum:top-k: the optimizer determines this option") &&
                          Contains("10% longer or shorter") && Contains("None of these methods compresses"));
}

TEST_CASE("ranking: what does not go with it is refused") {
  const auto refusal = [](const Arguments& more) {
    const Outcome refused = rank(joined({"--optimizers", "all", "--cluster", "eth10"}, more));
    CHECK(refused.status == 2);
    return refused.err;
  };
  CHECK_THAT(refusal({"--optimizer", "adam"}),
             Contains("--optimizer") && Contains("cannot be combined with --optimizers"));
  CHECK_THAT(refusal({"--goal", "x"}), Contains("--goal"));
  CHECK_THAT(refusal({"run.h5"}), Contains("--optimizers takes no log"));
  CHECK_THAT(refusal({"--cluster.uncertainty", "-1"}), Contains("uncertainty"));
  const Outcome unknown = rank({"--cluster", "eth10", "--optimizers", "sgd,adamm"});
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.err, Contains("adamm"));
  const auto misnamed = [](const std::string& names) {
    const Outcome refused = rank({"--cluster", "eth10", "--optimizers", names});
    CHECK(refused.status == 2);
    return refused.err;
  };
  CHECK_THAT(misnamed("adam,ef-sgd:topk"), Contains("topk") && Contains("top-k"));
  CHECK_THAT(misnamed("adam:top-k,ef-sgd"), Contains("this optimizer has no codec (--optimizers adam:top-k)"));
  const Outcome nothing = run_onebit(Folder(), {"price", "--optimizers", "all", "--cluster", "eth10"});
  CHECK_THAT(nothing.err, Contains("give --workload NAME"));
}
