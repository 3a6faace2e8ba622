// The benchmarks print what they promise. Their times are for people and are not tested.

#include <cmath>

#include "compress/codecs/codec.hpp"
#include "experiments/bench/bench.hpp"
#include "experiments/options/options.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// Checks what a benchmark printed as JSON: argument 1 is the text, argument 2 what was measured.
constexpr const char* kCheck = R"(
import json, math, sys
value = json.loads(sys.argv[1])
if sys.argv[2] == 'kernels':
    for device in value['devices']:
        assert device['copy_bytes_per_second'] > 0 and device['copy_bytes'] >= 256e6
        names = [kernel['kernel'] for kernel in device['kernels']]
        assert names == ['worker encode', 'server side', 'decode', 'dense mean', 'adam update', 'frozen update',
                         'squared norm', 'packed update'], names
        for kernel in device['kernels']:
            rate = kernel['elements'] * kernel['floor_bytes_per_element'] / kernel['seconds']
            assert math.isclose(rate, kernel['bytes_per_second'], rel_tol=1e-9)
            assert math.isclose(rate / device['copy_bytes_per_second'], kernel['share_of_copy'], rel_tol=1e-9)
        assert device['kernels'][0]['floor_bytes_per_element'] == 20.125
    print(len(value['devices']))
elif sys.argv[2] == 'scaling':
    first = value['rows'][0]
    for row in value['rows']:
        assert row['workers'] * row['batch'] == value['global_batch']
        assert 0 < row['gradient_seconds'] < row['step_seconds']
        assert math.isclose(row['gradient_of_one'], row['gradient_seconds'] / first['gradient_seconds'], rel_tol=1e-9)
        assert math.isclose(row['step_of_one'], row['step_seconds'] / first['step_seconds'], rel_tol=1e-9)
    print([row['workers'] for row in value['rows']], [row['gradient_bytes'] for row in value['rows']])
else:
    parts = [value[part + '_seconds'] for part in
             ('sample', 'forward', 'backward', 'encode', 'exchange', 'server', 'update')]
    assert all(part >= 0 for part in parts)
    floor = value['flops'] / value['flops_per_second'] + value['bytes'] / value['copy_bytes_per_second']
    assert math.isclose(floor, value['floor_seconds'], rel_tol=1e-9)
    assert [(part['part'], part['every']) for part in value['log'][:4]] == [
        ('row of /steps', 1), ('rows of /traffic', 1), ('row of /workers', 200), ('row of /tensors', 10)], value['log']
    log = sum(part['seconds'] / part['every'] for part in value['log'])
    assert len(value['log']) == 5 and log > 0 and math.isclose(log, value['log_seconds'], rel_tol=1e-9)
    assert value['step_seconds'] > 0 and value['big_batch_seconds'] > 0
    print(value['devices'], round(value['flops']), round(1000 * value['bytes']), value['exchange_seconds'] > 0)
)";

std::string checked(const Arguments& arguments, const std::string& what) {
  const std::string python = find_python("json");
  const Folder folder;
  const Outcome run = run_onebit(folder, joined(arguments, {"--json"}));
  CAPTURE(arguments, run.out, run.err);
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  const Outcome check = run_in(folder, {python, "-c", kCheck, run.out, what});
  CAPTURE(check.err);
  CHECK(check.status == 0);
  return check.out;
}

Arguments small_step(const std::string& optimizer, const std::string& devices) {
  return {"bench",       "step",    "--model",    "mlp",   "--model.layers", "6,5,3",
          "--workers",   "8",       "--elements", "4000",  "--batch",        "2",
          "--optimizer", optimizer, "--devices",  devices, "--rounds",       "3"};
}

}  // namespace

TEST_CASE("bench: kernels on every device, with their floors", "[once]") {
  ONEBIT_SKIP_UNLESS(!find_python("json").empty(), "python3", "no python3");
  CHECK(checked({"bench", "kernels", "--elements", "20000", "--rounds", "2"}, "kernels") == "1\n");
  CHECK(checked({"bench", "kernels", "--elements", "5000", "--rounds", "1", "--devices", "cpu:2"}, "kernels") == "2\n");
}

TEST_CASE("bench: kernels of every codec") {
  using namespace onebit::experiments;
  const device::Device device = device::parse_devices("cpu", 2).front();
  for (const auto& codec : compress::codecs()) {
    CAPTURE(codec.name);
    const sim::RunConfig config = make_config({{"workers", "3"}, {"codec", std::string(codec.name)}});
    const KernelReport report = bench_kernels(device, config, 5000, 1, /*copy_bytes=*/1 << 16);
    CHECK(report.rows.size() == (compress::make_codec(config.optimizer.exchange.up)->traits().signs ? 8 : 7));
    for (const KernelRow& row : report.rows) CHECK(row.seconds > 0);
  }
}

TEST_CASE("bench: a step by parts beside its floor and a big-batch step", "[once]") {
  ONEBIT_SKIP_UNLESS(!find_python("json").empty(), "python3", "no python3");
  // 16 examples; 6 x 5 needs two products, 5 x 3 three. 53 parameters, 8 workers; thousandths of a byte.
  constexpr int flops = 16 * (2 * 2 * 30 + 3 * 2 * 15);
  constexpr double compressed = 53 * (8 * (4 + 20.125) + 1 + 16.125 + 16.125), dense = 53 * (8 * 8.0 + 4 + 28);
  const auto expected = [&](const std::string& devices, double bytes, const std::string& exchanged) {
    return devices + " " + std::to_string(flops) + " " + std::to_string(std::llround(1000 * bytes)) + " " + exchanged;
  };
  CHECK(checked(small_step("onebit-adam", "cpu"), "step") == expected("cpu", compressed, "False\n"));
  CHECK(checked(small_step("onebit-adam", "cpu:2"), "step") == expected("cpu:2", compressed, "True\n"));
  CHECK(checked(small_step("adam", "cpu"), "step") == expected("cpu", dense, "True\n"));
}

TEST_CASE("bench: the bytes of touched rows are part of the floor", "[once]") {
  const Arguments arguments = {"bench",       "step", "--model",  "dlrm-nano", "--workers",  "2",    "--batch", "16",
                               "--optimizer", "sgd",  "--rounds", "1",         "--elements", "4000", "--json"};
  const Outcome run = run_onebit(Folder(), joined(arguments, {"--data.rows", "3,4", "--data.examples", "200",
                                                              "--tables.width", "4", "--tables.optimizer", "adagrad"}));
  REQUIRE(run.status == 0);
  // 32 examples touch all 7 rows. Each is read twice and written once, its gradient written and read: 5 x 4 numbers;
  // Adagrad's sum is read and written.
  CHECK_THAT(run.out, Contains("\"touched_rows\": 7, \"touched_bytes\": 616, \"tables_share_of_copy\": "));
}

TEST_CASE("bench: growing numbers of workers share the same examples", "[once]") {
  ONEBIT_SKIP_UNLESS(!find_python("json").empty(), "python3", "no python3");
  const Arguments scaling = {"bench", "scaling", "--model", "mlp", "--model.layers", "6,5,3", "--rounds", "2"};
  // 53 parameters
  CHECK(checked(joined(scaling, {"--optimizer", "onebit-adam", "--global-batch", "24"}), "scaling") ==
        "[1, 2, 4, 8] [212, 424, 848, 1696]\n");
  CHECK(checked(joined(scaling, {"--sweep", "12,3", "--global-batch", "24"}), "scaling") ==
        "[1, 12, 3] [212, 2544, 636]\n");
}

TEST_CASE("bench: tables for people", "[once]") {
  const Folder folder;
  const Outcome kernels = run_onebit(folder, {"bench", "kernels", "--elements", "5000", "--rounds", "1"});
  CHECK(kernels.status == 0);
  CHECK_THAT(kernels.out, Contains("GB/s (read + written)") && Contains("worker encode") && Contains("20.125"));
  const Outcome step = run_onebit(folder, small_step("onebit-adam", "cpu"));
  CHECK(step.status == 0);
  const Outcome scaling = run_onebit(folder, {"bench", "scaling", "--model", "mlp", "--model.layers", "6,5,3",
                                              "--sweep", "2", "--global-batch", "8", "--rounds", "1"});
  CHECK(scaling.status == 0);
  CHECK_THAT(scaling.out,
             Contains("8 examples per step") && Contains("workers") && Contains("N x P") && Contains("424 B"));
  CHECK_THAT(step.out, Contains("8 workers x 2") && Contains("step / floor") && Contains("big-batch step"));
}

TEST_CASE("bench: what cannot be measured is refused in one line") {
  const Folder folder;
  const auto refused = [&](const Arguments& arguments, const std::string& text) {
    const Outcome run = run_onebit(folder, arguments);
    CAPTURE(arguments, run.out, run.err);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Contains(text));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  };
  refused({"bench"}, "onebit bench kernels, step, scaling, price or mpi");
  refused({"bench", "everything"}, "onebit bench kernels, step, scaling, price or mpi");
  refused({"bench", "scaling", "--sweep", "3"}, "3 workers cannot share 1024 examples");
  refused({"bench", "scaling", "--sweep", "0"}, "0 workers cannot share");
  refused({"bench", "scaling", "--sweep", "two"}, "sweep");
  refused({"bench", "scaling", "--global-batch", "-1"}, "global-batch");
  refused({"bench", "scaling", "--workers", "4"}, "--sweep and --global-batch");
  refused({"bench", "kernels", "--rounds", "-1"}, "rounds");
  refused({"bench", "scaling", "--elements", "5"}, "bench kernels");
  refused({"bench", "step", "--global-batch", "64"}, "bench scaling");
  refused({"bench", "kernels", "--elements", "-5"}, "elements");
  refused({"bench", "step", "--devices", "cpu:9", "--workers", "8"}, "at most 2 devices");
}
