// `onebit price` for workloads with embedding tables, as a user runs it.

#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

Arguments dlrm(const Arguments& more, const std::string& workers = "8") {
  return joined({"price", "--workload", "dlrm-mlperf", "--batch", "8192", "--workers", workers, "--cluster", "ib100"},
                more);
}

double number_in(const std::string& json, const std::string& key) {
  CAPTURE(json, key);
  const std::string value = json_value(json, key);
  REQUIRE_FALSE(value.empty());
  return std::stod(value);
}

void check_refused(const Arguments& arguments, const std::string& what, const std::string& hint) {
  const Outcome run = run_onebit(Folder(), arguments);
  CAPTURE(run.out);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains(what) && Contains(hint));
}

}  // namespace

TEST_CASE("price: the stages of a step with tables, as text and as JSON") {
  const Arguments coded = {"--boundary.codec", "dct-mp", "--boundary.k", "0.05"};
  const Outcome text = run_onebit(Folder(), dlrm(coded));
  CAPTURE(text.out, text.err);
  REQUIRE(text.status == 0);
  CHECK(text.err.empty());
  CHECK_THAT(text.out, Contains("adam, dct-mp") && Contains("26 tables split by table, the largest share 1.23x"));
  CHECK_THAT(text.out, Contains("embeddings sent forward: 76.34 MB, by the busiest GPU 11.74 MB") &&
                           Contains("with dense adam") && Contains("speed-up over dense adam"));
  CHECK_THAT(text.out, Contains("bottom layers, forward") && Contains("embedding tables 41.26 GB") &&
                           Contains("\nnot shown: exchanges slow computing down by "));
  const Outcome json = run_onebit(Folder(), dlrm(joined(coded, {"--json"})));
  REQUIRE(json.status == 0);
  CHECK(json_value(json.out, "boundary") == "\"dct-mp\"");
  CHECK(json_value(json.out, "tables") == "\"table\"");
  CHECK(number_in(json.out, "imbalance") == Approx(32 / 26.0));
  CHECK(number_in(json.out, "pooled_bytes") == Approx(0.1 * 872'415'232 * 7 / 8));
  double sum = 0;
  for (const std::string part : {"forward", "backward", "communication", "codec", "optimizer"}) {
    sum += number_in(json.out, part + "_seconds");
  }
  CHECK(sum == Approx(number_in(json.out, "step_seconds")));
  const double share = number_in(json.out, "communication_share");
  CHECK(share == Approx(number_in(json.out, "model_parallel_share") + number_in(json.out, "data_parallel_share")));
  CHECK_THAT(run_onebit(Folder(), {"list", "workloads"}).out, Contains("dlrm-kaggle") && Contains("33.76 M rows x 16"));
}

TEST_CASE("price: the rate at which a step with tables is 37% shorter") {
  const Outcome text =
      run_onebit(Folder(), dlrm({"--step.model-ratio", "20", "--step.data-ratio", "100", "--sweep.shorter", "0.37"}));
  CAPTURE(text.out, text.err);
  REQUIRE(text.status == 0);
  CHECK_THAT(text.out, Contains("a step is 37% shorter than dense Adam's at ") &&
                           Contains("Gb/s, the highest effective rate of a node's network link at which that holds") &&
                           Contains("adam, tables /20, gradients /100, "));
  const Outcome json = run_onebit(
      Folder(), dlrm({"--step.model-ratio", "20", "--step.data-ratio", "100", "--sweep.shorter", "0.37", "--json"}));
  CHECK((number_in(json.out, "bytes_per_second") > 25e9 && number_in(json.out, "bytes_per_second") < 50e9));
  CHECK(number_in(json.out, "speedup") == Approx(1 / 0.63).epsilon(1e-3));
  const Outcome never =
      run_onebit(Folder(), dlrm({"--boundary.codec", "fp16", "--sweep.shorter", "0.6", "--step.overlap", "none"}));
  CHECK(never.status == 0);
  CHECK_THAT(never.out, Contains("at no effective rate of a node's network link is a step "));
  const Outcome rails =
      run_onebit(Folder(), dlrm({"--boundary.codec", "fp16", "--sweep.shorter", "0.6", "--cluster.gpus-per-node", "4",
                                 "--cluster.gpu-link", "nvlink3", "--cluster.gpus-per-nic", "2"}));
  CHECK_THAT(rails.out, Contains("of each of a node's 2 network links"));
  check_refused(dlrm({"--sweep.shorter", "0.37"}), "compares with dense Adam", "compress");
  check_refused(dlrm({"--sweep.shorter", "1.37"}), "sweep.shorter", "below 1");
}

TEST_CASE("price: the rates of docs/recommenders-price.md, at which a step is 37% shorter") {
  struct Row {
    std::string batch;
    double counted, honest;  // Gb/s
  };
  for (const Row& row : {Row{"256", 28.0, 23.6}, Row{"2048", 109.5, 98.5}, Row{"8192", 319, 257}}) {
    const auto rate = [&](const Arguments& saving) {
      const Outcome run =
          run_onebit(Folder(), joined({"price", "--workload", "dlrm-mlperf", "--batch", row.batch, "--workers", "8",
                                       "--cluster", "ib100", "--sweep.shorter", "0.37", "--json"},
                                      saving));
      return 8e-9 * number_in(run.out, "bytes_per_second");
    };
    CAPTURE(row.batch);
    CHECK(rate({"--step.model-ratio", "20", "--step.data-ratio", "100"}) == Approx(row.counted).epsilon(0.003));
    CHECK(rate({"--boundary.codec", "dct-mp", "--boundary.k", "0.05", "--optimizer", "ef-sgd", "--codec", "top-k",
                "--codec.k", "0.01"}) == Approx(row.honest).epsilon(0.003));
  }
}

TEST_CASE("price: a workload's file may have tables") {
  const Folder folder;
  const std::string dense = "parameters = 1000000\nbatch = 1000\nforward = 1ms\nbackward = 2ms\n[tables]\n";
  const auto price = [&](const std::string& tables, const Arguments& more = {}) {
    write_file(folder / "mine.ini", dense + tables);
    return run_onebit(folder, joined({"price", "--workload", "mine.ini", "--batch", "1000", "--workers", "4",
                                      "--cluster", "eth10", "--json"},
                                     more));
  };
  const Outcome listed = price("rows = 10000,20000,30000,40000,50000\nwidth = 32\nids = 3\nbottom-share = 0.2\n");
  CAPTURE(listed.out, listed.err);
  REQUIRE(listed.status == 0);
  CHECK(number_in(listed.out, "pooled_bytes") == 4 * 1000 * 5 * 32 * 4 * 3 / 4.0);
  CHECK(number_in(listed.out, "memory_bytes") == Approx(16e6 + 50'000 * 32 * 4));  // the last GPU has the last table
  const Outcome counted = price("count = 4\nwidth = 32\n");
  CHECK(number_in(counted.out, "imbalance") == 1);
  CHECK(number_in(price("count = 4\nwidth = 32\n", {"--tables.split", "row"}).out, "step_seconds") >
        number_in(counted.out, "step_seconds"));
  CHECK(price("count = 4\n").status == 2);
  CHECK(price("count = 4\nwidth = 32\nids = 0\n").status == 2);
  CHECK(price("count = 4\nwidth = 32\nbottom-share = 2\n").status == 2);
  CHECK(price("count = 4\nwidth = 32\nrows = 1,2,3\n").status == 2);
  CHECK_THAT(price("count = 3\nwidth = 32\n").err,
             Contains("4 GPUs, 3 tables") && Contains("--tables.split row or column"));
}

TEST_CASE("price: steps with tables that cannot be priced are refused by name") {
  check_refused(dlrm({}, "27"), "27 GPUs, 26 tables", "row or column");
  check_refused(dlrm({"--accumulation", "4"}), "accumulation 4", "--batch");
  check_refused(dlrm({"--goal", "step.goal"}), "embedding tables", "leave it out");
  check_refused(dlrm({"--step.sharding", "zero1"}), "step.sharding", "leave it out");
  check_refused(dlrm({"--boundary.codec", "dct"}), "boundary.codec dct", "dct-mp");
  check_refused(dlrm({"--boundary.codec", "dct-pm"}), "dct-pm", "dct");
  check_refused(dlrm({"--boundary.codec", "dct-mp", "--boundary.k", "1"}), "boundary.k", "below 1");
  check_refused(dlrm({"--step.model-ratio", "0.5"}), "model-ratio", "from 1");
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "run.h5"})).status == 0);
  const Outcome log = run_onebit(folder, {"price", "run.h5", "--workload", "dlrm-kaggle", "--cluster", "eth1"});
  CHECK(log.status == 2);
  CHECK_THAT(log.err, Contains("cannot be scaled to the embedding tables of this workload") && Contains("run.h5"));
}

TEST_CASE("price: a ranking names the boundary of the tables, which dense Adam has too") {
  const Outcome ranks = run_onebit(Folder(), dlrm({"--boundary.codec", "dct-mp", "--optimizers", "adam,ef-sgd:top-k",
                                                   "--cluster.gpu-memory", "10GB"}));
  CAPTURE(ranks.out, ranks.err);
  REQUIRE(ranks.status == 0);
  CHECK_THAT(ranks.out, Contains("batch 8192 x 1, dct-mp") &&
                            Contains("relative to dense Adam with dct-mp at its tables") &&
                            Contains("memory; use more GPUs.") && !Contains("step.sharding"));
}

TEST_CASE("price: options of tables without effect are named") {
  const auto warning = [](const Arguments& arguments) { return run_onebit(Folder(), arguments).err; };
  const Arguments bert = {"price", "--workload", "bert-base", "--workers", "4", "--cluster", "eth10"};
  CHECK_THAT(warning(joined(bert, {"--boundary.codec", "fp16", "--tables.split", "row"})),
             Contains("--boundary.codec") && Contains("--tables.split") && Contains("with --workload bert-base"));
  CHECK_THAT(warning(dlrm({"--boundary.k", "0.1"})), Contains("--boundary.k has no effect with --boundary.codec fp32"));
  CHECK_THAT(warning(dlrm({"--boundary.codec", "int8", "--boundary.values", "fp16"})), Contains("--boundary.values"));
  CHECK_THAT(warning(dlrm({"--step.bucket", "1MB"})), Contains("--step.bucket"));
  CHECK(warning(dlrm({"--boundary.codec", "top-k", "--boundary.k", "0.1"})).empty());
  // A ratio of the optimizer's exchanges holds for every workload
  CHECK(warning(joined(bert, {"--step.data-ratio", "10"})).empty());
}
