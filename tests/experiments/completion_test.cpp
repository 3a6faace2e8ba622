// Completion in shells, and the manual page.

#include "experiments/cli/completion.hpp"
#include "experiments/cli/man_page.hpp"
#include "experiments/cli/option_table.hpp"
#include "experiments/commands/commands.hpp"
#include "optim/optimizer.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::experiments;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// Completes a command line in bash, with the cursor at its end, and returns the candidates, one per line. `words`:
/// the words as bash splits them, which breaks them at '='.
std::string completed(const Folder& folder, const Arguments& words) {
  std::string line;
  for (const std::string& word : words) line += " '" + word + "'";
  const std::string script = "source <(\"$0\" completion bash)\nCOMP_WORDS=(" + line +
                             ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_onebit\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const Outcome run = run_in(folder, {"bash", "-eu", "-c", script, ONEBIT_PROGRAM});
  CAPTURE(words, run.err);
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  return run.out;
}

bool has(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace

TEST_CASE("completion: bash completes commands, options and names", "[once]") {
  const Folder folder;
  CHECK(completed(folder, {"onebit", "pri"}) == "price\n");
  CHECK(completed(folder, {"onebit", "run", "--opti"}).starts_with("--optimizer\n--optimizer.lr\n"));
  CHECK(completed(folder, {"onebit", "run", "--lr"}) == "--lr\n");
  const std::string optimizers = completed(folder, {"onebit", "run", "--optimizer", ""});
  for (const optim::OptimizerEntry& entry : optim::optimizers()) {
    CHECK_THAT("\n" + optimizers, Contains("\n" + std::string(entry.name) + "\n"));
  }
  CHECK(completed(folder, {"onebit", "run", "--optimizer", "onebit-lamb-"}) == "onebit-lamb-32\n");
  CHECK(completed(folder, {"onebit", "run", "--optimizer", "=", "onebit-lamb-"}) == "onebit-lamb-32\n");
  CHECK_THAT(completed(folder, {"onebit", "run", "--feedback", "="}), Contains("auto\n") && Contains("none\n"));
  CHECK(completed(folder, {"onebit", "compare", "--optimizers", "adam,onebit-lamb-"}) == "adam,onebit-lamb-32\n");
  CHECK_THAT(completed(folder, {"onebit", "compare", "--preset", ""}), Contains("quickstart\n"));
  CHECK_THAT(completed(folder, {"onebit", "price", "--cluster", "eth"}), Contains("eth10\n"));
  CHECK_THAT(completed(folder, {"onebit", "list", "op"}), Contains("optimizers\n"));
  CHECK(completed(folder, {"onebit", "bench", "kern"}) == "kernels\n");
  CHECK(completed(folder, {"onebit", "run", "-o", ""}) == "\n");  // readline offers files
  CHECK_THAT(completed(folder, {"onebit", "list", "--"}), !Contains("--optimizer"));
}

TEST_CASE("completion: the scripts are valid, and know every command and option") {
  const Folder folder;
  const Variable presets("ONEBIT_PRESETS", (std::filesystem::path(ONEBIT_PROGRAM).parent_path() / "presets").string());
  const std::vector<Command> all = commands();
  write_file(folder / "bash", bash_completion(all));
  write_file(folder / "zsh", zsh_completion(all));
  CHECK(run_in(folder, {"bash", "-n", "bash"}).err.empty());
  for (const std::string& script : {read_file(folder / "bash"), read_file(folder / "zsh")}) {
    for (const Command& command : all) {
      CHECK_THAT(script, Contains(command.name));
      for (const OwnOption& option : options_of(command)) CHECK_THAT(script, Contains("--" + option.name));
    }
  }
  const std::string json = json_completion(all);
  for (const Command& command : all) {
    CHECK_THAT(json, Contains("\"" + command.name + "\": ["));
    for (const OwnOption& option : options_of(command)) CHECK_THAT(json, Contains("\"name\": \"" + option.name + "\""));
  }
  CHECK_THAT(json, Contains("{\"name\": \"optimizer.lr\", \"short\": \"lr\", \"kind\": \"real\", \"flag\": false, "
                            "\"default\": \"0.001\", \"decides_results\": true, "));
  CHECK(run_onebit(folder, {"completion", "json"}).out == json);
  CHECK(run_onebit(folder, {"completion", "zsh"}).out == read_file(folder / "zsh"));
  CHECK(run_onebit(folder, {"completion"}).status == 2);
  CHECK(run_onebit(folder, {"completion", "fish"}).status == 2);
  ONEBIT_SKIP_UNLESS(has("zsh --version"), "zsh", "no zsh to read its script");
  CHECK(run_in(folder, {"zsh", "-n", "zsh"}).err.empty());
}

TEST_CASE("man page: groff and man read it without a warning, and it has every option") {
  const Folder folder;
  const Outcome page = run_onebit(folder, {"man"});
  CHECK(page.status == 0);
  write_file(folder / "onebit.1", page.out);
  for (const Command& command : commands()) {
    for (const OwnOption& option : options_of(command)) {
      std::string name = "--" + option.name;
      for (std::size_t at = 0; (at = name.find('-', at)) != std::string::npos; at += 2) name.insert(at, "\\");
      CHECK_THAT(page.out, Contains(name));
    }
  }
  ONEBIT_SKIP_UNLESS(has("groff --version"), "groff", "no groff to read the manual page");
  const Outcome read = run_in(folder, {"groff", "-man", "-Tascii", "-P-cbou", "-ww", "-rLL=80n", "onebit.1"});
  CHECK(read.status == 0);
  CHECK(read.err.empty());
  CHECK_THAT(read.out, Contains("--optimizer.lr"));
  CHECK_THAT(read.out, Contains("EXIT STATUS") && Contains("'onebit list optimizers'"));
}
