// Compact traces: norms instead of gradients, which show when the variance may be frozen.

#include <cmath>

#include "sim/log/reader.hpp"
#include "sim/run/trace.hpp"
#include "tests/experiments/program.hpp"
#include "tests/experiments/sample_trace.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

/// Replays both traces with these options, into full-log.h5 and compact-log.h5.
void replay_both(const Folder& folder, const Arguments& options) {
  write_trace(folder / "full.h5", sample_gradients());
  write_compact_trace(folder / "compact.h5", sample_gradients());
  for (const std::string kind : {"full", "compact"}) {
    const Outcome run = run_onebit(
        folder, joined({"replay", kind + ".h5", "--log", kind + "-log.h5", "--log.tensors-every", "1"}, options));
    CAPTURE(kind, run.err);
    REQUIRE(run.status == 0);
  }
}

void check_near(const sim::LogReader& full, const sim::LogReader& compact, const std::string& column) {
  CAPTURE(column);
  const std::vector<double> expected = full.column(column), found = compact.column(column);
  REQUIRE(found.size() == expected.size());
  Index numbers = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(std::isnan(found[i]) == std::isnan(expected[i]));
    if (std::isnan(expected[i])) continue;
    CHECK(found[i] == Approx(expected[i]).epsilon(1e-5));
    ++numbers;
  }
  CHECK(numbers > 0);
}

std::vector<std::string> events_of(const sim::LogReader& log) {
  std::vector<std::string> texts;
  for (const sim::Event& event : log.events()) {
    texts.push_back(std::to_string(event.step) + " " + event.kind + " " + event.text.substr(0, event.text.find(',')));
  }
  return texts;
}

}  // namespace

TEST_CASE("compact trace: it freezes the variance when the gradients themselves do", "[once]") {
  const std::vector<Arguments> kinds = {
      {"--optimizer", "adam", "--optimizer.beta2", "0.9"},
      {"--optimizer", "adam", "--optimizer.beta2", "0.9", "--optimizer.clip", "1.5"},
      {"--optimizer", "onebit-adam", "--optimizer.beta2", "0.9", "--freeze", "auto", "--freeze.threshold", "0.85"},
      {"--optimizer", "onebit-adam", "--optimizer.beta2", "0.9", "--freeze", "fixed:20", "--optimizer.semantics",
       "deepspeed"},
      {"--optimizer", "onebit-lamb", "--optimizer.beta2", "0.9", "--freeze", "published", "--freeze.threshold", "0.9"}};
  for (const Arguments& kind : kinds) {
    CAPTURE(kind);
    const Folder folder;
    replay_both(folder, kind);
    const sim::LogReader full(folder / "full-log.h5"), compact(folder / "compact-log.h5");
    for (const char* column : {"steps/variance_l1", "steps/variance_ratio", "steps/variance_ratio_corrected",
                               "tensors/variance_l1", "steps/lr", "steps/phase"}) {
      check_near(full, compact, column);
    }
    CHECK(compact.steps()[5].grad_norm == Approx(full.steps()[5].grad_norm).epsilon(1e-5));
    CHECK(events_of(compact) == events_of(full));
    CHECK(events_of(full).size() == (kind[1] == "adam" ? 0U : 1U));
  }
}

TEST_CASE("compact trace: its log holds nothing else") {
  const Folder folder;
  replay_both(folder, {"--optimizer", "onebit-adam", "--freeze", "fixed:20"});
  const sim::LogReader log(folder / "compact-log.h5");
  for (const char* column : {"steps/loss", "steps/param_norm", "steps/update_norm", "steps/momentum_norm",
                             "steps/variance_l2", "steps/bytes_up", "steps/bytes_down", "steps/worker_codec_error",
                             "steps/server_error_norm", "steps/sign_density", "steps/codec_seconds",
                             "tensors/momentum_l2", "tensors/variance_l2", "tensors/least_denominator"}) {
    CAPTURE(column);
    CHECK(std::ranges::all_of(log.column(column), [](double value) { return std::isnan(value); }));
  }
  CHECK(log.traffic().empty());
  CHECK_FALSE(log.header().per_worker);
  CHECK(log.steps().back().masked == 0);
  CHECK(log.header().tensors[0].size == 700);
}

TEST_CASE("compact trace: replay says what it can answer, and the signs") {
  const Folder folder;
  write_compact_trace(folder / "compact.h5", sample_gradients());
  const Arguments replay = {"replay", "compact.h5", "--optimizer", "adam", "--overwrite", "--log", "log.h5"};
  const Outcome run = run_onebit(folder, replay);
  CAPTURE(run.err);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, StartsWith("replayed 60 steps, ") &&
                          Contains("the trace holds norms only: the log shows when the variance may be frozen, but "
                                   "holds no bytes, codec errors or parameters\n") &&
                          Contains("% change from one step to the next; a sign codec leaves a relative error of 0."));
  const Outcome json = run_onebit(folder, joined(replay, {"--json"}));
  const double error = std::stod(json_value(json.out, "sign_error"));
  const double changes = std::stod(json_value(json.out, "sign_changes"));
  CHECK((error > 0.3 && error < 0.7));      // of random numbers: about sqrt(1 - 3/4)
  CHECK((changes > 0.2 && changes < 0.6));  // more are positive than negative
  write_compact_trace(folder / "fewer.h5", sample_gradients(), "gradient_l1");
  const Outcome fewer =
      run_onebit(folder, {"replay", "fewer.h5", "--optimizer", "adam", "--json", "--log", "fewer-log.h5"});
  CHECK(json_value(fewer.out, "sign_error") == "null");
  CHECK(std::stod(json_value(fewer.out, "sign_changes")) == changes);
}

TEST_CASE("compact trace: analyze and report answer when to freeze, and price says that there is nothing to price") {
  const Folder folder;
  replay_both(folder, {"--optimizer", "adam", "--optimizer.beta2", "0.9"});
  const auto thresholds = [&](const std::string& log) {
    const Outcome run = run_onebit(folder, {"analyze", log});
    CAPTURE(run.err);
    CHECK(run.status == 0);
    CHECK_THAT(run.out, !Contains("nan"));
    const std::size_t begin = run.out.find("threshold"), end = run.out.find("\n\n", begin);
    return run.out.substr(begin, end - begin);
  };
  CHECK(thresholds("compact-log.h5") == thresholds("full-log.h5"));
  const Outcome report = run_onebit(folder, {"report", "compact-log.h5", "-o", "r.html"});
  CAPTURE(report.err);
  CHECK(report.status == 0);
  CHECK_THAT(without_scripts(read_file(folder / "r.html")), Contains("Variance and freeze") && !Contains("nan"));
  CHECK(run_onebit(folder, {"inspect", "compact-log.h5"}).status == 0);
  const Outcome price = run_onebit(folder, {"price", "compact-log.h5"});
  CHECK(price.status == 2);
  CHECK_THAT(price.err, StartsWith("onebit: error: the log has no exchanges to price (compact-log.h5); "));
}

TEST_CASE("compact trace: what it does not tell is refused") {
  const Folder folder;
  write_compact_trace(folder / "compact.h5", sample_gradients());
  const auto refused = [&](const Arguments& more, const std::string& message) {
    const Outcome run = run_onebit(folder, joined({"replay", "compact.h5"}, more));
    CAPTURE(run.err);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, StartsWith("onebit: error: " + message));
    CHECK(entries(folder).size() == 1);
  };
  const Arguments log = {"--log", "log.h5"};
  refused(joined(log, {"--optimizer", "sgd"}), "a compact trace cannot be replayed through this optimizer (sgd)");
  refused(joined(log, {"--optimizer", "adam", "--penalty", "0.1"}), "a compact trace does not show the effect of this");
  refused(joined(log, {"--optimizer", "onebit-adam", "--freeze", "fixed:9", "--optimizer.variance-floor", "1e-3"}),
          "a compact trace does not show the effect of this option (optimizer.variance-floor)");
  refused({"--optimizer", "adam", "-o", "params.h5"}, "a compact trace has no parameters");
  refused({"--optimizer", "adam", "--reference", "all"}, "the trace has no cases");
}

TEST_CASE("compact trace: damage is named") {
  const Folder folder;
  const auto refused = [&](const std::vector<hsize_t>& squares, std::vector<std::int64_t> sizes,
                           const std::string& why) {
    const std::string path = folder / "bad.h5";
    {
      const sim::h5::Object file = sim::h5::create_file(path);
      const std::vector<double> values(12, 1);
      write_array(file, "gradient_squares", H5T_NATIVE_DOUBLE, squares, values.data());
      write_array(file, "tensor_sizes", H5T_NATIVE_INT64, {sizes.size()}, sizes.data());
    }
    CHECK_THROWS_WITH(sim::GradientTrace(path), Contains(path) && Contains(why));
    std::filesystem::remove(path);
  };
  refused({3, 2, 2}, {4, 4}, "gradient_squares has 3 dimensions");
  refused({6, 2}, {4, 4, 4}, "gradient_squares and tensor_sizes differ in their number of tensors");
  refused({6, 2}, {4, -1}, "tensor_sizes holds a negative size");
  refused({6, 2}, {0, 0}, "all tensors are empty");
}

TEST_CASE("compact trace: the recorder keeps the norms of what it is given") {
  const std::string python = find_python("h5py");
  ONEBIT_SKIP_UNLESS(!python.empty(), "h5py", "no python3 with h5py");
  const Folder folder;
  const Variable package("PYTHONPATH", source_path("python"));
  const Outcome made = run_in(folder, {python, "-B", "-c", R"(
import numpy
from onebit.recorder import CompactRecorder, Recorder
random = numpy.random.default_rng(3)
x = {'w': random.normal(size=(3, 5)), 'none': numpy.zeros((0, 2)), 'b': random.normal(size=4)}
steps = [[{name: random.normal(size=value.shape) for name, value in x.items()} for _ in range(3)] for _ in range(30)]
with Recorder('full.h5', x, workers=3) as full, CompactRecorder('compact.h5', x, workers=3) as compact:
    for i, step in enumerate(steps):
        for recorder in (full, compact): recorder.step(step, losses=[i, i + 1, i + 5])
signs = numpy.sign([numpy.mean([g['w'] for g in step], axis=0) for step in steps])
import h5py
with h5py.File('compact.h5') as file:
    assert numpy.isnan(file['sign_changes'][0, 0])
    assert numpy.allclose(file['sign_changes'][1:, 0], (signs[1:] != signs[:-1]).mean(axis=(1, 2)))
)"});
  CAPTURE(made.err);
  REQUIRE(made.status == 0);
  for (const std::string kind : {"full", "compact"}) {
    const Outcome run = run_onebit(folder, {"replay", kind + ".h5", "--optimizer", "onebit-adam", "--optimizer.beta2",
                                            "0.9", "--freeze", "auto", "--freeze.scope", "tensor", "--freeze.threshold",
                                            "0.5", "--log.tensors-every", "1", "--log", kind + "-log.h5"});
    CAPTURE(kind, run.err);
    REQUIRE(run.status == 0);
  }
  const sim::LogReader full(folder / "full-log.h5"), compact(folder / "compact-log.h5");
  CHECK(events_of(compact).size() >= 3);
  CHECK(events_of(compact) == events_of(full));
  CHECK(compact.column("steps/loss") == full.column("steps/loss"));
  CHECK(compact.steps()[10].variance_l1 == Approx(full.steps()[10].variance_l1).epsilon(1e-5));
}
