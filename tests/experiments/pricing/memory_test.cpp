// The program's memory plan compared with the operating system's figures, its choice of the worker group, and weights
// in files.

#include "sim/run/weights_file.hpp"
#include "tests/experiments/program.hpp"
#include "tests/sanitized.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

Arguments large_run(const std::string& optimizer, const std::string& layers, const Arguments& more) {
  return joined(
      {"run",     "--model",        "mlp",  "--data",  "synthetic", "--data.features", "784",     "--data.examples",
       "3000",    "--model.layers", layers, "--steps", "4",         "--optimizer",     optimizer, "--freeze",
       "fixed:2", "--threads",      "1",    "--json",  "-o",        "run.h5"},
      more);
}

/// Returns the arguments of a small run. model: options of the model, its data and anything else.
Arguments small_run(const Arguments& model, const std::string& optimizer, int workers, int batch) {
  return joined(
      {"run", "--steps", "4", "--freeze", "fixed:2", "--threads", "1", "--json", "-o", "run.h5", "--eval.examples",
       "64", "--optimizer", optimizer, "--workers", std::to_string(workers), "--batch", std::to_string(batch)},
      model);
}

/// Checks that a run takes the memory that was planned. least: bytes that the plan must exceed for a meaningful test.
void check_plan(const Arguments& run, double least) {
  const Folder folder;
  write_file(folder / "text", std::string(100'000, 'a'));
  const Outcome outcome = run_onebit(folder, run);
  CAPTURE(run, outcome.out, outcome.err);
  REQUIRE(outcome.status == 0);
  const double planned = std::stod(json_value(outcome.out.substr(outcome.out.find("memory_plan")), "total"));
  CHECK(planned > least);
  CHECK(outcome.peak_bytes > 0.9 * planned);
  CHECK(outcome.peak_bytes < 1.1 * planned);
}

}  // namespace

TEST_CASE("memory: the plan is within a tenth of the peak that the system reports", "[once]") {
  ONEBIT_SKIP_UNLESS(!kSanitized, "plain memory", "a sanitizer takes memory of its own");
  for (const Arguments& run :
       {large_run("adam", "784,1024,256,10", {"--workers", "32", "--batch", "4"}),
        large_run("onebit-adam", "784,512,256,10", {"--workers", "48", "--batch", "4", "--devices", "cpu:2"}),
        large_run("local-adam", "784,512,256,10", {"--workers", "16", "--batch", "64"}),
        large_run("onebit-lamb", "784,2048,512,10", {"--workers", "8", "--batch", "16", "--worker-group", "2"})}) {
    check_plan(run, 150e6);
  }
}

TEST_CASE("memory: the plan is within a tenth for models with convolutions, residual blocks and attention", "[once]") {
  ONEBIT_SKIP_UNLESS(!kSanitized, "plain memory", "a sanitizer takes memory of its own");
  const Arguments cnn = {"--model", "cnn", "--data", "synthetic", "--data.image", "1x28x28", "--data.examples", "1000"};
  const Arguments resnet = {"--model",      "resnet20", "--data",          "synthetic",
                            "--data.image", "3x16x16",  "--data.examples", "500"};
  const Arguments bert = {"--model", "bert-nano", "--data", "text", "--data.path", "text"};
  check_plan(small_run(cnn, "onebit-adam", 16, 16), 90e6);
  check_plan(small_run(cnn, "onebit-adam", 2, 2), 30e6);
  check_plan(small_run(resnet, "adam", 16, 4), 80e6);
  check_plan(small_run(resnet, "onebit-adam", 4, 1), 60e6);
  check_plan(small_run(bert, "onebit-adam", 8, 2), 80e6);
  check_plan(small_run(bert, "adam", 4, 1), 40e6);
}

TEST_CASE("memory: the plan is printed by a dry run, and its total before a run") {
  const Folder folder;
  const auto run = [&](const Arguments& more) {
    return run_onebit(folder, tiny_run("run", joined(more, {"--memory", "1GB", "--worker-group", "1"})));
  };
  const Outcome dry = run({"--dry-run"}), trained = run({"-o", "run.h5"});
  CAPTURE(dry.out, dry.err, trained.out);
  CHECK(dry.status == 0);
  CHECK_THAT(dry.out, Contains("gradients of 1 workers at a time") && Contains("data and program") &&
                          Contains("total, of 1 GB"));
  CHECK_THAT(trained.out, StartsWith("adam: 2 workers, 6 steps; memory ") && Contains(" MB of 1 GB (see --dry-run)\n"));
  const Outcome json = run_onebit(folder, tiny_run("run", {"--dry-run", "--json", "--memory", "2GiB"}));
  CHECK(json_value(json.out, "limit") == "2147483648");
  CHECK(json_value(json.out, "worker_group") == "2");
  CHECK(json_value(json.out, "memory") == "\"2147483648\"");
}

TEST_CASE("memory: what does not fit is refused in one line, before anything is written") {
  for (const std::string command : {"run", "compare", "bench"}) {
    const Folder folder;
    Arguments arguments = tiny_run(command, {"--memory", "1MB"});
    if (command == "bench") arguments.emplace_back("step");
    if (command != "bench") arguments = joined(arguments, {"-o", "out"});
    const Outcome run = run_onebit(folder, arguments);
    CAPTURE(command, run.out, run.err);
    CHECK(run.status == 2);
    CHECK_THAT(run.err,
               Contains("does not fit in memory") && Contains("the limit is 1 MB") && Contains("fewer workers"));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(entries(folder).empty());
  }
}

TEST_CASE("memory: a batch beyond all memory is refused before it is drawn") {
  const Folder folder;
  const Outcome run = run_onebit(folder, {"run", "--model", "mlp", "--data", "synthetic", "--workers", "64", "--batch",
                                          "1048576", "--memory", "100MB", "--dry-run"});
  CAPTURE(run.err);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("does not fit in memory"));
}

TEST_CASE("memory: the plan knows how many workers a model has") {
  const Folder folder;
  const Outcome run = run_onebit(folder, {"run", "--model", "quadratic", "--model.heterogeneity", "1", "--workers", "3",
                                          "--steps", "3", "--optimizer", "adam", "-o", "run.h5"});
  CAPTURE(run.err);
  CHECK(run.status == 0);
}

TEST_CASE("memory: invalid sizes are refused") {
  const Folder folder;
  for (const std::string size : {"8G", "GB", "-1", "-1MB", "nanGB", "1e30TB", "1.5"}) {
    const Outcome run = run_onebit(folder, tiny_run("run", {"--dry-run", "--memory", size}));
    CAPTURE(size, run.err);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Contains("memory") && Contains("8GB, 512MB"));
  }
}

TEST_CASE("weights: a run writes its final weights, and another starts from them") {
  const Folder folder;
  const Outcome first = run_onebit(folder, tiny_run("run", {"-o", "a.h5", "--weights-out", "weights.h5"}));
  CAPTURE(first.err);
  REQUIRE(first.status == 0);
  const Outcome next = run_onebit(folder, tiny_run("run", {"-o", "b.h5", "--model.init", "weights.h5", "--seed", "1"}));
  CAPTURE(next.err);
  REQUIRE(next.status == 0);
  const auto end = sim::LogReader(folder / "a.h5").evaluations().back();
  const auto start = sim::LogReader(folder / "b.h5").evaluations().front();
  CHECK(start.loss == end.loss);
  CHECK(start.accuracy == end.accuracy);
  for (const Arguments& more : {Arguments{"--weights-out", "weights.h5"}, Arguments{"--model.init", "a.h5"}}) {
    const Outcome refused = run_onebit(folder, tiny_run("run", joined(more, {"-o", "c.h5"})));
    CHECK(refused.status == 2);
    CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  }
  CHECK_FALSE(std::filesystem::exists(folder / "c.h5"));
  const Outcome same = run_onebit(folder, tiny_run("run", {"-o", "d.h5", "--weights-out", "d.h5"}));
  CHECK(same.status == 2);
  CHECK_THAT(same.err, Contains("the log and the weights would be the same file"));
}

TEST_CASE("weights: h5py reads what the program writes, and writes what it reads") {
  const std::string python = find_python("h5py");
  ONEBIT_SKIP_UNLESS(!python.empty(), "h5py", "no h5py");
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "a.h5", "--weights-out", "weights.h5"})).status == 0);
  const Outcome script = run_in(folder, {python, "-c", R"(
import h5py, numpy
with h5py.File('weights.h5') as source, h5py.File('copy.h5', 'w') as copy:
    names = [name.decode() for name in source['tensor_names']]
    sizes = list(source['tensor_sizes'])
    print(names, sizes, source['weights'].dtype, source['weights'].shape)
    copy['weights'] = numpy.asarray(source['weights'])
    copy['tensor_sizes'] = sizes
    copy['tensor_names'] = numpy.array(names, dtype='S')
)"});
  CAPTURE(script.err);
  CHECK(script.out ==
        "['layer1.weight', 'layer1.bias', 'layer2.weight', 'layer2.bias'] [20, 5, 15, 3] float32 (43,)\n");
  CHECK(run_onebit(folder, tiny_run("run", {"-o", "b.h5", "--model.init", "copy.h5"})).status == 0);
}
