// A model in a user's program: the run equals that of the built-in model, and every error of such a program gives one
// line, a complete log and leaves no process behind.

#include <numeric>

#include "tests/experiments/program.hpp"
#include "tests/sanitized.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

namespace fs = std::filesystem;

/// docs/numpy_worker.py, changed so that at step 3 it does what its first argument says. It counts its starts in a
/// file.
constexpr const char* kWorker = R"(
import os, signal, sys, time
import numpy, numpy_worker, onebit.worker

what = sys.argv[1] if len(sys.argv) > 1 else ""
with open("starts", "a") as file:
    file.write("started\n")
starts = len(open("starts").readlines())

class Model(numpy_worker.Softmax):
    def __init__(self, data):
        super().__init__(data)
        if what == "layout" and starts > 1:
            self.tensors["more"] = (2,)
        if what == "daemon" and os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.closerange(0, 100)
                time.sleep(1000)
            os._exit(0)
    def initialize(self, seed):
        print("printed by the model")
        weights = super().initialize(seed)
        if what == "initial":
            weights["layer1.bias"][0] = numpy.inf
        return weights
    def gradients(self, weights, batch):
        loss, tensors = super().gradients(weights, batch)
        if batch.step < 3:
            return loss, tensors
        if what == "exit":
            print("first line\nbroken on purpose", file=sys.stderr, flush=True)
            os._exit(7)
        if what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "hang":
            open("hangs", "w").close()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(1000)
        if what in ("slow", "daemon"):
            time.sleep(0.02)
        if what == "raise":
            raise ArithmeticError("no\nidea")
        if what == "size":
            tensors["layer1.bias"] = numpy.zeros(2)
        if what == "names":
            del tensors["layer1.bias"]
        if what == "nan":
            tensors["layer1.bias"][1] = numpy.nan
        if what == "loss":
            loss = numpy.inf
        return loss, tensors

if what == "old":
    onebit.worker.VERSION = "0"
if what == "uninitialised":
    del Model.initialize, numpy_worker.Softmax.initialize
onebit.worker.serve(Model)
)";

/// A folder with worker programs, and a Python that has numpy.
class Bench {
 public:
  Bench() : python_(find_python("h5py")), package_("PYTHONPATH", source_path("python")) {
    fs::copy(source_path("docs/numpy_worker.py"), folder_ / "");
    write_file(folder_ / "worker.py", kWorker);
  }

  const Folder& folder() const { return folder_; }
  bool available() const { return !python_.empty(); }

  /// Contains the folder's name, by which its processes are found.
  std::string command(const std::string& what = "") const {
    return python_ + " -B " + (folder_ / "worker.py") + " " + what;
  }
  Arguments external(const std::string& what = "") const {
    return {"--model", "external", "--model.command", command(what)};
  }

  /// Returns the number of processes that were started for this folder and still run.
  int processes() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string line = line_of_process(entry.path() / "cmdline");
      count += line.find(folder_ / "") != std::string::npos ? 1 : 0;
    }
    return count;
  }

  bool all_gone() const {
    for (int i = 0; i < 1000 && processes() > 0; ++i) usleep(10'000);
    return processes() == 0;
  }

  Outcome run(const Arguments& more, const std::string& log) const {
    const bool freezes =
        std::any_of(more.begin(), more.end(), [](const std::string& word) { return word.starts_with("onebit"); });
    const Arguments run = {"run", "--data",  "synthetic", "--data.features", "8", "--data.classes", "3",    "--workers",
                           "8",   "--batch", "4",         "--threads",       "2", "--optimizer.lr", "1e-2", "--steps",
                           "6",   "-o",      log,         "--overwrite"};
    return run_onebit(folder_, joined(joined(run, freezes ? Arguments{"--freeze", "fixed:3"} : Arguments{}), more));
  }

  /// Returns the losses of a run without errors.
  std::vector<double> losses(const Arguments& more, const std::string& column = "steps/loss") const {
    const Outcome outcome = run(more, "run.h5");
    CAPTURE(more, outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(outcome.err.empty());
    CHECK(processes() == 0);
    return sim::LogReader(folder_ / "run.h5").column(column);
  }

 private:
  Folder folder_;
  std::string python_;
  Variable package_;
};

#define NEEDS_NUMPY(bench) ONEBIT_SKIP_UNLESS((bench).available(), "h5py", "no python3 with numpy and h5py")

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  return std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, [](double x, double y) { return std::max(x, y); },
      [](double x, double y) { return std::fabs(x - y); });
}

/// Returns options for the built-in softmax model, beginning with zeros.
Arguments softmax_from_zeros(const Bench& bench, int features, int classes) {
  const std::string script =
      "import h5py, numpy as n\nwith h5py.File('zeros.h5', 'w') as f:\n  f['weights'] = n.zeros(" +
      std::to_string((features + 1) * classes) + ", 'f4')\n  f['tensor_sizes'] = [" +
      std::to_string(features * classes) + ", " + std::to_string(classes) +
      "]\n  f['tensor_names'] = n.array(['layer1.weight', 'layer1.bias'], dtype='S')\n";
  REQUIRE(run_in(bench.folder(), {find_python("h5py"), "-c", script}).status == 0);
  return {"--model", "softmax", "--model.init", "zeros.h5"};
}

/// Expects one line on stderr with all of `needles`, and no process left.
void check_failure(const Bench& bench, const Outcome& run, int status, const std::vector<std::string>& needles) {
  CAPTURE(run.err, run.out);
  CHECK(run.status == status);
  CHECK_THAT(run.err, StartsWith("onebit: error: "));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  for (const std::string& needle : needles) CHECK_THAT(run.err, Contains(needle));
  CHECK(bench.processes() == 0);
}

/// Expects an error before the run, which writes nothing.
void check_refused(const Bench& bench, const Arguments& more, const std::vector<std::string>& needles) {
  CAPTURE(more);
  check_failure(bench, bench.run(more, "refused.h5"), 2, needles);
  CHECK_FALSE(fs::exists(bench.folder() / "refused.h5"));
}

/// Expects an error during the run; the log is complete and gives the reason.
void check_failed(const Bench& bench, const Arguments& more, const std::vector<std::string>& needles,
                  sim::RunStatus status = sim::RunStatus::failed, std::size_t steps = 2) {
  CAPTURE(more);
  check_failure(bench, bench.run(more, "run.h5"), 1, needles);
  const sim::LogReader log(bench.folder() / "run.h5");
  CHECK(log.status() == status);
  CHECK(log.closed());
  CHECK(log.column("steps/loss").size() == steps);
  REQUIRE_FALSE(log.events().empty());
  CHECK_THAT(log.events().back().text, Contains(needles.front()));
}

}  // namespace

TEST_CASE("external: a program's softmax makes the run of the one that is built in") {
  const Bench bench;
  NEEDS_NUMPY(bench);
  const Arguments softmax = softmax_from_zeros(bench, 8, 3);
  // A sign that depends on rounding would make 1-bit runs differ; with so few numbers there is none.
  for (const std::string optimizer : {"adam", "onebit-adam", "local-sgd"}) {
    for (const std::string devices : {"cpu", "cpu:2", "debug"}) {
      CAPTURE(optimizer, devices);
      Arguments more = {"--optimizer", optimizer, "--devices", devices, "--steps", "200"};
      if (optimizer == "onebit-adam") more = joined(more, {"--freeze", "fixed:40"});
      const std::vector<double> own = bench.losses(joined(softmax, more));
      REQUIRE(own.size() == 200);
      CHECK(own.back() < own.front());
      CHECK(largest_difference(own, bench.losses(joined(bench.external(), more))) < 1e-6);
    }
  }
}

TEST_CASE("external: the same run on images, evaluations and hits included", "[once]") {
  const Bench bench;
  NEEDS_NUMPY(bench);
  ONEBIT_SKIP_UNLESS(fs::exists(shared_path("data/mnist")), "shared", "no MNIST");
  const std::string mnist = fs::canonical(shared_path("data/mnist")).string();
  const Arguments more = {
      "--data",         "idx",
      "--data.path",    mnist + "/t10k-images-idx3-ubyte.gz," + mnist + "/t10k-labels-idx1-ubyte.gz",
      "--steps",        "200",
      "--optimizer",    "adam",
      "--optimizer.lr", "1e-3"};
  const auto without_sizes = [&](const Arguments& model) {
    return joined({"run", "--workers", "8", "--batch", "4", "--threads", "2", "-o", "run.h5", "--overwrite"},
                  joined(model, more));
  };
  const auto log_of = [&](const Arguments& model) {
    const Outcome run = run_onebit(bench.folder(), without_sizes(model));
    CAPTURE(run.err);
    REQUIRE(run.status == 0);
    const sim::LogReader log(bench.folder() / "run.h5");
    return std::vector{log.column("steps/loss"), log.column("evaluations/loss"), log.column("evaluations/accuracy")};
  };
  const auto own = log_of(softmax_from_zeros(bench, 784, 10)), other = log_of(bench.external());
  CHECK(own[1].back() < 0.6);
  for (const std::size_t column : {0u, 1u}) CHECK(largest_difference(own[column], other[column]) < 2e-6);
  CHECK(largest_difference(own[2], other[2]) < 1e-3);
}

TEST_CASE("external: parts of a batch are averaged, and grouping changes no bit", "[once]") {
  const Bench bench;
  NEEDS_NUMPY(bench);
  const Arguments parts = {"--optimizer", "adam", "--accumulation", "3", "--steps", "20"};
  const std::vector<double> own = bench.losses(joined(softmax_from_zeros(bench, 8, 3), parts));
  for (const std::string group : {"1", "3", "8"}) {
    CHECK(largest_difference(own, bench.losses(joined(bench.external(), joined(parts, {"--worker-group", group})))) <
          1e-6);
  }
  const Arguments onebit = joined(bench.external(), {"--optimizer", "onebit-adam", "--steps", "20"});
  const std::vector<double> expected = bench.losses(onebit);
  for (const Arguments& more : {Arguments{"--worker-group", "3"}, Arguments{"--devices", "cpu:2"}}) {
    CHECK(bench.losses(joined(onebit, more)) == expected);
  }
}

TEST_CASE("external: tokens and their labels arrive, and initial weights may come from a file") {
  const Bench bench;
  NEEDS_NUMPY(bench);
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += static_cast<char>('a' + i % 26);
  write_file(bench.folder() / "text.txt", text);
  write_file(bench.folder() / "worker.py", R"(
import numpy, onebit.worker
class Model:
    def __init__(self, data):
        assert (data.context, data.vocabulary, data.targets, data.features) == (5, 256, 1, 0), data
        self.tensors = {"scale": (), "one": (3, 4, 2)}
    def check(self, weights, batch):
        assert batch.tokens.shape == (batch.size, 5) and batch.labels.shape == (batch.size, 1) and batch.features is None
        every = numpy.concatenate([batch.tokens, batch.labels], axis=1)
        assert ((every[:, 1:] - every[:, :-1]) % 26 == 1).all(), every
        return float(weights["scale"])
    def gradients(self, weights, batch):
        return self.check(weights, batch), {"scale": 1, "one": numpy.zeros((3, 4, 2))}
    def evaluate(self, weights, batch):
        return batch.size * self.check(weights, batch), 0, batch.size
onebit.worker.serve(Model)
)");
  REQUIRE(run_in(bench.folder(), {find_python("h5py"), "-c", R"(
import h5py, numpy
with h5py.File('init.h5', 'w') as file:
    file['weights'] = numpy.full(25, 2, 'f4')
    file['tensor_sizes'] = [1, 24]
    file['tensor_names'] = numpy.array(['scale', 'one'], dtype='S')
)"})
              .status == 0);
  const Outcome run = run_onebit(
      bench.folder(),
      joined({"run",  "--data",       "text",    "--data.path", "text.txt", "--model.context", "5",   "--workers",
              "3",    "--batch",      "4",       "--steps",     "3",        "--optimizer",     "sgd", "--optimizer.lr",
              "0.25", "--model.init", "init.h5", "-o",          "run.h5"},
             bench.external()));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  const sim::LogReader log(bench.folder() / "run.h5");
  CHECK(log.column("steps/loss") == std::vector<double>{2, 1.75, 1.5});
  CHECK(log.evaluations().back().loss == 1.25);
  REQUIRE(log.header().tensors.size() == 2);
  CHECK(log.header().tensors[1] == compress::Tensor{"one", 24, 3});
  CHECK(log.header().tensors[0] == compress::Tensor{"scale", 1});
}

TEST_CASE("external: without data the program draws by seed, step and worker") {
  const Bench bench;
  NEEDS_NUMPY(bench);
  write_file(bench.folder() / "worker.py", R"(
import numpy, onebit.worker
class Model:
    def __init__(self, data):
        assert data.data == "none" and data.workers == 3
        self.tensors = {"x": (4,)}
    def initialize(self, seed):
        return {"x": numpy.full(4, seed)}
    def gradients(self, weights, batch):
        assert batch.features is None and batch.tokens is None and batch.labels is None
        noise = numpy.random.default_rng([batch.seed, batch.step, batch.worker]).normal(size=(batch.size, 4)).mean(axis=0)
        x = weights["x"].astype(float)
        return x @ x / 2, {"x": x + noise}
    def evaluate(self, weights, batch):
        return weights["x"].astype(float) @ weights["x"] / 2, 0, 1
onebit.worker.serve(Model)
)");
  const auto losses = [&](const std::string& group) {
    const Outcome run = run_onebit(
        bench.folder(), joined({"run", "--workers", "3", "--batch", "4", "--steps", "8", "--optimizer", "adam",
                                "--seed", "5", "--worker-group", group, "-o", "run.h5", "--overwrite"},
                               bench.external()));
    CAPTURE(run.err);
    REQUIRE(run.status == 0);
    return sim::LogReader(bench.folder() / "run.h5").column("steps/loss");
  };
  const std::vector<double> all = losses("3");
  CHECK(all.front() == 50);
  CHECK(all == losses("1"));
}

TEST_CASE("external: the program is started once to plan and to train, and once more for each other device") {
  const Bench bench;
  NEEDS_NUMPY(bench);
  const auto starts = [&](const Arguments& more) {
    fs::remove(bench.folder() / "starts");
    bench.losses(joined(bench.external(), joined({"--optimizer", "adam"}, more)));
    const std::string lines = read_file(bench.folder() / "starts");
    return std::count(lines.begin(), lines.end(), '\n');
  };
  CHECK(starts({}) == 1);
  CHECK(starts({"--devices", "cpu:2"}) == 2);
  const Outcome dry = bench.run(joined(bench.external("exit"), {"--optimizer", "adam", "--dry-run"}), "dry.h5");
  CHECK(dry.status == 0);
  CHECK_THAT(line_of(dry.out, "copies on the host"), !Contains(" 0 B"));
  CHECK(bench.processes() == 0);
}

TEST_CASE("external: the plan is within a tenth of the peak that the system reports", "[once]") {
  ONEBIT_SKIP_UNLESS(!kSanitized, "plain memory", "a sanitizer takes memory of its own");
  const Bench bench;
  NEEDS_NUMPY(bench);
  const Arguments large = joined(bench.external(), {"--data.features", "1000", "--data.classes", "1000", "--steps", "4",
                                                    "--data.examples", "2000", "--json"});
  for (const Arguments& more : {Arguments{"--optimizer", "onebit-adam"}, Arguments{"--optimizer", "local-adam"},
                                Arguments{"--optimizer", "adam", "--devices", "cpu:2"},
                                Arguments{"--optimizer", "onebit-adam", "--worker-group", "2"}}) {
    const Outcome run = bench.run(joined(large, more), "run.h5");
    CAPTURE(more, run.out, run.err);
    REQUIRE(run.status == 0);
    const double planned = std::stod(json_value(run.out.substr(run.out.find("memory_plan")), "total"));
    CHECK(planned > 80e6);
    CHECK(run.peak_bytes > 0.9 * planned);
    CHECK(run.peak_bytes < 1.1 * planned);
  }
}

TEST_CASE("external: a program that is not a worker is refused before the run", "[once]") {
  const Bench bench;
  const auto external = [](const std::string& command, const Arguments& more = {}) {
    return joined({"--model", "external", "--optimizer", "adam", "--model.command", command}, more);
  };
  check_refused(bench, {"--model", "external", "--optimizer", "adam"}, {"no worker program", "--model.command"});
  check_refused(bench, external("no-such-program"), {"exit status 127", "not found", "model.command no-such-program"});
  check_refused(bench, external("echo broken >&2; exit 3"), {"ended with exit status 3: broken"});
  check_refused(bench, external("kill -9 $$"), {"was killed by signal 9"});
  check_refused(bench, external("true"), {"ended with exit status 0"});
  check_refused(bench, external("echo Hello, processes"), {"answers 'Hello, processes' to hello"});
  check_refused(bench, external("cat"), {"answers 'hello version=1", "initial=yes|no"});
  check_refused(bench, external("exec >&-; sleep 100 # " + bench.folder().path()), {"closed its standard output"});
  check_refused(bench, external("sleep 100 # " + bench.folder().path(), {"--model.timeout", "0.3"}),
                {"no answer within 0.3 seconds", "--model.timeout"});
  check_refused(bench, external("head -c 2000000 /dev/zero; sleep 100"), {"answer has no end of line"});
  const std::string endless = "echo hello version=1 initial=yes; i=0; while :; do echo tensor a$i; i=$((i+1)); done # ";
  check_refused(bench, external(endless + bench.folder().path()), {"there are more than 65,536 tensors"});
  for (const std::string timeout : {"0", "-1", "nan", "inf"}) {
    check_refused(bench, external("cat", {"--model.timeout", timeout}), {"model.timeout"});
  }
  const auto tensors = [&](const std::string& lines) {
    return external("read hello; printf 'hello version=1 initial=yes\\n" + lines + "ready\\n'; read more");
  };
  check_refused(bench, tensors(""), {"answers 'ready'", "tensor NAME SIZE"});
  check_refused(bench, tensors("tensor a 0\\n"), {"answers 'tensor a 0'", "not a number above 0"});
  check_refused(bench, tensors("tensor a 3x4\\n"), {"not a number above 0"});
  check_refused(bench, tensors("tensor\\n"), {"it is not a tensor line"});
  check_refused(bench, tensors("tensor a 2\\ntensor a 2\\n"), {"two tensors have the same name"});
  check_refused(bench, tensors("tensor a 4000000000 4000000000\\n"), {"implausibly large"});
  check_refused(bench, tensors("tensor a 2\\n"), {"ended with exit status"});
}

TEST_CASE("external: a program that fails before the first step is refused") {
  const Bench bench;
  NEEDS_NUMPY(bench);
  const auto refused = [&](const std::string& what, const Arguments& more, const std::vector<std::string>& needles) {
    fs::remove(bench.folder() / "starts");
    check_refused(bench, joined(bench.external(what), joined({"--optimizer", "adam"}, more)), needles);
  };
  refused("old", {}, {"answers 'hello version=0"});
  refused("uninitialised", {}, {"gives no initial weights", "--model.init"});
  refused("initial", {}, {"initial weights are not all finite"});
  refused("layout", {"--devices", "cpu:2"}, {"now reports different tensors"});
  refused("", {"--model.init", "absent.h5"}, {"absent.h5"});
}

TEST_CASE("external: a program that fails in the run ends it with a complete log", "[once]") {
  const Bench bench;
  NEEDS_NUMPY(bench);
  for (const std::string devices : {"cpu", "cpu:2"}) {
    const auto failed = [&](const std::string& what, const std::vector<std::string>& needles) {
      check_failed(bench, joined(bench.external(what), {"--optimizer", "adam", "--devices", devices}), needles);
    };
    failed("exit", {"ended with exit status 7: broken on purpose", "model.command " + bench.command("exit")});
    failed("kill", {"was killed by signal 9"});
    failed("raise", {"reports error ArithmeticError: no idea"});
    failed("size", {"layer1.bias has the shape (2,), expected (3,)"});
    failed("names", {"ValueError: tensors ['layer1.weight']"});
  }
  check_failed(bench,
               joined(bench.external("hang"), {"--optimizer", "adam", "--devices", "cpu:2", "--model.timeout", "10"}),
               {"no answer within 10 seconds", "--model.timeout"});
  const Arguments garbled = {"--model", "external",        "--optimizer",
                             "adam",    "--model.command", bench.command() + " | sed -u s/loss=.*/loss=much/"};
  check_failed(bench, garbled, {"answers 'ok loss=much' to evaluate"}, sim::RunStatus::failed, 0);
}

TEST_CASE("external: gradients and losses that are no numbers are a divergence that names the tensor") {
  const Bench bench;
  NEEDS_NUMPY(bench);
  for (const Arguments& more : {Arguments{"--optimizer", "adam"},
                                {"--optimizer", "onebit-adam", "--freeze", "fixed:2"},
                                {"--optimizer", "onebit-adam", "--freeze", "fixed:5"}}) {
    CAPTURE(more);
    check_failed(bench, joined(bench.external("nan"), more), {"is not finite"}, sim::RunStatus::diverged);
    check_failed(bench, joined(bench.external("loss"), more), {"loss is not finite"}, sim::RunStatus::diverged);
  }
  const Outcome run = bench.run(joined(bench.external("nan"), {"--optimizer", "adam"}), "run.h5");
  CHECK_THAT(run.err, Contains("layer1.bias") && Contains("step 3"));
}

TEST_CASE("external: whatever ends the program, its worker programs end too") {
  const Bench bench;
  NEEDS_NUMPY(bench);
  // A shell in between, a worker that does not read its input, and one that has started a daemon.
  const std::vector<std::pair<std::string, int>> ends = {
      {"slow", SIGINT}, {"daemon", SIGINT}, {"daemon", SIGKILL}, {"hang", SIGKILL}, {"hang", SIGABRT}};
  for (const auto& [what, signal] : ends) {
    CAPTURE(what, signal);
    fs::remove(bench.folder() / "run.h5");
    Process process(
        bench.folder() / "",
        onebit_command({"run", "--model", "external", "--model.command", "cd . && " + bench.command(what) + "; exit 0",
                        "--data", "synthetic", "--workers", "8", "--steps", "100000", "--devices", "cpu:2",
                        "--optimizer", "adam", "--overwrite", "-o", "run.h5"}));
    REQUIRE(process.poll([&] { return bench.processes() >= 4 && fs::exists(bench.folder() / "run.h5"); }));
    usleep(300'000);  // the third step may have begun or not; the run must end in either case
    process.send(signal);
    const Outcome run = process.finish();
    CHECK(run.status == (signal == SIGINT ? 130 : 128 + signal));
    CHECK(bench.all_gone());
  }
}

TEST_CASE("external: a signal ends a program that waits for an answer") {
  const Bench bench;
  NEEDS_NUMPY(bench);
  const Arguments run = {"run",         "--model", "external",           "--data", "synthetic", "--steps", "6",
                         "--optimizer", "adam",    "--checkpoint.every", "2",      "-o",        "run.h5"};
  const auto hanging = joined(run, {"--model.command", bench.command("hang")});
  Process process(bench.folder() / "", onebit_command(hanging));
  REQUIRE(process.poll([&] { return fs::exists(bench.folder() / "hangs"); }));
  process.send(SIGTERM);
  const Outcome stopped = process.finish();
  CAPTURE(stopped.err);
  CHECK(stopped.status == 130);
  CHECK(bench.all_gone());
  {
    const sim::LogReader log(bench.folder() / "run.h5");
    CHECK(log.status() == sim::RunStatus::stopped);
    CHECK(log.closed());
    CHECK(log.column("steps/loss").size() == 2);
    CHECK_THAT(log.events().back().text, Contains("stopped by a signal while the worker program computed an answer"));
  }
  const Outcome resumed = run_onebit(
      bench.folder(), joined(run, {"--model.command", bench.command(), "--resume", "--resume.allow", "model.command"}));
  CAPTURE(resumed.err);
  CHECK(resumed.status == 0);
  CHECK(sim::LogReader(bench.folder() / "run.h5").column("steps/loss").size() == 6);
}

TEST_CASE("external: Ctrl-C ends a program that waits for the tensors, even a background job") {
  const Bench bench;
  const std::string mark = bench.folder() / "waits";
  Process process(
      bench.folder() / "",
      joined({"sh", "-c", "trap '' INT; exec \"$@\"", "sh"},
             onebit_command({"run", "--model", "external", "--data", "synthetic", "--dry-run", "--model.command",
                             "setsid sh -c 'sleep 1000; :' " + mark + " & echo > " + mark + "; sleep 1000"})));
  REQUIRE(process.poll([&] { return fs::exists(mark); }));
  process.send(SIGINT);
  CHECK(process.finish().status == 128 + SIGINT);
  CHECK(bench.all_gone());
}
