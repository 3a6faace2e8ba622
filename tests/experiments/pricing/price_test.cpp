// `onebit price` as a user runs it.

#include "netmodel/cluster/cluster.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

double json_number(const std::string& json, const std::string& key) {
  CAPTURE(json, key);
  const std::string value = json_value(json, key);
  REQUIRE_FALSE(value.empty());
  return std::stod(value);
}

Arguments bert(const Arguments& more) {
  return joined({"price", "--workload", "bert-large", "--batch", "16"}, more);
}

}  // namespace

TEST_CASE("price: an object with every part of the step") {
  const Outcome run = run_onebit(Folder(), bert({"--cluster", "paper-ethernet", "--cluster.nodes", "16",
                                                 "--accumulation", "1", "--optimizer", "adam", "--json"}));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  double sum = 0;
  for (const std::string part : {"forward", "backward", "communication", "codec", "optimizer"}) {
    sum += json_number(run.out, part + "_seconds");
  }
  CHECK(sum == Approx(json_number(run.out, "step_seconds")));
  CHECK(json_number(run.out, "communication_seconds") == Approx(2.27543).epsilon(0.08));
  CHECK(json_number(run.out, "samples_per_second") == Approx(418.4).epsilon(0.08));
  CHECK(json_number(run.out, "nic_bytes_per_node") == Approx(2 * 63 / 64.0 * 2 * 336226108));
  CHECK(json_value(run.out, "algorithm") == "\"ring\"");
  CHECK_FALSE(json_value(run.out, "reason").empty());
}

TEST_CASE("price: stages of a 1-bit optimizer, speed-up and break-even") {
  const Outcome text = run_onebit(Folder(), bert({"--cluster", "paper-ethernet,paper-infiniband", "--workers", "64",
                                                  "--optimizer", "onebit-adam", "--step.codec", "released"}));
  CAPTURE(text.out, text.err);
  CHECK(text.status == 0);
  CHECK_THAT(text.out, Contains("onebit-adam, compression") && Contains("onebit-adam, warmup") &&
                           Contains("16 nodes x 4 GPUs") && Contains("8 nodes x 8 GPUs") &&
                           Contains("network link of node 0 (out)"));
  CHECK_THAT(text.out, Contains("faster at any rate of a node's network link"));  // PCIe is slower than any
  const Outcome json = run_onebit(Folder(), bert({"--cluster", "paper-infiniband", "--workers", "64", "--optimizer",
                                                  "onebit-adam", "--step.codec", "released", "--json"}));
  const double even = json_number(json.out, "break_even_bytes_per_second");
  CHECK((even > 4.03e9 && even < 100e9));
  const auto speedup_at = [&](double rate) {
    const Outcome run =
        run_onebit(Folder(), bert({"--cluster", "paper-infiniband", "--workers", "64", "--optimizer", "onebit-adam",
                                   "--json", "--step.codec", "released", "--cluster.nic.effective",
                                   std::to_string(rate), "--cluster.nic.nominal", "1e11"}));
    CAPTURE(run.err, rate);
    REQUIRE(run.status == 0);
    return std::stod(run.out.substr(run.out.rfind("\"speedup\": ") + 11));
  };
  CHECK(speedup_at(even) == Approx(1).epsilon(1e-4));
  CHECK(speedup_at(0.5 * even) > 1);
  CHECK(speedup_at(2 * even) < 1);
}

TEST_CASE("price: every optimizer, every workload, every cluster", "[once]") {
  for (const std::string kind : {"optimizers", "workloads", "clusters"}) {
    const std::string names = run_onebit(Folder(), {"list", kind, "--json"}).out;
    std::size_t at = 0;
    while ((at = names.find("\"name\": \"", at)) != std::string::npos) {
      at += 9;
      const std::string name = names.substr(at, names.find('"', at) - at);
      Arguments arguments = {"price", "--workers", "16", "--json", "--step.parameters", "1000000"};
      arguments = joined(arguments, {"--optimizer", kind == "optimizers" ? name : "onebit-adam"});
      arguments = joined(arguments, {"--workload", kind == "workloads" ? name : "resnet50"});
      arguments = joined(arguments, {"--cluster", kind == "clusters" ? name : "eth10"});
      const Outcome run = run_onebit(Folder(), arguments);
      CAPTURE(kind, name, run.err);
      if (name.starts_with("cada")) {  // how much it sends depends on the data
        CHECK(run.status == 2);
        continue;
      }
      CHECK(run.status == 0);
      CHECK(json_number(run.out, "step_seconds") > 0);
    }
  }
}

TEST_CASE("price: a cluster is a file, and options change it") {
  const Folder folder;
  write_file(folder / "mine.ini",
             "doc = two racks\nnodes = 4\ngpus-per-node = 2\ngpu-link = pcie4\ngpu = v100\nnic-shares = 3:0.5\n"
             "[nic]\nnominal = 25Gb/s\neffective = 2GB/s\nlatency = 30us\n[gpu-link]\neffective = 13GB/s\n");
  const auto price = [&](const Arguments& more) {
    return run_onebit(folder, bert(joined({"--cluster", "mine.ini", "--step.overlap", "none", "--json"}, more)));
  };
  const Outcome slow = price({}), even = price({"--cluster.nic-shares", "3:1"});
  CAPTURE(slow.err, even.err);
  REQUIRE(slow.status == 0);
  CHECK(json_value(slow.out, "bottleneck") == "\"network link of node 3 (out)\"");
  CHECK(json_number(slow.out, "nodes") == 4);
  CHECK(json_number(slow.out, "communication_seconds") ==
        Approx(2 * json_number(even.out, "communication_seconds")).epsilon(0.01));
}

TEST_CASE("price: its help names every GPU and every link") {
  const std::string help = run_onebit(Folder(), {"price", "--help-all"}).out;
  std::istringstream words(help);
  std::string text;  // in one line
  for (std::string word; words >> word;) text += word + " ";
  const auto of = [&](const std::string& option) {
    const std::size_t at = text.find(option);
    return at == std::string::npos ? "" : text.substr(at, text.find(" --", at) - at);
  };
  const std::string gpus = of("--cluster.gpu "), links = of("--cluster.gpu-link ");
  for (const netmodel::Gpu& gpu : netmodel::gpus()) CHECK_THAT(gpus, Contains(" " + std::string(gpu.name)));
  for (const netmodel::GpuLink& link : netmodel::gpu_links()) {
    CHECK_THAT(links, Contains(" " + std::string(link.name)));
  }
}

TEST_CASE("price: a schedule and a sweep are files, a log is a workload") {
  const Folder folder;
  const Arguments job = bert({"--workers", "8", "--optimizer", "onebit-adam", "--cluster", "eth10"});
  REQUIRE(run_onebit(folder, joined(job, {"--goal", "step.goal"})).status == 0);
  CHECK_THAT(read_file(folder / "step.goal"), StartsWith("num_ranks 8\n\nrank 0 {\nl1: calc ") && Contains("send"));
  CHECK(run_onebit(folder, joined(job, {"--goal", "step.goal"})).status == 2);  // the file exists
  const Outcome sweep = run_onebit(
      folder, joined(job, {"--sweep.bandwidth", "1Mb/s:10Gb/s:5", "--sweep.gpus-per-node", "1,4", "-o", "sweep"}));
  CAPTURE(sweep.out, sweep.err);
  REQUIRE(sweep.status == 0);
  CHECK_THAT(sweep.out, Contains("4 GPUs per node") && Contains("break-even"));
  const std::string csv = read_file(folder / "sweep/speedup.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 11);
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--eval.every", "2"})).status == 0);
  const Outcome log = run_onebit(folder, {"price", "run.h5", "--cluster", "eth1", "--json", "--target", "1e9",
                                          "--step.forward", "1", "--step.backward", "1", "--step.optimizer", "0"});
  CAPTURE(log.out, log.err);
  REQUIRE(log.status == 0);
  CHECK(json_number(log.out, "workers") == 2);
  CHECK(json_number(log.out, "forward_seconds") == 1);
  CHECK(json_number(log.out, "target_seconds") == 0);  // the loss is that low from the start
  // As the run itself says: float32, as it was sent.
  const Outcome again = run_onebit(folder, tiny_run("run", {"-o", "again.h5", "--json"}));
  const std::string eth1 = again.out.substr(again.out.find("\"eth1\""));
  CHECK(json_number(log.out, "communication_seconds") == Approx(json_number(eth1, "dense_seconds")));
  const Outcome never = run_onebit(folder, {"price", "run.h5", "--cluster", "eth1", "--target", "0"});
  CHECK_THAT(never.out, Contains("never reached"));
}

TEST_CASE("price: a table of all-reduces knows that GPUs share a network link, and says where it is extended") {
  const Folder folder;
  // Table 1 of 1-bit Adam, to which paper-ethernet is fitted.
  write_file(folder / "rows.csv", "nodes,gpus,bytes,seconds\n16,4,672452216,2.206\n");
  const auto price = [&](const Arguments& more) {
    return run_onebit(
        folder,
        bert(joined({"--cluster", "paper-ethernet", "--workers", "64", "--optimizer", "onebit-adam", "--json"}, more)));
  };
  const Outcome table = price({"--cost-model", "table", "--cost-table", "rows.csv"}), links = price({});
  CAPTURE(table.out, table.err);
  REQUIRE((table.status == 0 && links.status == 0));
  CHECK(json_number(table.out, "communication_seconds") ==
        Approx(json_number(links.out, "communication_seconds")).epsilon(0.1));
  const std::string said = "16 nodes of 4 GPUs: all_reduce of 672.5 MB";
  CHECK_THAT(table.err, StartsWith("onebit: warning: times beyond the cost table are extrapolated") && Contains(said));
  CHECK(std::count(table.err.begin(), table.err.end(), '\n') == 1);
  CHECK_THAT(table.out, Contains("\"extended\": [\"times beyond the cost table are extrapolated") && Contains(said));
  CHECK(links.err.empty());
  CHECK_THAT(links.out, Contains("\"extended\": []"));
}

TEST_CASE("price: measurements come from several files, tables and logs of launchers") {
  const Folder folder;
  write_file(folder / "one.csv", "nodes,gpus,bytes,seconds\n1,2,1e6,1e-4\n2,2,1e6,1e-3\n");
  std::string log = "[1,0]<stdout>:# Collective test starting: all_reduce_perf_mpi\n";
  for (int rank = 0; rank < 8; ++rank) {
    log += "[1,0]<stdout>:#  Rank  " + std::to_string(rank) + " Group  0 Pid 2" + std::to_string(rank) + " on node" +
           std::to_string(rank / 2) + " device  0 [0x35] Tesla T4\n";
  }
  const std::string row = "[1,0]<stdout>: 1000000 250000 float sum -1 1500.0 0.67 1.17 0 1500.0 0.67 1.17 0\n";
  write_file(folder / "four.log", log + row);
  const Outcome fitted =
      run_onebit(folder, {"price", "--calibrate", "one.csv,four.log", "--cluster", "paper-ethernet", "-o", "mine.ini"});
  CAPTURE(fitted.out, fitted.err);
  REQUIRE(fitted.status == 0);
  CHECK_THAT(fitted.out, Contains("4 x 2") && Contains("1.5 ms"));
  CHECK_THAT(read_file(folder / "mine.ini"), Contains("doc = fitted to one.csv, four.log"));
  const Outcome priced =
      run_onebit(folder, bert({"--cluster", "mine.ini", "--cluster.gpus-per-node", "2", "--workers", "8",
                               "--cost-model", "table", "--cost-table", "one.csv,four.log", "--json"}));
  CAPTURE(priced.err);
  CHECK(priced.status == 0);
  write_file(folder / "broken.log", log + row + "[1,0]<stdout>: 1000000 250000 float sum -1 1500.0 0.50 0.88 0\n");
  const Outcome broken =
      run_onebit(folder, {"price", "--calibrate", "one.csv,broken.log", "--cluster", "paper-ethernet"});
  CHECK(broken.status == 2);
  CHECK_THAT(broken.err, Contains("broken.log:11") && Contains("agrees with an algbw"));
  const Outcome empty = run_onebit(folder, {"price", "--calibrate", "one.csv,,", "--cluster", "paper-ethernet"});
  CHECK_THAT(empty.err, Contains("files separated by single commas"));
}

TEST_CASE("price: a calibration states its uncertainty, and warns where nothing fits") {
  const Folder folder;
  const auto calibrate = [&](const std::string& rows, const std::string& name) {
    write_file(folder / "rows.csv", "nodes,gpus,bytes,seconds\n" + rows);
    const Outcome fitted =
        run_onebit(folder, {"price", "--calibrate", "rows.csv", "--cluster", "paper-ethernet", "-o", name});
    CAPTURE(fitted.out);
    REQUIRE(fitted.status == 0);
    return std::pair(fitted.err,
                     std::stod(json_value(run_onebit(folder, {"price", "--workload", "bert-large", "--cluster", name,
                                                              "--workers", "8", "--optimizers", "adam", "--json"})
                                              .out,
                                          "uncertainty")));
  };
  // Table 1 of 1-bit Adam on Ethernet
  const auto [quiet, low] = calibrate(
      "16,4,672452216,2.206\n8,4,672452216,2.173\n4,4,672452216,2.133\n2,4,672452216,1.897\n1,4,672452216,0.2398\n",
      "good.ini");
  CHECK(quiet.empty());
  CHECK(low == Approx(0.07));  // two runs of one configuration differ by that much
  const auto [loud, high] = calibrate("2,4,1e9,1\n2,4,1e9,3\n4,4,1e9,1\n4,4,1e9,3\n8,4,1e9,1\n", "bad.ini");
  CHECK_THAT(loud, Contains("no algorithm fits all measurements"));
  CHECK(high > 0.2);
}

TEST_CASE("price: a log is not priced with the workload of another model") {
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "run.h5"})).status == 0);  // 43 parameters
  const auto price = [&](const std::string& workload) {
    return run_onebit(folder, {"price", "run.h5", "--cluster", "eth1", "--workload", workload, "--json"});
  };
  const auto own = [&](const std::string& parameters) {
    write_file(folder / "own.ini", "parameters = " + parameters + "\nbatch = 2\nforward = 1\nbackward = 2\n");
    return price("own.ini");
  };
  for (const Outcome& refused : {price("gpt2-xl"), own("60"), own("30")}) {
    CAPTURE(refused.err);
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    CHECK_THAT(refused.err, StartsWith("onebit: error: the workload belongs to another model") &&
                                Contains("run.h5 has 43 parameters") && Contains("--workload"));
  }
  for (const Outcome& taken : {own("43"), own("46")}) {
    CAPTURE(taken.err);
    REQUIRE(taken.status == 0);
    CHECK(json_number(taken.out, "forward_seconds") == 1);
  }
  CHECK(price("none").status == 0);
}

TEST_CASE("price: local steps exchange once a period, and a log's pattern does not hide it", "[once]") {
  const auto bytes = [](const std::string& optimizer, const Arguments& more) {
    const Outcome run = run_onebit(
        Folder(), bert(joined({"--cluster", "eth10", "--workers", "8", "--json", "--optimizer", optimizer}, more)));
    CAPTURE(run.err);
    REQUIRE(run.status == 0);
    return json_number(run.out, "nic_bytes_per_node");
  };
  const double dense = 2 * bytes("sgd", {});  // gradients are fp16, weights float32
  for (const std::string period : {"4", "7", "16"}) {
    CHECK(bytes("local-sgd", {"--optimizer.local-period", period}) == Approx(dense / std::stod(period)));
  }
  CHECK(bytes("local-adam", {"--optimizer.local-period", "4"}) == Approx(3 * dense / 4));
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--optimizer", "local-sgd", "--optimizer.local-period",
                                              "4", "--steps", "64", "--log.every", "5"}))
              .status == 0);
  const Outcome log = run_onebit(folder, {"price", "run.h5", "--cluster", "eth1", "--json", "--step.forward", "0",
                                          "--step.backward", "0", "--step.optimizer", "0"});
  const Outcome sweep =
      run_onebit(folder, {"price", "run.h5", "--cluster", "eth1", "--json", "--step.forward", "0", "--step.backward",
                          "0", "--step.optimizer", "0", "--sweep.bandwidth", "117MB/s:234MB/s:2"});
  CAPTURE(log.err, sweep.err);
  const double speedup = std::stod(log.out.substr(log.out.rfind("\"speedup\": ") + 11));
  CHECK(speedup == Approx(4));
  CHECK_THAT(sweep.out, Contains("\"speedup\": [4, 4]"));
  CHECK(run_onebit(folder, {"price", "run.h5", "--optimizer", "adam"}).status == 2);
}

TEST_CASE("price: the schedule of 0/1 Adam is that of the run, and what was assumed of it is said") {
  const auto price = [](const Arguments& more) {
    return run_onebit(Folder(), bert(joined({"--cluster", "eth10", "--workers", "8", "--optimizer", "zeroone-adam",
                                             "--optimizer.var-freeze-step", "20", "--optimizer.local-step-scaler", "4",
                                             "--optimizer.local-step-clipper", "4"},
                                            more)));
  };
  const Outcome given = price({"--steps", "60"}), json = price({"--steps", "60", "--json"}), assumed = price({});
  CAPTURE(given.out, given.err, assumed.out);
  REQUIRE((given.status == 0 && json.status == 0 && assumed.status == 0));
  CHECK((given.err.empty() && assumed.err.empty()));
  CHECK_THAT(given.out, Contains("schedule: 60 steps: ") && Contains("; 40 local, 15 of them with an exchange\n"));
  CHECK_THAT(json.out, Contains("\"schedule\": {\"steps\": 60, \"assumed\": false, ") &&
                           Contains("{\"stage\": \"local\", \"steps\": 40, \"exchanges\": 15}"));
  CHECK_THAT(assumed.out, Contains("schedule: 134 steps (assumed, because --steps was not given): "));
  CHECK_THAT(price({"--steps", "60", "--step.warmup-share", "0.2"}).err, Contains("give only one of the two"));
  const Outcome other = run_onebit(Folder(), bert({"--cluster", "eth10", "--workers", "8", "--steps", "60"}));
  CHECK(other.err == "onebit: warning: --steps has no effect on prices\n");
}

TEST_CASE("price: a model of 70 billion parameters on 4096 GPUs") {
  const Outcome run =
      run_onebit(Folder(), {"price", "--workload", "none", "--step.parameters", "70000000000", "--optimizer",
                            "onebit-adam", "--workers", "4096", "--cluster", "ib100", "--json"});
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  CHECK(json_number(run.out, "parameters") == 70e9);
  const std::string names = run_onebit(Folder(), {"list", "workloads"}).out;
  for (const std::string model : {"gpt-neox-20b", "llama2-70b", "llama3-8b", "mistral-7b", "qwen2.5-1.5b"}) {
    CHECK_THAT(names, Contains("  " + model + " "));
  }
}

TEST_CASE("price: a workload is a file") {
  const Folder folder;
  const auto price = [&](const std::string& text, const Arguments& more = {}) {
    write_file(folder / "mine.ini", text);
    return run_onebit(folder, joined({"price", "--workload", "mine.ini", "--batch", "64", "--workers", "4", "--cluster",
                                      "eth10", "--optimizer", "adam", "--json"},
                                     more));
  };
  const std::string good = "doc = ours\nparameters = 1000000\nbatch = 32\nforward = 20ms\nbackward = 40ms\n";
  const Outcome run = price(good + "optimizer = 3ms\n");
  CAPTURE(run.out, run.err);
  REQUIRE(run.status == 0);
  CHECK(json_number(run.out, "forward_seconds") == Approx(0.04));
  CHECK(json_number(run.out, "optimizer_seconds") == Approx(0.003));
  CHECK(json_value(run.out, "workload") == "\"mine\"");
  const Outcome scaled = price(good + "gpu = v100\n", {"--cluster.gpu", "h100"});
  CHECK(json_number(scaled.out, "forward_seconds") == Approx(0.04 / 6));
  for (const std::string& wrong :
       {good + "gpu = tpu\n", good + "speed = 1\n", good + "batch = 16\n", std::string("parameters = 5\n"),
        std::string("forward = -1\n"), std::string("x\n")}) {
    const Outcome refused = price(wrong);
    CAPTURE(wrong, refused.err);
    CHECK(refused.status == 2);
    CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  }
}

TEST_CASE("price: weak and strong scaling over nodes") {
  const Outcome run = run_onebit(Folder(), bert({"--cluster", "paper-infiniband", "--optimizer", "onebit-adam",
                                                 "--json", "--sweep.nodes", "1,2,3,4", "--step.codec", "released"}));
  CAPTURE(run.out, run.err);
  REQUIRE(run.status == 0);
  const std::string weak = run.out.substr(0, run.out.find("strong")), strong = run.out.substr(weak.size());
  CHECK(json_number(weak, "dense_samples_per_second") == Approx(719.3).epsilon(0.05));  // Table 1, one node
  CHECK_THAT(weak, Contains("\"workers\": 32, \"batch\": 16"));
  CHECK_THAT(strong, Contains("\"workers\": 32, \"batch\": 4") &&
                         Contains("\"workers\": 24, \"batch\": 0, \"dense_samples_per_second\": null"));
  for (const std::string nodes : {"0", "-1", "two", "1,,2"}) {
    CHECK(run_onebit(Folder(), bert({"--cluster", "eth10", "--sweep.nodes", nodes})).status == 2);
  }
}

TEST_CASE("price: bad clusters and options are refused in one line") {
  const Folder folder;
  const std::string good = "gpus-per-node = 2\n[nic]\nnominal = 1e9\neffective = 1e9\nlatency = 1e-5\n";
  const std::vector<std::pair<std::string, std::string>> files = {
      {good + "speed = 3\n", "unknown option"},
      {"nodes\n" + good, "bad.ini"},
      {"gpus-per-node = 2\n[nic]\nnominal = 1e9\neffective = 0\n", "nic.effective is not above 0"},
      {"gpus-per-node = 2\n", "nic.nominal is not above 0"},
      {good + "per-message = -1\n", "per-message"},
      {"[nic]\nnominal = 1e9\neffective = 1e9\nlatency = -1e-5\n", "latency"},
      {"[nic]\nnominal = 1e14\neffective = 1e9\n", "if this is a number of bits"},
      {"[nic]\nnominal = fast\neffective = 1e9\n", "expected: bytes per second"},
      {"gpu-link = nvlink9\n" + good, "nvlink"},
      {"stragglers = 1\n" + good, "NODE:FACTOR"},
  };
  for (const auto& [text, what] : files) {
    write_file(folder / "bad.ini", text);
    const Outcome run = run_onebit(folder, bert({"--workers", "8", "--cluster", "bad.ini"}));
    CAPTURE(text, run.err);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Contains(what));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  }
  write_file(folder / "lab.conf", good);
  write_file(folder / "eth10", "not a cluster\n");
  CHECK(run_onebit(folder, bert({"--workers", "8", "--cluster", "eth10"})).status == 0);
  const std::vector<std::pair<Arguments, std::string>> wrongs = {
      {{"price", "--workers", "4"}, "nothing to price"},
      {bert({"--cluster", "lab.conf", "--workers", "4"}), "does not end in .ini (lab.conf)"},
      {{"price", "--workload", "lab.conf", "--workers", "4"}, "does not end in .ini (lab.conf)"},
      {{"price", "--workload", "bert-larger", "--workers", "4"}, "did you mean bert-large"},
      {{"price", "--workload", "none", "--workers", "4"}, "--step.parameters"},
      {bert({"--cluster", "eth10"}), "the number of workers is not known"},
      {bert({"--cluster", "eth11", "--workers", "4"}), "unknown cluster"},
      {bert({"--cluster", "nowhere.ini", "--workers", "4"}), "cannot read cluster file"},
      {bert({"--cluster", "paper-ethernet", "--workers", "6"}), "do not fill nodes"},
      {bert({"--cluster.nodes", "3", "--workers", "4"}), "4 workers do not match 3 nodes"},
      {bert({"--fluid.jobs", "2", "--workers", "4"}), "use --cost-model fluid"},
      {bert({"--cost-model", "fluid", "--fluid.jobs", "0", "--workers", "4"}), "from 1 to 64"},
      {bert({"--cost-model", "fluid", "--fluid.background", "0:9", "--workers", "4"}),
       "does not join two different GPUs"},
      {bert({"--cost-model", "magic", "--workers", "4"}), "unknown cost model"},
      {bert({"--step.overlap", "some", "--workers", "4"}), "step.overlap"},
      {bert({"--step.warmup-share", "2", "--workers", "4"}), "step.warmup-share"},
      {bert({"--step.forward", "-1", "--workers", "4"}), "not negative"},
      {bert({"--optimizer", "ef-sgd", "--codec", "threshold", "--workers", "4"}), "depends on the data"},
      {{"price", "--workload", "resnet18", "--optimizer", "ef-sgd", "--codec", "power-sgd", "--workers", "4"},
       "depends on the tensors' shapes"},
      {bert({"--optimizer", "ef-sgd", "--codec", "top-k", "--step.exchange", "hierarchical", "--workers", "4"}),
       "has no hierarchical form"},
      {bert({"--cluster", "eth10", "--cluster.nic.effective", "2GB/s", "--workers", "4"}), "above nic.nominal"},
      {bert({"--sweep.gpus-per-node", "1,4", "--workers", "4"}), "give --sweep.bandwidth"},
      {bert({"--sweep.bandwidth", "1e6:1e9:3", "--cluster", "eth10", "--goal", "g", "--workers", "4"}), "no effect"},
      {bert({"--sweep.bandwidth", "1e6:1e9:3", "--cluster", "eth10", "--workers", "4"}), "--optimizer onebit-adam"},
      {bert({"--sweep.nodes", "1,2,", "--cluster", "eth10"}), "no comma at the end"},
      {bert({"--optimizers", "adam,", "--workers", "4"}), "separated by single commas"},
      {bert({"--calibrate", "rows.csv"}), "cannot be combined with --calibrate"},
      {bert({"--workers", "4", "--goal", "nowhere/step.goal", "--cluster", "eth10"}), "no such folder"},
      {bert({"--workers", "4", "-o", "out"}), "no effect"},
      {bert({"--cluster.nic.speed", "1e9", "--workers", "4"}), "unknown option"},
      {{"run", "--workload", "bert-large"}, "option of another command"},
  };
  for (const auto& [arguments, what] : wrongs) {
    const Outcome run = run_onebit(folder, arguments);
    CAPTURE(arguments, run.err);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Contains(what));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  }
}

TEST_CASE("price: a collective in the columns of nccl-tests") {
  const Folder folder;
  const Arguments gather = {"price",     "--collective", "all-gather", "--bytes", "1GB",
                            "--cluster", "eth10",        "--workers",  "4"};
  const Outcome json = run_onebit(folder, joined(gather, {"--json"}));
  CAPTURE(json.out, json.err);
  CHECK(json.status == 0);
  CHECK(json.err.empty());
  // 3 blocks of a quarter of the result, 35 us each, and 8.4 us at the beginning
  const double seconds = 8.4e-6 + 3 * (35e-6 + 0.25e9 / 1.1e9);
  CHECK(json_number(json.out, "seconds") == Approx(seconds));
  CHECK(json_number(json.out, "busbw_bytes_per_second") == Approx(0.75e9 / seconds));
  CHECK_THAT(run_onebit(folder, gather).out, Contains("busbw GB/s") && Contains("Simple"));
  const auto refused = [&](const Arguments& more, const std::string& what) {
    const Outcome run = run_onebit(folder, joined({"price", "--collective", "all-reduce", "--cluster", "eth10"}, more));
    CAPTURE(run.err);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Contains(what));
  };
  refused({"--workers", "4"}, "give --bytes");
  refused({"--bytes", "1MB"}, "give --workers");
  refused({"--bytes", "1MB", "--workers", "4", "--workload", "bert-large"}, "cannot be combined with --collective");
  refused({"--bytes", "1MB", "--workers", "4", "--optimizer", "adam"}, "cannot be combined with --collective");
}

TEST_CASE("price: the page of measurements holds what the program predicts", "[once]") {
  const std::string python = find_python("json");
  ONEBIT_SKIP_UNLESS(!python.empty(), "python3", "no python3");
  const Folder folder;
  Process process(folder / "", {python, "-B", source_path("scripts/price-measured.py"), ONEBIT_PROGRAM, "--shared",
                                shared_path(""), "--check", source_path("docs/price-measured.md")});
  process.poll([&] { return !process.running(); }, std::chrono::minutes(5));
  const Outcome run = process.finish();
  CAPTURE(run.out, run.err);
  CHECK(run.status == 0);
}

TEST_CASE("price: the break-even agrees with the speed-up at the cluster's own rate") {
  const Folder folder;
  for (const std::string rate : {"50Mb/s", "1Gb/s", "30Gb/s", "200Gb/s", "370Gb/s"}) {
    const Outcome run =
        run_onebit(folder, {"price", "--workload", "none", "--step.parameters", "5000000", "--optimizer", "ef-sgd",
                            "--codec", "top-k", "--codec.k", "0.01", "--workers", "64", "--cluster", "dgx-h100",
                            "--cluster.nic.effective", rate});
    CAPTURE(run.out, run.err);
    REQUIRE(run.status == 0);
    const std::size_t at = run.out.find("speed-up over dense adam: ") + 26;
    const bool faster = std::stod(run.out.substr(at)) > 1;
    CHECK_THAT(run.out, !Contains(faster ? "slower at any rate" : "faster at any rate"));
    CHECK_THAT(run.out, Contains("each of a node's 8 network links"));
  }
}
