// The results of a build on this machine compared with the recorded ones: presets and golden traces.

#include <map>
#include <set>
#include <sstream>

#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// A very short preset with two arms and three seeds, in a folder from which the program takes its presets.
class OwnPreset {
 public:
  OwnPreset() : variable_("ONEBIT_PRESETS", folder / "presets") {
    std::filesystem::create_directory(folder / "presets");
    write_file(folder / "presets/mine.ini",
               "# Mine\nmodel = mlp\nmodel.layers = 4,5,3\ndata = synthetic\ndata.features = 4\ndata.classes = 3\n"
               "data.examples = 200\nworkers = 2\nbatch = 2\nsteps = 6\nseeds = 5\nfreeze = fixed:3\n"
               "optimizers = adam,onebit-adam\nthreads = 1\n");
  }

  /// Runs the preset, and records the results as the expected ones.
  void record() const {
    const Outcome run = run_onebit(folder, {"compare", "--preset", "mine", "-o", "recorded"});
    CAPTURE(run.err);
    REQUIRE(run.status == 0);
    write_file(folder / "presets/mine.csv", read_file(folder / "recorded/runs.csv"));
  }

  /// Changes a column of the first row.
  void change(const std::string& column, const std::string& value) const {
    std::vector<std::vector<std::string>> rows;
    std::istringstream file(read_file(folder / "presets/mine.csv"));
    for (std::string line; std::getline(file, line);) {
      rows.emplace_back();
      std::istringstream cells(line);
      for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
    }
    const auto place = std::find(rows[0].begin(), rows[0].end(), column);
    REQUIRE(place != rows[0].end());
    rows[1][static_cast<std::size_t>(place - rows[0].begin())] = value;
    std::string text;
    for (const auto& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "," : "") + row[i];
      text += "\n";
    }
    write_file(folder / "presets/mine.csv", text);
  }

  Outcome verify(const Arguments& more = {}) const {
    return run_onebit(folder, joined({"verify", "--preset", "mine"}, more));
  }

  Folder folder;

 private:
  Variable variable_;
};

double first_loss(const OwnPreset& preset) {
  const std::string json = run_onebit(preset.folder, {"inspect", "recorded/adam-1.h5", "--json"}).out;
  return std::stod(json_value(json, "final_loss"));
}

}  // namespace

TEST_CASE("verify: this build gives the numbers that were recorded", "[once]") {
  const Folder folder;
  const Outcome result = run_onebit(folder, {"verify", "--json"});
  CAPTURE(result.out, result.err);
  CHECK(result.status == 0);
  CHECK(json_value(result.out, "agrees") == "true");
  CHECK(json_value(result.out, "preset") == "\"verify\"");
  CHECK(entries(folder).empty());
}

TEST_CASE("verify: golden traces are reproduced in the semantics that they were recorded in", "[once]") {
  const bool shared = std::filesystem::exists(shared_path("golden"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const Folder folder;
  const Outcome result =
      run_onebit(folder, {"verify", shared_path("golden/deepspeed_n4.h5"), shared_path("golden/torch_n4.h5")});
  CAPTURE(result.out, result.err);
  CHECK(result.status == 0);
  CHECK_THAT(line_of(result.out, shared_path("golden/deepspeed_n4.h5") + "  onebit_adam "),
             Contains("deepspeed") && Contains("yes"));
  CHECK_THAT(result.out, Contains("torch_n4.h5") && Contains("paper") && !Contains(" no\n"));
}

TEST_CASE("verify: the same build gives the same bits, and says so", "[once]") {
  const OwnPreset preset;
  preset.record();
  const Outcome same = preset.verify();
  CAPTURE(same.out, same.err);
  CHECK(same.status == 0);
  CHECK_THAT(same.out, Contains("same") && Contains("gives the recorded numbers, bit for bit"));
  const Outcome kept = preset.verify({"-o", "kept"});
  CHECK(kept.status == 0);
  CHECK(std::filesystem::exists(preset.folder / "kept/onebit-adam-3.h5"));
}

TEST_CASE("verify: losses that differ by rounding are close, others are not", "[once]") {
  const OwnPreset preset;
  preset.record();
  const double loss = first_loss(preset);
  preset.change("final_loss", std::to_string(loss * (1 + 1e-4)));
  const Outcome close = preset.verify();
  CAPTURE(close.out, close.err);
  CHECK(close.status == 0);
  CHECK_THAT(line_of(close.out, "adam"), Contains("close"));
  CHECK_THAT(line_of(close.out, "onebit-adam"), Contains("same"));
  CHECK_THAT(close.out,
             Contains("except for differences that rounding may explain: final losses differ by at most 0.00997"));
  preset.change("final_loss", std::to_string(loss));
  const Outcome other = preset.verify({"--optimizer.lr", "0.01"});
  CHECK(other.status == 1);
  CHECK_THAT(other.out, Contains("differs") && Contains("shifted by") && Contains("does not give"));
}

TEST_CASE("verify: what rounding cannot explain is named", "[once]") {
  const OwnPreset preset;
  const auto differs = [&](const std::string& column, const std::string& value, const std::string& why) {
    preset.change(column, value);
    const Outcome result = preset.verify();
    CAPTURE(column, result.out, result.err);
    CHECK(result.status == 1);
    CHECK_THAT(line_of(result.out, "adam"), Contains("differs") && Contains(why));
    write_file(preset.folder / "presets/mine.csv", read_file(preset.folder / "recorded/runs.csv"));
  };
  preset.record();
  differs("bytes_per_worker", "7", "bytes 1032, expected 7");
  differs("steps", "5", "steps 6, expected 5");
  differs("freeze_step", "2", "freeze step 0, expected 2");
  const Outcome more = preset.verify({"--seeds", "6"});
  CHECK(more.status == 1);
  CHECK_THAT(more.out, Contains("seed 6 was not recorded"));
  differs("status", "diverged", "finished, expected diverged");
  differs("seed", "9", "seed 9 was not run");
}

TEST_CASE("verify: unusable records are refused in one line") {
  const OwnPreset preset;
  const auto refused = [&](const std::string& csv, const std::string& why) {
    if (!csv.empty()) write_file(preset.folder / "presets/mine.csv", csv);
    const Outcome result = preset.verify();
    CAPTURE(result.err);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Contains(why));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  };
  const std::string header = "arm,seed,status,steps,freeze_step,final_loss,bytes_per_worker\n";
  refused("", "no recorded runs for this preset");
  refused(header, "no runs in the file");
  refused("arm,seed\nadam,1\n", "status");
  refused(header + "adam,1,finished,6\n", "row with too few cells");
  refused(header + "adam,one,finished,6,0,1,1\n", "mine.csv:2: seed one");
  const Outcome two = preset.verify({"--preset", "verify"});
  CHECK(two.status == 2);
  const Outcome trace = preset.verify({"none.h5"});
  CHECK(trace.status == 2);
  CHECK_THAT(trace.err, Contains("none.h5"));
}

TEST_CASE("verify: every recorded preset has its arms and seeds, and says where it is from", "[once]") {
  const std::filesystem::path expected = source_path("experiments/expected");
  const bool shared = std::filesystem::exists(shared_path("data"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "presets use sample data that is not here");
  const Folder folder;
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(expected)) names.insert(entry.path().stem().string());
  CHECK(names.size() >= 7);
  for (const std::string& name : names) {
    CAPTURE(name);
    const std::string ini = read_file(source_path("experiments/presets/" + name + ".ini"));
    Arguments plan = {"compare", "--preset", name, "--dry-run", "--json", "-o", "out"};
    if (ini.find("data = text") != ini.npos)
      plan = joined(plan, {"--data.path", shared_path("data/text/tinyshakespeare.txt")});
    if (ini.find("data = idx") != ini.npos) plan = joined(plan, {"--data.path", shared_path("data/mnist")});
    if (ini.find("data = clicks") != ini.npos)
      plan = joined(plan, {"--data.examples", "2000"});  // a plan needs no more
    const Outcome outcome = run_onebit(folder, plan);
    CAPTURE(outcome.err, outcome.out);
    REQUIRE(outcome.status == 0);
    std::istringstream csv(read_file(expected / (name + ".csv")));
    std::map<std::string, Index> runs;
    std::string row;
    for (std::getline(csv, row); std::getline(csv, row);) ++runs[row.substr(0, row.find(','))];
    for (const auto& [arm, seeds] : runs) {
      CHECK_THAT(outcome.out, Contains("\"" + arm + "\""));
      CHECK(std::to_string(seeds) == json_value(outcome.out, "seeds"));
    }
    CHECK(std::count(outcome.out.begin(), outcome.out.end(), '"') == static_cast<long>(4 + 2 * runs.size()));
    if (name != "verify") CHECK_THAT(ini, Contains("# In the paper: ") && Contains("n this preset: "));
  }
}
