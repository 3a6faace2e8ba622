#include "analysis/log/computing.hpp"

#include "analysis/compare/comparison.hpp"
#include "tests/analysis/runs.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;

namespace {

struct Written {
  std::uint32_t seed = 1;
  double seconds = 1;  ///< compute time of each of ten steps; the first two, a warm-up, take 100 more
  Index every = 1;     ///< steps between rows
  Index workers = 4;
  bool compressed = false;
};

void write_log(const std::string& path, const OptionValues& options, const Written& what) {
  sim::LogHeader header = run_header(options, what.seed);
  header.workers = what.workers;
  sim::LogWriter log(path, header, false);
  Index before = 0;
  for (Index step = 1; step <= 10; ++step) {
    netmodel::TrafficList exchanges = what.compressed ? compressed_exchange() : dense_exchange();
    for (netmodel::Traffic& exchange : exchanges) exchange.group_size = what.workers;
    log.append(step, exchanges);
    if (step % what.every != 0 && step != 1) continue;
    sim::StepRow row = sample_step(step);
    row.samples = 64 * step;
    row.phase = static_cast<Index>(what.compressed ? optim::Phase::compression : optim::Phase::dense);
    row.compute_seconds = static_cast<double>(step - before) * what.seconds + (step < 3 ? 100 : 0);
    row.wall_seconds = 2 * row.compute_seconds;
    before = step;
    log.append(row);
  }
  log.append(sim::EvaluationRow{0, 0, 3, 0.5, 0});
  log.append(sim::EvaluationRow{10, 640, 2, 0.5, 4800});
  log.close(sim::RunStatus::finished);
}

Run logged(const OptionValues& options, const Written& what = {}) {
  const Folder folder;
  write_log(folder / "run.h5", options, what);
  return load_run(sim::LogReader(folder / "run.h5"));
}

const OptionValues base = {
    {"optimizer", "adam"}, {"model", "mlp"}, {"data", "synthetic"}, {"batch", "16"}, {"accumulation", "1"}};

OptionValues with(const std::string& option, const std::string& value) {
  OptionValues options = base;
  options[option] = value;
  return options;
}

}  // namespace

TEST_CASE("computing: the time of a run is the median of its steps, divided by the workers") {
  CHECK(logged(base, {.seconds = 8}).summary.compute_seconds == Approx(2));
  CHECK(logged(base, {.seconds = 8, .every = 5}).summary.compute_seconds == Approx(2));  // rows cover several steps
  CHECK(logged(base).summary.batch == 16);
  CHECK(logged(base, {.workers = 1}).summary.batch == 64);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({3, 1, 2, 10}) == 2.5);
}

TEST_CASE("computing: one time for runs that compute the same gradients") {
  const Run adam = logged(base, {.seconds = 4}), slow = logged(with("optimizer", "onebit-adam"), {.seconds = 8});
  const Run again = logged(base, {.seed = 2, .seconds = 40}), other = logged(with("batch", "32"), {.seconds = 12});
  const Run twice = logged(with("optimizer", "cada1"), {.seconds = 16}),
            moved = logged(with("data.path", "elsewhere"), {.seconds = 8});
  const std::vector<SharedComputing::NamedRun> runs = {{"adam", &adam.summary},  {"onebit", &slow.summary},
                                                       {"adam", &again.summary}, {"batch", &other.summary},
                                                       {"cada", &twice.summary}, {"moved", &moved.summary}};
  const SharedComputing computing(runs);
  REQUIRE(computing.groups().size() == 3);
  CHECK(computing.groups()[0].arms == std::vector<std::string>{"adam", "onebit", "moved"});
  CHECK(computing.groups()[0].runs == 4);
  CHECK(computing.groups()[0].seconds == Approx(2));  // 1, 2, 2, 10
  for (const Run* run : {&adam, &slow, &again, &moved}) {
    CHECK(computing.size_of(run->summary).compute_seconds == computing.groups()[0].seconds);
  }
  CHECK(computing.size_of(other.summary).compute_seconds == Approx(3));
  CHECK(computing.size_of(twice.summary).compute_seconds == Approx(4));
}

TEST_CASE("computing: options of the optimizer, seeds and machines do not decide gradients, others do") {
  const std::string key = logged(base).summary.gradients;
  for (const auto& [option, value] : OptionValues{{"optimizer.lr", "1"},
                                                  {"codec", "top-k"},
                                                  {"devices", "debug:2"},
                                                  {"threads", "7"},
                                                  {"data.path", "x"},
                                                  {"eval.every", "3"}}) {
    CAPTURE(option);
    CHECK(logged(with(option, value)).summary.gradients == key);
  }
  for (const auto& [option, value] : OptionValues{{"model", "ngram"},
                                                  {"model.layers", "4,3"},
                                                  {"data.classes", "7"},
                                                  {"batch", "8"},
                                                  {"accumulation", "2"},
                                                  {"optimizer", "cada2"}}) {
    CAPTURE(option);
    CHECK(logged(with(option, value)).summary.gradients != key);
  }
  CHECK(logged(base, {.workers = 8}).summary.gradients != key);
}

TEST_CASE("computing: arms with the same gradients rank by their communication, whatever their machines took") {
  ComparisonRequest request;
  request.clusters = {round_cluster()};
  request.clusters[0].nic.effective = netmodel::BytesPerSecond(1e5);  // 480 bytes take 4.8 ms, 30 bytes 0.3 ms
  const double noise[] = {4e-3, 20.0, 2.8, 4e-4};
  for (std::size_t turn = 0; turn < 4; ++turn) {
    const Folder folder;
    for (std::size_t i = 0; i < 4; ++i) {
      const bool compressed = i < 2;
      const auto seed = static_cast<std::uint32_t>(1 + i % 2);
      write_log(folder / ((compressed ? "packed-" : "dense-") + std::to_string(seed) + ".h5"),
                with("optimizer", compressed ? "ef-sgd" : "adam"),
                {.seed = seed, .seconds = noise[(i + turn) % 4], .compressed = compressed});
    }
    const std::vector<Arm> arms = arms_of(read_logs(std::vector<std::string>{folder / ""}).runs);
    REQUIRE(arms.size() == 2);
    REQUIRE(arms[0].name == "dense");
    const Comparison result = compare(arms, request);
    REQUIRE(result.computing.size() == 1);
    CHECK(result.computing[0].seconds == Approx(1e-3));
    const double dense = result.arms[0].seconds[0].seconds.mean, packed = result.arms[1].seconds[0].seconds.mean;
    CAPTURE(turn, dense, packed);
    CHECK(packed < dense);
    const double saved =
        result.arms[0].times[0].communication[0].mean_seconds - result.arms[1].times[0].communication[0].mean_seconds;
    CHECK(dense - packed == Approx(10 * saved).epsilon(1e-6));
    CHECK(result.arms[0].seconds[0].seconds.half_width == Approx(0).margin(1e-12));
    CHECK(result.arms[1].to_target.seconds[0].seconds.mean < result.arms[0].to_target.seconds[0].seconds.mean);
  }
}
