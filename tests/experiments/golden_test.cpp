// DeepSpeed's and PyTorch's own trajectories, reproduced by the program.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "sim/trace.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::StartsWith;

namespace {

constexpr double kLimit = 1e-4;

struct Suite {
  std::string file;  ///< in golden/
  std::string semantics;
  std::size_t least;  ///< cases that there must be
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

/// Largest relative difference of the displacement over all steps; independent of the program's own count.
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

}  // namespace

TEST_CASE("golden: every case is reproduced by --reference") {
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

TEST_CASE("golden: every case is reproduced by explicit options, judged by h5py") {
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
    CHECK_THAT(run.out, StartsWith("worst relative difference of the displacement\ncase "));
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
    return worst_text == "null" ? INFINITY : number(worst_text);  // moved where the reference stands still
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
  CHECK_THAT(run.err, StartsWith("onebit: error: unknown case") && Catch::Matchers::Contains("onebit_adam"));
}
