// The sources of options, what the program lists and prints, and that its numbers do not depend on their notation.

#include "compress/codecs/codec.hpp"
#include "experiments/cli/command_line.hpp"
#include "netmodel/cluster/cluster.hpp"
#include "sim/log/reader.hpp"
#include "sim/run/config.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

/// Returns the final value of an option, as --dry-run shows it.
std::string shown(const Outcome& run, const std::string& option) {
  const std::string line = line_of(run.out, option + " ");
  return line.substr(std::min(line.size(), line.find_last_of(' ') + 1));
}

template <class Entries>
void check_listed(const std::string& output, const Entries& entries) {
  CHECK(!entries.empty());
  for (const auto& entry : entries) {
    CAPTURE(entry.name);
    CHECK_THAT(line_of(output, std::string(entry.name) + " "), Contains(std::string(entry.doc)));
  }
}

/// Exits with 0 if argument 1 is one JSON value; NaN is not accepted.
constexpr const char* kParse = R"(
import json, sys
def refuse(name): raise ValueError(name)
value = json.loads(sys.argv[1], parse_constant=refuse)
assert isinstance(value, dict)
print(' '.join(sorted(value)))
)";

std::string keys_of(const Folder& folder, const std::string& python, const Arguments& arguments) {
  const Outcome run = run_onebit(folder, arguments);
  CAPTURE(arguments, run.out, run.err);
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  const Outcome parsed = run_in(folder, {python, "-c", kParse, run.out});
  CAPTURE(parsed.err);
  CHECK(parsed.status == 0);
  return parsed.out;
}

/// A text for the ngram model.
void write_text(const Folder& folder) {
  std::string text;
  for (int i = 0; i < 80; ++i) text += "line " + std::to_string(i * 37 % 101) + ": she sells sea shells\n";
  write_file(folder / "text.txt", text);
}

}  // namespace

TEST_CASE("options: the command line wins over the config file, and that over the preset") {
  const Folder folder;
  std::filesystem::create_directory(folder / "presets");
  write_file(folder / "presets/mine.ini",
             "# A preset\nworkers = 3\nbatch = 3\nsteps = 3\n[optimizer]\nlr = 3\nclip = 3\n");
  write_file(folder / "c.ini", "batch = 4\nsteps = 4\n[optimizer]\nclip = 4\n");
  const Variable presets("ONEBIT_PRESETS", folder / "presets");
  for (const Arguments& order : {Arguments{"--preset", "mine", "--config", "c.ini", "--steps", "5"},
                                 Arguments{"--steps", "5", "--config", "c.ini", "--preset", "mine"}}) {
    const Outcome run =
        run_onebit(folder, joined({"run", "--dry-run", "--model", "softmax", "--data", "synthetic"}, order));
    CAPTURE(run.err);
    REQUIRE(run.status == 0);
    CHECK(shown(run, "workers") == "3");
    CHECK(shown(run, "batch") == "4");
    CHECK(shown(run, "steps") == "5");
    CHECK(shown(run, "optimizer.lr") == "3");
    CHECK(shown(run, "optimizer.clip") == "4");
    CHECK(shown(run, "model") == "softmax");
  }
  CHECK_THAT(line_of(run_onebit(folder, {"list", "presets"}).out, "mine"), Contains("A preset"));
}

TEST_CASE("options: of two values on the command line the later one counts") {
  const Outcome run = run_onebit(Folder(), tiny_run("run", {"--dry-run", "--workers", "5", "--workers", "4"}));
  CHECK(shown(run, "workers") == "4");
}

TEST_CASE("options: a dry run checks everything and writes nothing") {
  const Folder folder;
  CHECK(run_onebit(folder, tiny_run("run", {"--dry-run", "-o", "run.h5"})).status == 0);
  CHECK(run_onebit(folder, tiny_run("run", {"--dry-run", "-o", "run.h5", "--optimizer", "adm"})).status == 2);
  CHECK(run_onebit(folder, tiny_run("compare", {"--dry-run", "-o", "out", "--freeze", "fixed:2"})).status == 0);
  CHECK(entries(folder).empty());
}

TEST_CASE("options: the log holds every option with its final value") {
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--optimizer.lr", "0.002"})).status == 0);
  const sim::LogReader log(folder / "run.h5");
  const auto& config = log.header().config;
  const auto value = [&](const std::string& option) {
    for (const auto& [name, text] : config) {
      if (name == option) return text;
    }
    return std::string("absent");
  };
  for (const auto& option : experiments::run_options()) {
    CAPTURE(option.name);
    CHECK(value(option.name) != "absent");
  }
  CHECK(value("optimizer.lr") == "0.002");
  CHECK(value("model.layers") == "4,5,3");
  CHECK_THAT(log.header().command_line, Contains("onebit run --model mlp") && Contains("--optimizer.lr 0.002"));
}

TEST_CASE("options: every option of a model or a data source is some entry's, and every entry's is an option") {
  std::set<std::string> used = {"model.init"}, options;
  const auto add = [&](const std::string& kind, const auto& entries) {
    for (const auto& entry : entries) {
      for (const std::string& own : experiments::split(std::string(entry.options), ' ')) used.insert(kind + own);
    }
  };
  add("model.", sim::models());
  add("data.", sim::data_sources());
  for (const char* group : {"model.tables", "model.boundary"})
    CHECK(used.erase(group) == 1);  // groups of other options
  for (const auto& option : experiments::run_options()) {
    if (option.name.starts_with("model.") || option.name.starts_with("data.")) options.insert(option.name);
  }
  CHECK(used == options);
}

TEST_CASE("options: a log's options make the same run again") {
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "first.h5", "--optimizer", "onebit-adam", "--freeze", "fixed:2"}))
              .status == 0);
  const sim::LogReader first(folder / "first.h5");
  std::string selectors, rest;
  for (const auto& [name, value] : first.header().config) {
    if (name != "data.read") selectors += name + " = " + value + "\n";
  }
  write_file(folder / "again.ini", selectors);
  const Outcome again = run_onebit(folder, {"run", "--config", "again.ini", "-o", "again.h5"});
  CAPTURE(again.err);
  REQUIRE(again.status == 0);
  CHECK(sim::LogReader(folder / "again.h5").column("steps/loss") == first.column("steps/loss"));
}

TEST_CASE("options: losses are the same bits for any number of threads and any grouping", "[once]") {
  const Folder folder;
  write_text(folder);
  const auto losses = [&](const std::string& optimizer, const std::string& threads, const std::string& group) {
    const Outcome run = run_onebit(folder, {"run",
                                            "--model",
                                            "ngram",
                                            "--model.hidden",
                                            "8",
                                            "--model.embedding",
                                            "4",
                                            "--data",
                                            "text",
                                            "--data.path",
                                            "text.txt",
                                            "--steps",
                                            "12",
                                            "--batch",
                                            "5",
                                            "--optimizer",
                                            optimizer,
                                            "--freeze",
                                            "fixed:5",
                                            "--threads",
                                            threads,
                                            "-o",
                                            "run.h5",
                                            "--overwrite",
                                            "--worker-group",
                                            group});
    CAPTURE(run.err);
    REQUIRE(run.status == 0);
    return sim::LogReader(folder / "run.h5").column("steps/loss");
  };
  for (const std::string optimizer : {"adam", "onebit-adam"}) {
    const std::vector<double> expected = losses(optimizer, "1", "16");
    REQUIRE(expected.size() == 12);
    for (const std::string threads : {"1", "2", "7"}) {
      for (const std::string group : {"1", "4", "16"}) {
        CAPTURE(optimizer, threads, group);
        CHECK(losses(optimizer, threads, group) == expected);
      }
    }
  }
}

TEST_CASE("options: list shows every entry of every registry") {
  const std::string all = run_onebit(Folder(), {"list"}).out;
  check_listed(all, optim::optimizers());
  check_listed(all, optim::schedules());
  check_listed(all, compress::codecs());
  check_listed(all, sim::models());
  check_listed(all, sim::data_sources());
  check_listed(all, netmodel::clusters());
  for (const std::string preset : {"quickstart", "mnist-lr", "ngram-lr"}) CHECK_FALSE(line_of(all, preset).empty());
  const std::string models = run_onebit(Folder(), {"list", "models"}).out;
  check_listed(models, sim::models());
  CHECK(line_of(models, "adam").empty());
}

TEST_CASE("options: list codecs shows what each guarantees and its bits per element") {
  const Folder folder;
  const std::string text = run_onebit(folder, {"list", "codecs"}).out;
  const std::string json = run_onebit(folder, {"list", "codecs", "--json"}).out;
  for (const compress::CodecEntry& entry : compress::codecs()) {
    CAPTURE(entry.name);
    compress::CodecConfig config;
    config.name = entry.name;
    const compress::Traits traits = entry.make(config)->traits();
    std::string words = traits.deterministic ? "deterministic" : "";
    if (traits.unbiased) words += words.empty() ? "unbiased" : ", unbiased";
    if (traits.contraction) words += words.empty() ? "contraction" : ", contraction";
    CHECK_THAT(line_of(text, std::string(entry.name) + " "), Contains("  " + words));
  }
  CHECK_THAT(line_of(text, "sign-l1 "), Contains(" 1  "));
  CHECK_THAT(line_of(text, "fp16 "), Contains(" 16  "));
  CHECK_THAT(json, Contains(R"("traits": ["deterministic", "contraction"], "bits_per_element": 32)"));
}

TEST_CASE("options: every command has a help text, and that every option of a run") {
  const Folder folder;
  const Outcome help = run_onebit(folder, {"--help"});
  CHECK(help.status == 0);
  for (const std::string command : {"run", "compare", "replay", "list", "inspect"}) {
    CAPTURE(command);
    CHECK_FALSE(line_of(help.out, command + " ").empty());
    const Outcome own = run_onebit(folder, {command, "--help"});
    CHECK(own.status == 0);
    CHECK(own.err.empty());
    CHECK_THAT(own.out, Contains("usage: onebit " + command));
  }
  const std::string run = run_onebit(folder, {"run", "--help-all"}).out;
  for (const auto& option : experiments::run_options()) CHECK_THAT(run, Contains(" --" + option.name));
  CHECK(run_onebit(folder, {"help", "run"}).out == run_onebit(folder, {"run", "--help"}).out);
  CHECK_THAT(run_onebit(folder, {"--version"}).out, Contains("onebit "));
}

TEST_CASE("options: a log has the long name of an option that was given by its short one") {
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"--lr", "0.25", "-o", "run.h5"})).status == 0);
  REQUIRE(run_onebit(folder, tiny_run("compare", {"--arm", "a:lr=0.25", "-o", "arms"})).status == 0);
  for (const std::string log : {"run.h5", "arms/a-1.h5"}) {
    const auto config = sim::LogReader(folder / log).header().config;
    const std::map<std::string, std::string> there(config.begin(), config.end());
    CHECK(there.at("optimizer.lr") == "0.25");
    CHECK(there.count("lr") == 0);
  }
}

TEST_CASE("options: --json prints one object and nothing else", "[once]") {
  const std::string python = find_python("json");
  ONEBIT_SKIP_UNLESS(!python.empty(), "python3", "no python3");
  const Folder folder;
  CHECK_THAT(keys_of(folder, python, tiny_run("run", {"--json", "-o", "a\"b.h5"})), Contains("final_loss"));
  CHECK_THAT(keys_of(folder, python, {"inspect", "--json", "a\"b.h5"}),
             Contains("committed_rows") && Contains("summary"));
  CHECK_THAT(keys_of(folder, python, {"list", "--json"}), Contains("clusters") && Contains("optimizers"));
  CHECK(keys_of(folder, python, {"list", "--json", "codecs"}) == "codecs\n");
  CHECK_THAT(keys_of(folder, python, tiny_run("compare", {"--json", "-o", "out"})), Contains("runs"));
}

TEST_CASE("options: without a held-out split the numbers that are missing are null, not NaN") {
  const std::string python = find_python("json");
  ONEBIT_SKIP_UNLESS(!python.empty(), "python3", "no python3");
  const Folder folder;
  const Arguments run = tiny_run("run", {"--json", "-o", "run.h5", "--data.holdout", "0"});
  CHECK_THAT(keys_of(folder, python, run), Contains("final_loss"));
  CHECK(json_value(run_onebit(folder, joined(run, {"--overwrite"})).out, "final_loss") == "null");
}

TEST_CASE("options: progress is shown when asked for, on stderr") {
  const Folder folder;
  const Outcome quiet = run_onebit(folder, tiny_run("run", {"-o", "quiet.h5"}));
  CHECK(quiet.err.empty());
  const Outcome shown = run_onebit(folder, tiny_run("run", {"-o", "shown.h5", "--progress"}));
  CHECK(shown.status == 0);
  CHECK_THAT(shown.err, Contains("6/6") && Contains("samples/s"));
  CHECK_THAT(shown.out, !Contains("samples/s"));
}

TEST_CASE("options: the kind of a value is the one that its text has") {
  using namespace onebit::experiments;
  std::vector<std::string> numbers_as_text;
  for (const RunOption& option : run_options()) {
    const std::string value = option.get(sim::RunConfig());
    CAPTURE(option.name, value);
    if (option.kind == ValueKind::integer) CHECK_NOTHROW(parse_integer(option.name, value));
    if (option.kind == ValueKind::real) CHECK_NOTHROW(parse_real(option.name, value));
    CHECK((option.kind == ValueKind::boolean) == (value == "true" || value == "false"));
    CHECK(option.kind != ValueKind::repeated);
    if (option.kind == ValueKind::text && !value.empty() && value.find_first_not_of("0123456789.e-") == value.npos)
      numbers_as_text.push_back(option.name);
  }
  CHECK(numbers_as_text == std::vector<std::string>{"optimizer.variance-floor"});  // also mean:S
  CHECK(run_option("model.layers").kind == ValueKind::integers);
  CHECK(run_option("data.path").kind == ValueKind::texts);
  CHECK(run_option("memory").kind == ValueKind::integer);
}
