// Trajectories of DeepSpeed, PyTorch and other projects, reproduced by the program.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>
#include <sstream>

#include "sim/log/h5.hpp"
#include "sim/run/trace.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr double kLimit = 1e-4;

struct Suite {
  std::string file;  ///< name of the file in golden/
  std::string semantics;
  std::size_t least;  ///< smallest number of cases in it
};

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = {
      {"deepspeed_n4.h5", "deepspeed", 5}, {"deepspeed_n8.h5", "deepspeed", 5}, {"torch_n4.h5", "paper", 4}};
  return all;
}

std::vector<std::string> cases_of(const Suite& suite, const std::string& path) {
  const std::vector<std::string> names = sim::GradientTrace(path).cases();
  REQUIRE(names.size() >= suite.least);
  return names;
}

std::string text(double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  return digits;
}

/// A case's hyper-parameters, written out as a user would.
Arguments explicit_options(const std::string& path, const std::string& name) {
  Arguments options;
  for (const auto& [key, value] : sim::GradientTrace(path).attributes(name)) {
    if (key == "optimizer") {
      options = joined(options, {"--optimizer", value.text});
    } else if (key == "betas") {
      options = joined(options, {"--optimizer.beta1", text(value.numbers.at(0))});
      options = joined(options, {"--optimizer.beta2", text(value.numbers.at(1))});
    } else if (key == "freeze_step") {
      options = joined(options, {"--freeze", "fixed:" + text(value.numbers.at(0))});
    } else {
      std::string option = "--optimizer." + key;
      std::replace(option.begin(), option.end(), '_', '-');
      options = joined(options, {option, text(value.numbers.at(0))});
    }
  }
  return options;
}

/// Returns the largest relative difference of the displacement over all steps, independently of the program's own
/// figure.
constexpr const char* kCompare = R"(
import sys, h5py, numpy
trace, name, replayed = sys.argv[1:4]
def worst(x0, params, expected):
    assert params.shape == expected.shape
    away, moved = numpy.linalg.norm(params - expected, axis=-1), numpy.linalg.norm(expected - x0, axis=-1)
    return max(0 if a == 0 else a / m if m > 0 else 1e9 for a, m in zip(away.flat, moved.flat))
with h5py.File(trace, 'r') as file, h5py.File(replayed, 'r') as mine:
    case, x0 = file[name], file['x0'][:].astype('f8')
    assert ('params_all_workers' in case) == ('params_all_workers' in mine)
    print('%.17g' % max(worst(x0, mine[data][:].astype('f8'), case[data][:].astype('f8'))
                        for data in ('params', 'params_all_workers') if data in case))
)";

double number(const std::string& digits) {
  CAPTURE(digits);
  double value = NAN;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  CHECK(code == std::errc());
  CHECK(std::isfinite(value));
  return value;
}

/// Files with other projects' code, whose cases say how far a float32 implementation may deviate.
const std::vector<std::string>& other_files() {
  static const std::vector<std::string> all = {"powersgd_hook.h5", "federated.h5", "compressed_sgd.h5", "optax_n4.h5"};
  return all;
}

/// Whether the program has a method, given its recorded name.
bool is_ours(const std::string& recorded) {
  static const std::set<std::string> names = {"powersgd", "powersgd-paper", "ef21", "ef-sgd", "true-topk", "lamb"};
  return names.contains(recorded);
}

/// Returns the relative difference of the displacement that is allowed for a float32 implementation at every step: the
/// limit in golden/README.md or, if the case magnifies every rounding, the difference between two implementations in
/// float64, scaled to float32.
std::vector<double> granted(const sim::GradientTrace& trace, const std::string& name) {
  constexpr double kRoundings = 0x1p29;  // ratio of float32's roundings to float64's
  const double check = trace.attributes(name).at("check_error").numbers.at(0);
  const double least = std::max(1e-5, 4 * kRoundings * check);
  std::vector<double> limits(static_cast<std::size_t>(trace.steps()), least);
  if (const auto sensitivity = trace.recorded(name)->find("float32_sensitivity")) {
    for (std::size_t i = 0; i < limits.size(); ++i) limits[i] = std::max(limits[i], 10 * sensitivity->values.at(i));
  }
  return limits;
}

/// Returns the relative difference of the displacement at every step between a replay's output and the record.
std::vector<double> differences(const sim::GradientTrace& trace, const std::string& name, const std::string& replayed) {
  const sim::h5::Object file = sim::h5::open_file(replayed, false);
  std::vector<float> x(static_cast<std::size_t>(trace.parameters()));
  std::vector<double> result;
  for (Index step = 0; step < trace.steps(); ++step) {
    sim::h5::read_rows(sim::h5::open_dataset(file, "params"), H5T_NATIVE_FLOAT, x, 1, step);
    const std::vector<double> reference = trace.reference(name, step);
    double away = 0, moved = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double d = static_cast<double>(x[i]) - reference[i], r = reference[i] - static_cast<double>(trace.x0()[i]);
      away += d * d;
      moved += r * r;
    }
    result.push_back(std::sqrt(away / moved));
  }
  return result;
}

}  // namespace

TEST_CASE("golden: cases of other projects' code are reproduced with their random numbers", "[once]") {
  const bool shared = std::filesystem::exists(shared_path("golden/powersgd_hook.h5"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const Folder folder;
  for (const std::string& file : other_files()) {
    const std::string path = shared_path("golden/" + file);
    int ours = 0;
    for (const std::string& name : sim::GradientTrace(path).cases()) {
      const sim::GradientTrace trace(path, name);
      const std::string recorded = trace.attributes(name).at("optimizer").text;
      CAPTURE(file, name);
      const Outcome run = run_onebit(folder, {"replay", path, "--reference", name, "-o", "params.h5", "--overwrite"});
      if (!is_ours(recorded)) {
        CHECK(run.status == 2);
        CHECK_THAT(run.err, Contains("the program") && Contains(name + ": " + recorded));
        continue;
      }
      CAPTURE(run.err);
      REQUIRE(run.status == 0);
      ++ours;
      const std::vector<double> limits = granted(trace, name);
      const std::vector<double> found = differences(trace, name, folder / "params.h5");
      for (std::size_t step = 0; step < found.size(); ++step) {
        CAPTURE(step, found[step], limits[step]);
        CHECK(found[step] <= limits[step]);
      }
    }
    CHECK(ours >= 2);
  }
}

TEST_CASE("golden: recorded random numbers are taken, not drawn") {
  const bool shared = std::filesystem::exists(shared_path("golden/powersgd_hook.h5"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const Folder folder;
  const auto worst = [&](const std::string& file, const std::string& name, const Arguments& more) {
    const Outcome run =
        run_onebit(folder, joined({"replay", shared_path("golden/" + file), "--reference", name, "--json"}, more));
    CAPTURE(name, run.err);
    REQUIRE(run.status == 0);
    return number(json_value(run.out, "worst_relative_difference"));
  };
  CHECK(worst("powersgd_hook.h5", "powersgd_r2_cold", {"--codec.dense-steps", "3"}) > 1e-2);
  CHECK(worst("federated.h5", "ef21_randk_scaled", {"--codec.dense-steps", "0"}) > 1e-2);
  CHECK(worst("compressed_sgd.h5", "ef_sign_momentum", {"--penalty", "0"}) > 1e-4);
  const Outcome other = run_onebit(
      folder, {"replay", shared_path("golden/federated.h5"), "--reference", "ef21_randk_scaled", "--codec.k", "11"});
  CHECK(other.status == 2);
  CHECK_THAT(other.err, Contains("mask_indices") && Contains("expected: [40, 5, 11]"));
}

TEST_CASE("golden: a table names the cases of methods that the program does not have") {
  const bool shared = std::filesystem::exists(shared_path("golden/powersgd_hook.h5"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const Folder folder;
  const Outcome run = run_onebit(folder, {"replay", shared_path("golden/federated.h5"), "--reference", "all"});
  CHECK(run.status == 0);
  CHECK_THAT(line_of(run.out, "ef21_topk "), Contains("ef21"));
  CHECK_THAT(line_of(run.out, "not replayed: diana_qsgd"), Contains("does not have the method"));
  const Outcome wrong = run_onebit(
      folder, {"replay", shared_path("golden/federated.h5"), "--reference", "all", "--codec.warm-start", "maybe"});
  CHECK(wrong.status == 2);
}

TEST_CASE("golden: every case is reproduced by --reference", "[once]") {
  const bool shared = std::filesystem::exists(shared_path("golden"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const Folder folder;
  for (const Suite& suite : suites()) {
    const std::string path = shared_path("golden/" + suite.file);
    for (const std::string& name : cases_of(suite, path)) {
      CAPTURE(suite.file, name);
      const Outcome run =
          run_onebit(folder, {"replay", path, "--reference", name, "--optimizer.semantics", suite.semantics, "--json"});
      CHECK(run.status == 0);
      CHECK(run.err.empty());
      const double worst = number(json_value(run.out, "worst_relative_difference"));
      CHECK(worst <= kLimit);
      WARN(suite.file << " " << name << ": worst " << worst << " at step " << json_value(run.out, "worst_step"));
      if (sim::GradientTrace(path).has_worker_reference(name)) {
        CHECK(number(json_value(run.out, "worst_relative_difference_all_workers")) <= kLimit);
      }
    }
  }
  CHECK(entries(folder).empty());
}

TEST_CASE("golden: every case is reproduced by explicit options, judged by h5py", "[once]") {
  const bool shared = std::filesystem::exists(shared_path("golden"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const std::string python = find_python("h5py");
  ONEBIT_SKIP_UNLESS(!python.empty(), "h5py", "no python3 with h5py");
  const Folder folder;
  for (const Suite& suite : suites()) {
    const std::string path = shared_path("golden/" + suite.file);
    for (const std::string& name : cases_of(suite, path)) {
      CAPTURE(suite.file, name);
      const Arguments options =
          joined({"replay", path, "--optimizer.semantics", suite.semantics, "-o", "params.h5", "--overwrite"},
                 explicit_options(path, name));
      const Outcome run = run_onebit(folder, options);
      CHECK(run.status == 0);
      CHECK_THAT(run.out, StartsWith("replayed "));
      const Outcome judge = run_in(folder, {python, "-c", kCompare, path, name, "params.h5"});
      CAPTURE(judge.err);
      REQUIRE(judge.status == 0);
      CHECK(number(judge.out.substr(0, judge.out.find('\n'))) <= kLimit);
    }
  }
}

TEST_CASE("golden: all cases of a file in one table") {
  const bool shared = std::filesystem::exists(shared_path("golden"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const Folder folder;
  for (const Suite& suite : suites()) {
    const std::string path = shared_path("golden/" + suite.file);
    const Outcome run =
        run_onebit(folder, {"replay", path, "--reference", "all", "--optimizer.semantics", suite.semantics});
    CAPTURE(suite.file, run.err);
    CHECK(run.status == 0);
    CHECK_THAT(
        run.out,
        StartsWith("largest relative difference between the displacements of the replay and of the reference\ncase "));
    for (const std::string& name : cases_of(suite, path)) {
      const std::string line = line_of(run.out, name + " ");
      CAPTURE(name, line);
      std::istringstream words(line);
      std::string name_again, optimizer, worst, step, all, all_step;
      words >> name_again >> optimizer >> worst >> step >> all >> all_step;
      CHECK(optimizer == sim::GradientTrace(path).attributes(name).at("optimizer").text);
      CHECK(number(worst) <= kLimit);
      CHECK(number(step) >= 1);
      CHECK((all == "-") != sim::GradientTrace(path).has_worker_reference(name));
      if (all != "-") CHECK(number(all) <= kLimit);
    }
  }
  const Outcome refused =
      run_onebit(folder, {"replay", shared_path("golden/torch_n4.h5"), "--reference", "all", "-o", "params.h5"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, StartsWith("onebit: error: one file cannot hold all cases"));
}

TEST_CASE("golden: wrong hyper-parameters and semantics are told apart") {
  const bool shared = std::filesystem::exists(shared_path("golden"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const Folder folder;
  const std::string path = shared_path("golden/deepspeed_n4.h5");
  const auto worst = [&](const Arguments& more) {
    const Outcome run = run_onebit(folder, joined({"replay", path, "--reference", "onebit_adam", "--json"}, more));
    CHECK(run.status == 0);
    const std::string worst_text = json_value(run.out, "worst_relative_difference");
    return worst_text == "null" ? INFINITY : number(worst_text);  // it moved although the reference did not
  };
  CHECK(worst({}) > 100 * kLimit);
  CHECK(worst({"--optimizer.semantics", "deepspeed", "--optimizer.lr", "1.1e-3"}) > 100 * kLimit);
  CHECK(worst({"--optimizer.semantics", "deepspeed", "--freeze", "fixed:21"}) > kLimit);
}

TEST_CASE("golden: an unknown case is an error that names the nearest") {
  const bool shared = std::filesystem::exists(shared_path("golden"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const Folder folder;
  const std::string path = shared_path("golden/deepspeed_n4.h5");
  const Outcome run = run_onebit(folder, {"replay", path, "--reference", "onebit_adm"});
  CHECK(run.status == 2);
  CHECK_THAT(run.err, StartsWith("onebit: error: unknown case") && Contains("onebit_adam"));
}
