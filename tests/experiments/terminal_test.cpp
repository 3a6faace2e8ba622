// What `run`, `compare` and `sweep` show in a terminal: no line is wider than it, the answer comes last, progress
// leaves nothing, and pipes get neither progress nor colours.

#include "tests/experiments/terminal.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

constexpr std::size_t kRows = 24;

Arguments four_arms(const Arguments& more = {}) {
  return tiny_run("compare", joined({"--optimizers", "adam,onebit-adam,sgd,ef-sgd", "--codec", "sign", "--freeze",
                                     "fixed:3", "-o", "out", "--overwrite"},
                                    more));
}

Arguments small_sweep(const Arguments& more = {}) {
  return tiny_run("sweep", joined({"--axis", "optimizer=adam,sgd", "--axis", "optimizer.lr=1e-3:1e-1:log:5", "--seeds",
                                   "2", "--jobs", "2", "-o", "sweep"},
                                  more));
}

/// Returns the text of the last lines that fit on a screen together with the shell's next prompt.
std::string last_screen(const ShownText& shown) {
  const std::vector<std::string>& lines = shown.lines();
  std::string text;
  for (std::size_t l = lines.size() - std::min(lines.size(), kRows - 1); l < lines.size(); ++l) text += lines[l] + "\n";
  return text;
}

/// Removes carriage returns that are not part of line ends.
bool is_plain(const std::string& text) {
  return text.find('\033') == text.npos && text.find('\r') == text.npos;
}

/// Checks what holds for every command.
void check_screen(const ShownText& shown, std::size_t columns) {
  CAPTURE(last_screen(shown));
  CHECK(shown.widest() <= columns);
  CHECK(shown.erased() >= 2);
  CHECK(shown.line_with("samples/s").empty());
  CHECK(shown.line_with("ETA").empty());
}

}  // namespace

TEST_CASE("terminal: run says little before it starts, overwrites its progress and ends with its answer", "[once]") {
  const Variable terminal("TERM", "xterm");
  const Folder folder;
  const Arguments run = tiny_run("run", {"--steps", "300", "-o", "run.h5", "--overwrite"});
  const std::string bytes = bytes_in_terminal(folder, run);
  CAPTURE(bytes);
  const ShownText shown(bytes);
  check_screen(shown, 80);
  CHECK(bytes.find("\033[K\r") != bytes.npos);
  const ShownText before(bytes.substr(0, bytes.find("\r\n\r\n") + 2));
  CHECK(before.lines().size() <= 3);
  CHECK_THAT(before.lines().front(), StartsWith("adam: 2 workers, 300 steps; memory "));
  CHECK(shown.lines().size() <= kRows);
  CHECK_THAT(last_screen(shown), Contains("\nfinal loss ") && Contains("each worker sent "));
  CHECK(shown.lines().back() == "log: run.h5; 'onebit analyze run.h5' examines it");
  for (const unsigned short columns : std::vector<unsigned short>{30, 40, 60, 200}) {
    CAPTURE(columns);
    check_screen(ShownText(bytes_in_terminal(folder, run, columns)), columns);
  }
}

TEST_CASE("terminal: compare shows its arms and its answer on the last screen, and marks in colour what matters",
          "[once]") {
  const Variable terminal("TERM", "xterm");
  const Folder folder;
  const ShownText several(bytes_in_terminal(folder, four_arms({"--seeds", "3"})));
  check_screen(several, 80);
  CHECK_THAT(last_screen(several), Contains("arm          finished") && Contains("\nonebit-adam  ") &&
                                       Contains("3 comparisons") && Contains("\nef-sgd and sgd are equivalent within"));
  CHECK(several.coloured() > 0);
  const ShownText one(bytes_in_terminal(folder, four_arms()));
  check_screen(one, 80);
  CHECK_THAT(last_screen(one), Contains("arm          seed    status") &&
                                   Contains("onebit-adam against adam with one") && Contains("also shows: "));
  check_screen(ShownText(bytes_in_terminal(folder, four_arms({"--seeds", "2"}), 50)), 50);
}

TEST_CASE("terminal: a sweep ends with arms and rates, and one sentence", "[once]") {
  const Variable terminal("TERM", "xterm");
  const Folder folder;
  const ShownText shown(bytes_in_terminal(folder, small_sweep()));
  check_screen(shown, 80);
  CHECK(shown.lines().size() <= kRows);
  CHECK_FALSE(shown.line_with("optimizer.lr").empty());
  CHECK_THAT(last_screen(shown), Contains("over 2 seeds") && Contains(" *") &&
                                     Contains("individual runs: sweep/index.csv") &&
                                     Contains(" has the lowest mean final loss, "));
  const ShownText narrow(bytes_in_terminal(folder, small_sweep(), 40));
  CHECK(narrow.widest() <= 40);
}

TEST_CASE("terminal: price keeps what each method needs to pay, and ends with its answer", "[once]") {
  const Folder folder;
  const Arguments price = {"price", "--workload", "bert-large", "--batch",      "16", "--workers",
                           "16",    "--cluster",  "eth10",      "--optimizers", "all"};
  const ShownText shown(bytes_in_terminal(folder, price));
  CHECK(shown.widest() <= 80);
  CHECK_THAT(shown.line_with("waits for"), EndsWith("speed-up   faster on links  samples/s"));
  CHECK_THAT(shown.lines().back(), EndsWith("samples per second as dense Adam."));
}

TEST_CASE("terminal: NO_COLOR, a dumb terminal and JSON have no colours", "[once]") {
  const Folder folder;
  const auto coloured = [&](const Arguments& more) {
    return ShownText(bytes_in_terminal(folder, four_arms(more))).coloured();
  };
  const Variable terminal("TERM", "xterm");
  CHECK(coloured({}) > 0);
  CHECK(coloured({"--json"}) == 0);
  {
    const Variable none("NO_COLOR", "1");
    CHECK(coloured({}) == 0);
  }
  const Variable dumb("TERM", "dumb");
  CHECK(coloured({}) == 0);
}

TEST_CASE("terminal: an error and a warning are coloured and broken between words") {
  const Variable terminal("TERM", "xterm");
  const Folder folder;
  TerminalProcess wrong(folder / "", onebit_command({"run", "--model", "a-model-that-does-not-exist"}), 40);
  CHECK(wrong.finish() == 2);
  const ShownText shown(wrong.text());
  CAPTURE(wrong.text());
  CHECK(shown.widest() <= 40);
  CHECK_THAT(wrong.text(), StartsWith("onebit: \033[31merror\033[0m: "));
}

TEST_CASE("terminal: pipes get every column, and neither progress nor colours", "[once]") {
  const Variable terminal("TERM", "xterm");
  const Folder folder;
  for (const Arguments& command : {tiny_run("run", {"-o", "run.h5"}), four_arms({"--seeds", "2"}), small_sweep()}) {
    const Outcome run = run_onebit(folder, command);
    CAPTURE(command, run.out, run.err);
    CHECK(run.status == 0);
    CHECK(run.err.empty());
    CHECK(is_plain(run.out));
    CHECK_THAT(run.out, !Contains("also shows: "));
  }
  CHECK_THAT(run_onebit(folder, four_arms()).out, Contains("  compressed step\n"));
}

TEST_CASE("terminal: progress that was asked for is whole lines in a pipe") {
  const Folder folder;
  const Outcome run = run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--progress"}));
  CAPTURE(run.err);
  CHECK(is_plain(run.err));
  CHECK_THAT(run.err, StartsWith("adam  [") && Catch::Matchers::EndsWith("\n"));
}

TEST_CASE("terminal: progress follows the terminal's width") {
  const Folder folder;
  const Arguments endless = tiny_run("run", {"--steps", "100000000", "-o", "run.h5", "--log.every", "100000"});
  TerminalProcess process(folder / "", onebit_command(endless), 80);
  const auto progress = [](const std::string& text, std::size_t from) {
    const std::size_t end = std::max(text.rfind("\033[K\r") + 1, text.rfind("\033[J\r") + 1) - 1;  // npos + 1 is 0
    if (end == text.npos || end < from) return std::string();
    const std::size_t begin = text.rfind('\r', end) + 1;
    return text.substr(begin, end - begin);
  };
  process.read_until([&](const std::string& text) { return progress(text, 0).find("ETA") != std::string::npos; });
  CHECK(experiments::width_of(progress(process.text(), 0)) <= 79);
  const std::size_t before = process.text().size();
  process.resize(40);
  process.read_until([&](const std::string& text) {
    const std::string line = progress(text, before);
    return !line.empty() && experiments::width_of(line) <= 39;
  });
  const std::size_t narrow = process.text().size();
  process.read_until([&](const std::string& text) { return !progress(text, narrow).empty(); });
  CHECK_THAT(progress(process.text(), narrow), Contains("/100000000") && Contains("ETA"));
  process.interrupt();
  CHECK(process.finish() == 130);
  // The command that continues the run is not broken into lines: it is there to be copied.
  const std::size_t command = process.text().find("onebit: stopped; to continue: ", narrow);
  REQUIRE(command != std::string::npos);
  CHECK(ShownText(process.text().substr(narrow, command - narrow)).widest() <= 40);
  CHECK_THAT(ShownText(process.text()).lines().back(), !Contains("ETA"));
}

TEST_CASE("terminal: the progress of ranks fits, and is gone when the run has ended") {
  ONEBIT_SKIP_UNLESS(mpi_is_here(), "mpi", "no MPI");
  const NoLeakCheck leaks;
  const Folder folder;
  const ShownText shown(bytes_in_terminal(
      folder, tiny_run("run", {"--steps", "300", "--workers", "8", "--ranks", "2", "-o", "run.h5"}), 40));
  CHECK(shown.erased() >= 2);
  CHECK(shown.line_with("samples/s").empty());
  CHECK(shown.line_with("/300").empty());
  CHECK(shown.line_with("log  ").ends_with("run.h5"));
}
