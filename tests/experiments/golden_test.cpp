// DeepSpeed's and PyTorch's own trajectories, reproduced by the program.

#include <charconv>
#include <cmath>
#include <cstdio>

#include "sim/trace.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::StartsWith;

namespace {

constexpr double kLimit = 1e-4;

struct Suite {
  std::string file;    ///< in golden/
  std::string prefix;  ///< of the cases
  std::string semantics;
  std::size_t least = 2;  ///< cases that there must be
};

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = {{"deepspeed_n4.h5", "onebit_adam", "deepspeed"},
                                         {"deepspeed_n8.h5", "onebit_adam", "deepspeed"},
                                         {"torch_n4.h5", "adam", "paper"}};
  return all;
}

std::vector<std::string> cases_of(const Suite& suite, const std::string& path) {
  std::vector<std::string> names;
  for (const std::string& name : sim::GradientTrace(path).cases()) {
    if (name.compare(0, suite.prefix.size(), suite.prefix) == 0) names.push_back(name);
  }
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
  auto attributes = sim::GradientTrace(path).attributes(name);
  Arguments options = {"--optimizer",
                       attributes.at("optimizer").text,
                       "--optimizer.lr",
                       text(attributes.at("lr").numbers.at(0)),
                       "--optimizer.beta1",
                       text(attributes.at("betas").numbers.at(0)),
                       "--optimizer.beta2",
                       text(attributes.at("betas").numbers.at(1)),
                       "--optimizer.eps",
                       text(attributes.at("eps").numbers.at(0)),
                       "--optimizer.weight-decay",
                       text(attributes.at("weight_decay").numbers.at(0))};
  if (attributes.count("freeze_step") > 0) {
    options = joined(options, {"--freeze", "fixed:" + text(attributes.at("freeze_step").numbers.at(0))});
  }
  return options;
}

/// Largest relative difference of the displacement over all steps; independent of the program's own count.
constexpr const char* kCompare = R"(
import sys, h5py, numpy
trace, name, replayed = sys.argv[1:4]
with h5py.File(trace, 'r') as file:
    x0, expected = file['x0'][:].astype('f8'), file[name + '/params'][:].astype('f8')
with h5py.File(replayed, 'r') as file:
    params = file['params'][:].astype('f8')
assert params.shape == expected.shape
away, moved = numpy.linalg.norm(params - expected, axis=1), numpy.linalg.norm(expected - x0, axis=1)
print('%.17g' % max(0 if a == 0 else a / m if m > 0 else 1e9 for a, m in zip(away, moved)))
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

TEST_CASE("golden: a case of an optimizer that is not there yet is an error") {
  const bool shared = std::filesystem::exists(shared_path("golden"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const Folder folder;
  const std::string path = shared_path("golden/deepspeed_n4.h5");
  const Outcome run = run_onebit(folder, {"replay", path, "--reference", "onebit_adm"});
  CHECK(run.status == 2);
  CHECK_THAT(run.err, StartsWith("onebit: error: unknown case") && Catch::Matchers::Contains("onebit_adam"));
}
