// Traces written by onebit.recorder: they replay as computed by hand, and recording takes little memory however
// long they are.

#include "sim/log/reader.hpp"
#include "tests/experiments/program.hpp"
#include "tests/sanitized.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// Runs a script that uses the recorder.
Outcome python(const Folder& folder, const std::string& script) {
  const Variable package("PYTHONPATH", source_path("python"));
  return run_in(
      folder, {find_python("h5py"), "-B", "-c", "import h5py, numpy\nfrom onebit.recorder import Recorder\n" + script});
}

void check_python(const Folder& folder, const std::string& script) {
  const Outcome run = python(folder, script);
  CAPTURE(run.err, script);
  REQUIRE(run.status == 0);
}

constexpr Index kSteps = 40, kWorkers = 4, kParameters = 200'000;
constexpr double kTraceBytes = 4.0 * static_cast<double>(kSteps * kWorkers * kParameters);

/// 128 MB of gradients, all 1, written by `how` to the open file f.
std::string large_trace(const std::string& how) {
  return "steps, workers, parameters = " + std::to_string(kSteps) + ", " + std::to_string(kWorkers) + ", " +
         std::to_string(kParameters) + "\nones = numpy.ones((workers, parameters), 'f4')\n" + how;
}

std::string by_h5py(const std::string& layout) {
  return large_trace(
      "with h5py.File('trace.h5', 'w') as f:\n"
      "  f['x0'], f['tensor_sizes'] = numpy.zeros(parameters, 'f4'), [parameters]\n"
      "  g = f.create_dataset('gradients', (steps, workers, parameters), 'f4'" +
      layout +
      ")\n"
      "  for step in range(steps): g[step] = ones\n");
}

}  // namespace

TEST_CASE("recorder: what it records replays as computed by hand") {
  ONEBIT_SKIP_UNLESS(!find_python("h5py").empty(), "h5py", "no python3 with h5py");
  const Folder folder;
  check_python(folder, R"(
random = numpy.random.default_rng(3)
x = {'w': random.normal(size=(3, 5)), 'none': numpy.zeros((0, 2)), 'b': random.normal(size=4)}
with Recorder('trace.h5', x, workers=3) as recorder:
    for _ in range(7):
        recorder.step([{name: random.normal(size=value.shape) for name, value in x.items()} for _ in range(3)])
with Recorder('flat.h5', numpy.arange(6), 2, tensor_sizes=[2, 4]) as recorder:
    recorder.step(numpy.ones((2, 6)))
)");
  const Outcome replay =
      run_onebit(folder, {"replay", "trace.h5", "--optimizer", "sgd", "--optimizer.lr", "0.5", "-o", "params.h5"});
  CAPTURE(replay.err);
  REQUIRE(replay.status == 0);
  CHECK_THAT(replay.out, Contains("replayed 7 steps, 3 workers, 19 parameters"));
  CHECK(run_onebit(folder, {"replay", "flat.h5", "--optimizer", "adam", "-o", "flat-params.h5"}).status == 0);
  CHECK(run_onebit(folder, {"replay", "trace.h5", "--optimizer", "ef-momentum-sgd", "--codec", "power-sgd",
                            "--codec.rank", "1", "-o", "low-rank.h5"})
            .status == 0);
  check_python(folder, R"(
with h5py.File('trace.h5') as trace, h5py.File('params.h5') as replay:
    assert list(trace['tensor_sizes']) == [15, 0, 4]
    assert trace['tensor_shapes'][()].tolist() == [[3, 5], [0, 0], [4, 0]]
    assert trace['gradients'].dtype == trace['x0'].dtype == numpy.float32
    expected = trace['x0'][()] - 0.5 * trace['gradients'][()].astype('f8').mean(axis=1).cumsum(axis=0)
    assert abs(expected).max() > 0.5 and abs(replay['params'][()] - expected).max() < 1e-6
)");
}

TEST_CASE("recorder: losses are recorded in all steps or in none") {
  ONEBIT_SKIP_UNLESS(!find_python("h5py").empty(), "h5py", "no python3 with h5py");
  const Folder folder;
  check_python(folder, R"(
def refused(work):
    try:
        work()
    except ValueError:
        return True
x = numpy.zeros(3)
with Recorder('trace.h5', x, workers=2) as recorder:
    recorder.step([x, x], losses=[3, 2])
    assert refused(lambda: recorder.step([x, x])) and refused(lambda: recorder.step([x, x], [1]))
    recorder.step([x, x], [2, 1])
with Recorder('none.h5', x, workers=2) as recorder:
    recorder.step([x, x])
    assert refused(lambda: recorder.step([x, x], [1, 2]))
with h5py.File('trace.h5') as trace:
    assert trace['losses'][()].tolist() == [[3, 2], [2, 1]] and len(trace['gradients']) == 2
)");
  CHECK(run_onebit(folder, {"replay", "trace.h5", "--optimizer", "sgd", "--log", "log.h5"}).status == 0);
  CHECK(sim::LogReader(folder / "log.h5").column("steps/loss") == std::vector<double>{2.5, 1.5});
}

TEST_CASE("recorder: every step is in the file at once, and a step that does not fit is not") {
  ONEBIT_SKIP_UNLESS(!find_python("h5py").empty(), "h5py", "no python3 with h5py");
  const Folder folder;
  check_python(folder, R"(
def refused(work):
    try:
        work()
    except (ValueError, OSError):
        return True
x = {'w': numpy.zeros(3), 'b': numpy.zeros(1)}
with Recorder('trace.h5', x, workers=2) as recorder:
    recorder.step([x, x])
    for wrong in ([x], [x, {'w': x['w']}], [x, numpy.zeros(3)], [x, {'w': x['w'], 'b': numpy.zeros(2)}]):
        assert refused(lambda: recorder.step(wrong)), wrong
    assert refused(lambda: Recorder('trace.h5', x, workers=2))
    assert refused(lambda: Recorder('other.h5', numpy.zeros(3), 2, tensor_sizes=[1, 1]))
    recorder.step([x, x])
    assert recorder.gradients.shape == (2, 2, 4)
)");
  CHECK(run_onebit(folder, {"replay", "trace.h5", "--optimizer", "sgd", "-o", "params.h5"}).status == 0);
}

TEST_CASE("recorder: a trace is replayed in much less memory than it takes, however its file is laid out", "[once]") {
  ONEBIT_SKIP_UNLESS(!kSanitized, "plain memory", "a sanitizer takes memory of its own");
  ONEBIT_SKIP_UNLESS(!find_python("h5py").empty(), "h5py", "no python3 with h5py");
  const std::string recorded = large_trace(
      "with Recorder('trace.h5', numpy.zeros(parameters), workers) as recorder:\n"
      "  for _ in range(steps): recorder.step(ones)\n");
  for (const std::string& script :
       {recorded, by_h5py(""), by_h5py(", chunks=True"), by_h5py(", chunks=(8, 1, parameters), compression=1")}) {
    const Folder folder;
    check_python(folder, script);
    for (const std::string optimizer : {"adam", "local-sgd"}) {
      CAPTURE(script, optimizer);
      const Outcome replay =
          run_onebit(folder, {"replay", "trace.h5", "--optimizer", optimizer, "-o", "params.h5", "--overwrite"});
      CAPTURE(replay.err);
      CHECK(replay.status == 0);
      CHECK(replay.peak_bytes > 10e6);
      CHECK(replay.peak_bytes < kTraceBytes / 2);
    }
  }
}

TEST_CASE("recorder: a program that is killed leaves the steps that it has recorded, and other shapes are refused") {
  ONEBIT_SKIP_UNLESS(!find_python("h5py").empty(), "h5py", "no python3 with h5py");
  const Folder folder;
  python(folder, R"(
import os
recorder = Recorder('trace.h5', {'w': numpy.zeros((3, 5)), 'b': numpy.zeros(4)}, workers=2)
step = {'w': numpy.ones((3, 5)), 'b': numpy.ones(4)}
for _ in range(5): recorder.step([step, step])
try: recorder.step([step, {'w': numpy.ones((5, 3)), 'b': numpy.ones(4)}])
except ValueError: os.kill(os.getpid(), 9)
)");
  const Outcome replay = run_onebit(folder, {"replay", "trace.h5", "--optimizer", "sgd", "-o", "params.h5"});
  CAPTURE(replay.err);
  CHECK(replay.status == 0);
  CHECK_THAT(replay.out, Contains("replayed 5 steps, 2 workers, 19 parameters"));
  for (const std::string reference : {"all", "adam"}) {
    const Outcome none = run_onebit(folder, {"replay", "trace.h5", "--reference", reference});
    CHECK(none.status == 2);
    CHECK_THAT(none.err, Contains("the trace has no cases"));
  }
}
