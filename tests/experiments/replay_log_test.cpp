// The log of a replay, and the commands that take it.

#include <cmath>
#include <map>

#include "sim/log/reader.hpp"
#include "tests/experiments/files/killed.hpp"
#include "tests/experiments/sample_trace.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

/// Replays trace.h5 with 1-bit Adam into log.h5.
Arguments replay(const Arguments& more = {}) {
  return joined({"replay", "trace.h5", "--optimizer", "onebit-adam", "--freeze", "fixed:20", "--threads", "1",
                 "--log.workers-every", "10", "--log", "log.h5"},
                more);
}

void check_replayed(const Folder& folder, const Arguments& more = {}) {
  const Outcome run = run_onebit(folder, replay(more));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  CHECK_THAT(run.out, Contains("log in log.h5\n"));
}

double norm(const float* values) {
  double square = 0;
  for (Index i = 0; i < kParameters; ++i) square += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return std::sqrt(square);
}

bool all_nan(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isnan(value); });
}

}  // namespace

TEST_CASE("replay log: it has what the optimizer and the exchange did, and no values for what a trace does not hold") {
  const Folder folder;
  write_trace(folder / "trace.h5", sample_gradients());
  check_replayed(folder, {"-o", "params.h5"});
  const sim::LogReader log(folder / "log.h5");
  CHECK(log.status() == sim::RunStatus::finished);
  const std::vector<sim::StepRow> rows = log.steps();
  REQUIRE(rows.size() == kSteps);
  std::vector<float> x(kSteps * kParameters);
  const sim::h5::Object params = sim::h5::open_file(folder / "params.h5", false);
  sim::h5::read_rows(sim::h5::open_dataset(params, "params"), H5T_NATIVE_FLOAT, x, kSteps);
  for (Index step = 1; step < kSteps; ++step) {
    const sim::StepRow& row = rows[static_cast<std::size_t>(step)];
    std::vector<float> change;
    for (Index i = 0; i < kParameters; ++i) {
      const auto at = static_cast<std::size_t>(step * kParameters + i);
      change.push_back(x[at] - x[at - kParameters]);
    }
    CAPTURE(step);
    CHECK(row.step == step + 1);
    CHECK(row.phase == (step < 20 ? 1 : 2));
    CHECK(row.param_norm == Approx(norm(&x[static_cast<std::size_t>(step * kParameters)])));
    CHECK(row.update_norm == Approx(norm(change.data())).epsilon(1e-3));
    CHECK(row.bytes_up > 0);
    if (row.phase == 1) CHECK(row.variance_l1 != rows[static_cast<std::size_t>(step - 1)].variance_l1);
    CHECK(row.wall_seconds > 0);
    CHECK(row.codec_seconds >= 0);
  }
  CHECK(rows[30].bytes_up < rows[10].bytes_up / 2);
  CHECK(rows[39].worker_codec_error > 0);
  CHECK(rows[39].server_error_norm > 0);
  CHECK(rows[39].sign_density > 0);
  CHECK(log.events().size() == 1);
  CHECK(log.events()[0].kind == "freeze");
  CHECK(log.events()[0].step == 20);
  CHECK(log.tensors().size() == 7);
  CHECK(log.workers().size() == 7);
  double sent = 0;
  for (const auto& [step, exchange] : log.traffic()) {
    if (step == 31) sent += netmodel::sent_bytes({exchange}).value;
  }
  CHECK(sent == rows[30].bytes_up + rows[30].bytes_down);
  CHECK(all_nan(log.column("steps/loss")));
  CHECK(all_nan(log.column("steps/compute_seconds")));
  CHECK(rows.back().samples == 0);
  CHECK(log.evaluations().empty());
}

TEST_CASE("replay log: its header says what was replayed, and how") {
  const Folder folder;
  write_trace(folder / "trace.h5", sample_gradients());
  check_replayed(folder, {"--penalty", "0.5"});
  const sim::LogHeader header = sim::LogReader(folder / "log.h5").header();
  const std::map<std::string, std::string> options(header.config.begin(), header.config.end());
  CHECK(header.workers == kWorkers);
  CHECK(header.tensors.size() == 2);
  CHECK(header.variance_lag > 0);
  CHECK_THAT(header.command_line, StartsWith("onebit replay trace.h5 --optimizer"));
  CHECK(options.at("replay.trace") == "trace.h5");
  CHECK(options.at("replay.penalty") == "0.5");
  CHECK(options.at("optimizer") == "onebit-adam");
  CHECK(options.at("freeze") == "fixed:20");
  CHECK(options.at("steps") == "60");
  CHECK(options.at("workers") == "9");
  for (const char* meaningless : {"model", "data", "batch", "seed", "replay.reference"}) {
    CHECK_FALSE(options.contains(meaningless));
  }
  std::vector<float> other = sample_gradients();
  other[3] += 1;
  write_trace(folder / "other.h5", other);
  REQUIRE(run_onebit(folder, {"replay", "other.h5", "--optimizer", "sgd", "--log", "other-log.h5"}).status == 0);
  CHECK(sim::LogReader(folder / "other-log.h5").header().data_hash != header.data_hash);
}

TEST_CASE("replay log: losses of the trace are logged, and a single worker has their mean") {
  const Folder folder;
  write_trace(folder / "trace.h5", sample_gradients(), true);
  check_replayed(folder);
  {
    const sim::LogReader log(folder / "log.h5");
    CHECK(log.steps()[9].loss == Approx(loss_of(9, 4)));
    CHECK(log.workers()[1].loss[7] == loss_of(9, 7));
  }
  check_replayed(folder, {"--workers", "1", "--overwrite"});
  const std::vector<double> single = sim::LogReader(folder / "log.h5").workers()[1].loss;
  REQUIRE(single.size() == 1);
  CHECK(single[0] == Approx(loss_of(9, 4)));
}

TEST_CASE("replay log: it is the same on several devices, and whatever is written besides") {
  const Folder folder;
  write_trace(folder / "trace.h5", sample_gradients());
  check_replayed(folder);
  REQUIRE(
      run_onebit(folder, replay({"--devices", "cpu:2", "-o", "params.h5", "--overwrite", "--log", "two.h5"})).status ==
      0);
  const sim::LogReader one(folder / "log.h5"), two(folder / "two.h5");
  for (const char* column : {"steps/param_norm", "steps/update_norm", "steps/variance_ratio", "steps/worker_error_norm",
                             "steps/server_codec_error", "workers/error_norm", "tensors/momentum_l2"}) {
    CAPTURE(column);
    const std::vector<double> here = one.column(column), there = two.column(column);
    CHECK(
        std::ranges::equal(here, there, [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }));
  }
  CHECK(one.traffic() == two.traffic());
}

TEST_CASE("replay log: inspect and analyze show what is in it") {
  const Folder folder;
  write_trace(folder / "trace.h5", sample_gradients());
  check_replayed(folder, {"--optimizer.beta2", "0.9"});
  const Outcome inspect = run_onebit(folder, {"inspect", "log.h5"});
  CAPTURE(inspect.err);
  CHECK(inspect.status == 0);
  CHECK_THAT(line_of(inspect.out, "status"), Contains("finished"));
  const Outcome analyze = run_onebit(folder, {"analyze", "log.h5"});
  CAPTURE(analyze.err, analyze.out);
  CHECK(analyze.status == 0);
  CHECK_THAT(analyze.out, Contains("nothing wrong was found") && Contains("threshold") && !Contains("nan"));
  CHECK_THAT(run_onebit(folder, {"analyze", "log.h5", "--json"}).out, StartsWith("{"));
}

TEST_CASE("replay log: a report shows variance and network, and judges no losses") {
  const Folder folder;
  write_trace(folder / "trace.h5", sample_gradients());
  check_replayed(folder);
  REQUIRE(run_onebit(folder, {"replay", "trace.h5", "--optimizer", "adam", "--log", "adam.h5"}).status == 0);
  const Outcome report = run_onebit(folder, {"report", "log.h5", "adam.h5", "--cluster", "eth10", "-o", "r.html"});
  CAPTURE(report.err);
  CHECK(report.status == 0);
  const std::string page = without_scripts(read_file(folder / "r.html"));
  CHECK_THAT(page, Contains("2 arms, 2 runs") && Contains("Variance and freeze") && Contains("<summary>Network") &&
                       Contains("How many bytes does each arm send?") && Contains(">adam: each worker sent ") &&
                       Contains("replays have no evaluations, so there are no losses to judge") &&
                       !Contains("is the parent of") &&
                       Contains("computing: counted as 0, because no log records its time") && !Contains("Diverged:") &&
                       !Contains("undefined") && !Contains("Final loss:"));
  const Outcome both = run_onebit(folder, {"analyze", "log.h5", "adam.h5"});
  CAPTURE(both.err);
  CHECK(both.status == 0);
  CHECK_THAT(both.out, Contains("note: replays have no evaluations") && !Contains("nan"));
  CHECK(run_onebit(folder, {"report", "log.h5", "-o", "one.html"}).status == 0);
}

TEST_CASE("replay log: its exchanges are priced") {
  const Folder folder;
  write_trace(folder / "trace.h5", sample_gradients());
  check_replayed(folder);
  const Arguments price = {"price", "log.h5", "--cluster", "eth10"};
  const Outcome bare = run_onebit(folder, price);
  CAPTURE(bare.err);
  CHECK(bare.status == 0);
  CHECK_THAT(bare.out,
             Contains("warmup") && Contains("compression") && Contains("(times: not recorded, so counted as 0"));
  CHECK(bare.err ==
        "onebit: warning: the log of a replay does not record the batch: samples per second are computed as if each "
        "gradient had one sample\n");
  const Outcome timed =
      run_onebit(folder, joined(price, {"--step.forward", "5ms", "--step.backward", "10ms", "--json"}));
  CAPTURE(timed.err);
  CHECK(timed.status == 0);
  CHECK(std::stod(json_value(timed.out, "forward_seconds")) == 0.005);
}

TEST_CASE("replay log: a replay that fails says so in its log") {
  const Folder folder;
  std::vector<float> gradients = sample_gradients();
  gradients[(30 * kWorkers + 1) * kParameters + 15] = NAN;
  write_trace(folder / "trace.h5", gradients);
  const Outcome run = run_onebit(folder, replay());
  CAPTURE(run.err);
  CHECK(run.status == 1);
  const sim::LogReader log(folder / "log.h5");
  CHECK(log.status() == sim::RunStatus::diverged);
  CHECK(log.committed_rows() == 30);
  CHECK(log.events().back().kind == "divergence");
  CHECK_THAT(run.err, Contains(sim::reason_of_end(log.events())));
  CHECK_THAT(run_onebit(folder, {"analyze", "log.h5"}).out, Contains("problem"));
  write_trace(folder / "whole.h5", sample_gradients());
  const Outcome never = run_onebit(folder, {"replay", "whole.h5", "--optimizer", "onebit-adam", "--freeze", "auto",
                                            "--freeze.lag", "2", "--freeze.threshold", "1", "--log", "never.h5"});
  CHECK(never.status == 1);
  CHECK(sim::LogReader(folder / "never.h5").status() == sim::RunStatus::failed);
}

TEST_CASE("replay log: it cannot be continued, and a killed replay is to be repeated") {
  const Folder folder;
  write_trace(folder / "trace.h5", sample_gradients());
  killed_at(folder, "log.flushed:3", replay({"--log.flush-every", "5"}));
  const Outcome inspect = run_onebit(folder, {"inspect", "log.h5"});
  CAPTURE(inspect.err, inspect.out);
  CHECK_THAT(line_of(inspect.out, "status"),
             Contains("interrupted at step 10; replay the trace again with --overwrite"));
  const Outcome resume = run_onebit(folder, {"run", "--resume", "-o", "log.h5"});
  CHECK(resume.status == 2);
  CHECK_THAT(resume.err, StartsWith("onebit: error: the log is from a replay, which cannot be continued (log.h5)"));
  CHECK_THAT(run_onebit(folder, replay()).err, StartsWith("onebit: error: log exists (log.h5)"));
  check_replayed(folder, {"--overwrite", "--log.compression", "4"});
  CHECK(sim::LogReader(folder / "log.h5").committed_rows() == kSteps);
}

TEST_CASE("replay log: options that do not fit are refused") {
  const Folder folder;
  write_trace(folder / "trace.h5", sample_gradients());
  const auto refused = [&](const Arguments& more, const std::string& message) {
    const auto before = entries(folder);
    const Outcome run = run_onebit(folder, joined({"replay", "trace.h5", "--optimizer", "adam"}, more));
    CAPTURE(run.err);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, StartsWith("onebit: error: " + message));
    CHECK(entries(folder) == before);
  };
  refused({"-o", "params.h5", "--log.every", "2"}, "the replay writes no log (log.every 2); give --log FILE.h5 too");
  refused({"-o", "same.h5", "--log", "same.h5"}, "one file cannot hold the parameters and the log (same.h5)");
  refused({"--log", "log.h5", "--reference", "all"}, "one file cannot hold all cases (log log.h5)");
  refused({"--log", "log.h5", "--probe.every", "5"}, "option has no meaning in a replay (probe.every 5)");
  refused({"--log", "trace.h5", "--overwrite"}, "cannot overwrite log: another program has it open (trace.h5)");
}

TEST_CASE("replay: without an output the log gets a name that is made up") {
  const Folder folder;
  write_trace(folder / "trace.h5", sample_gradients());
  const Outcome run = run_onebit(folder, {"replay", "trace.h5", "--optimizer", "adam"});
  CAPTURE(run.out, run.err);
  REQUIRE(run.status == 0);
  CHECK_THAT(run.err, StartsWith("onebit: the log is replay-") && Contains(".h5; --log gives it another name\n"));
  const std::string name = run.err.substr(19, run.err.find(';') - 19);
  CHECK(sim::LogReader(folder / name).status() == sim::RunStatus::finished);
}
