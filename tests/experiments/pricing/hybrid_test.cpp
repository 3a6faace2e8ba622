// Commands on models whose workers own tables, or that are cut between workers.
#include "tests/experiments/program.hpp"

using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

/// A short run of a recommendation model on few clicks.
std::vector<std::string> dlrm(const std::string& command, const std::vector<std::string>& more) {
  std::vector<std::string> words = {
      command,   "--model",     "dlrm-nano",   "--workers",     "4",         "--batch", "8",
      "--steps", "6",           "--data.rows", "40,30,20,10,5", "--threads", "1",       "--data.examples",
      "600",     "--optimizer", "sgd",         "--lr",          "0.5"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("hybrid: a run tells the ceiling before it starts, and AUC and bytes at the boundary after it") {
  const Folder folder;
  const Outcome run = run_onebit(folder, dlrm("run", {"--boundary.codec", "dct-mp", "-o", "run.h5"}));
  REQUIRE(run.status == 0);
  CHECK_THAT(run.out, Contains("ceiling: on the 60 held-out examples, the teacher has log loss"));
  CHECK_THAT(run.out, Contains("across the boundary"));
  CHECK_THAT(run.out, Contains(", AUC 0."));
  const Outcome price = run_onebit(folder, {"price", "run.h5", "--cluster", "eth10"});
  CHECK(price.status == 0);
  CHECK_THAT(price.out,
             Contains("boundary: all columns include the exchanges at the boundary") && Contains("speed-up"));
}

TEST_CASE("hybrid: a comparison shows AUC and bytes at the boundary") {
  const Folder folder;
  const Outcome compare =
      run_onebit(folder, dlrm("compare", {"--arm", "dense:boundary.codec=fp32", "--arm", "int8:boundary.codec=int8",
                                          "--seeds", "2", "-o", "arms"}));
  REQUIRE(compare.status == 0);
  CHECK_THAT(compare.out, Contains("at boundary"));
  CHECK_THAT(compare.out, Contains("AUC"));
  CHECK_THAT(read_file(folder / "arms/runs.csv"), Contains(",log,auc,boundary_bytes,boundary_loss,"));
  CHECK_THAT(compare.out, Contains("AUC with codec"));
}

TEST_CASE("hybrid: a cut model runs, is priced and compared with any number of workers from two on") {
  const Folder folder;
  for (const std::string workers : {"2", "3", "4"}) {
    const Outcome run =
        run_onebit(folder, {"run", "--model", "mlp", "--model.cut", "1", "--boundary.codec", "int8", "--data",
                            "synthetic", "--workers", workers, "--steps", "3", "-o", workers + ".h5"});
    CHECK(run.status == 0);
    CHECK_THAT(run.out, Contains("communication per step on eth10"));
  }
  CHECK(run_onebit(folder, {"analyze", "4.h5"}).status == 0);
}

TEST_CASE("hybrid: partial results of DES count as bytes at the boundary") {
  const Folder folder;
  const Outcome run =
      run_onebit(folder, {"run", "--model", "des-lr", "--workers", "4", "--batch", "8", "--steps", "3", "--data.rows",
                          "40,30,20,10,5", "--data.examples", "600", "--optimizer", "adam", "-o", "run.h5"});
  REQUIRE(run.status == 0);
  // One number of 4 bytes for each of 32 examples: a ring sends 2 * 3/4 of 128 bytes in each of 3 steps.
  CHECK_THAT(run.out, Contains("across the boundary") && Contains("each worker sent 576 B\n"));
  const Outcome price = run_onebit(folder, {"price", "run.h5", "--cluster", "eth10", "--json"});
  REQUIRE(price.status == 0);
  CHECK_THAT(price.out, Contains("\"speedup\": 1,"));  // workers exchange no gradients, also in dense Adam's steps
}

TEST_CASE("hybrid: errors name the boundary's own options") {
  const Folder folder;
  const Outcome run = run_onebit(folder, dlrm("run", {"--boundary.codec", "top-k", "--boundary.k", "1.5"}));
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("(boundary.k 1.5); a share in (0, 1), or a whole number of elements"));
}

TEST_CASE("hybrid: a file of weights holds the tables, by name and size") {
  const Folder folder;
  REQUIRE(run_onebit(folder, dlrm("run", {"--weights-out", "w.h5", "-o", "run.h5"})).status == 0);
  const Outcome next = run_onebit(folder, dlrm("run", {"--model.init", "w.h5", "--tables.split", "row", "-o", "n.h5"}));
  CHECK(next.status == 0);
  const Outcome other =
      run_onebit(folder, dlrm("run", {"--model.init", "w.h5", "--data.rows", "40,30,21,10,5", "-o", "o.h5"}));
  CHECK(other.status == 2);
  CHECK_THAT(other.err, Contains("table3 with 320 elements, the model's is table3 with 336 elements"));
}
