// Texts in files that somebody else may have written: no output of the program can control a terminal or a spreadsheet.

#include "experiments/report/html.hpp"
#include "experiments/study/expected.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

const std::string kEvil = "=\x1b[31mred\n\x7f\xc2\x9b\xff\"";
const std::string kShown = "=\\x1b[31mred\\x0a\\x7f\\xc2\\x9b\\xff";

/// Writes a finished log all of whose texts are evil.
void write_evil_log(const std::string& path) {
  sim::LogHeader header = sample_header();
  header.program_version = header.git_commit = header.command_line = header.host = header.devices = kEvil;
  header.tensors = {{kEvil, 12, 3}, {"b", 4}};
  header.config = {{"optimizer", kEvil}, {"optimizer.lr", "1e-3"}};
  sim::LogWriter log(path, header, false);
  append_samples(log, 1, 8);
  for (Index step : {1, 7}) log.append(sim::EvaluationRow{step, 32 * step, 1.0 / static_cast<double>(step), 0.5, 100});
  log.append(sim::Event{7, "-kind", kEvil});
  log.close(sim::RunStatus::finished);
}

/// Whether a text has nothing but printable characters, line ends, and the tabs of gnuplot's SVG.
bool is_printable(const std::string& text) {
  return printable(text, "\n\t") == text;
}

}  // namespace

TEST_CASE("printable: texts of a log reach no terminal, table, page or file as controls") {
  const Folder folder;
  write_evil_log(folder / "evil.h5");
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "run.h5"})).status == 0);
  const std::vector<Arguments> commands = {
      {"inspect", "evil.h5"},
      {"inspect", "evil.h5", "--json"},
      {"inspect", kEvil},
      {"analyze", "evil.h5"},
      {"analyze", "evil.h5", "run.h5"},
      {"analyze", "evil.h5", "run.h5", "--json"},
      {"export", "evil.h5", "--csv", "--group", "events"},
      {"export", "evil.h5", "--jsonl", "--group", "events"},
      {"price", "evil.h5", "--cluster", "eth10"},
      {"report", "evil.h5", "-o", "report.html", "--png"},
      {"report", "evil.h5", "-o", "report.csv", "--csv"},
      {kEvil},
      {"run", "--" + kEvil, "1"},
  };
  for (const Arguments& command : commands) {
    const Outcome run = run_onebit(folder, command);
    CAPTURE(command, run.out, run.err);
    if (command[0] == "report") CHECK(run.status == 0);
    CHECK(is_printable(run.out));
    CHECK(is_printable(run.err));
  }
  CHECK_THAT(run_onebit(folder, {"inspect", "evil.h5"}).out, Contains("command") && Contains(kShown));
  for (const std::string& path : entries(folder)) {
    CAPTURE(path);
    CHECK(is_printable(path));
    if (path.ends_with(".html") || path.ends_with(".csv")) CHECK(is_printable(read_file(path)));
  }
  CHECK_THAT(read_file(folder / "report.html"), Contains("[31mred"));
}

TEST_CASE("printable: JSON stays JSON, and what is no UTF-8 becomes a replacement character") {
  CHECK(experiments::Json(kEvil).text() == "\"=\\u001b[31mred\\u000a\\u007f\\u009b\xef\xbf\xbd\\\"\"");
  CHECK(experiments::Json("h\xc3\xb6st \\").text() == "\"h\xc3\xb6st \\\\\"");
}

TEST_CASE("printable: HTML keeps line ends, and no other control") {
  CHECK(experiments::html::text("a\n\x1b<b>\xff") == "a\n\\x1b&lt;b&gt;\\xff");
}

TEST_CASE("printable: a text in a CSV file is no formula, a number stays one") {
  const Folder folder;
  write_evil_log(folder / "evil.h5");
  const Outcome events = run_onebit(folder, {"export", "evil.h5", "--csv", "--group", "events"});
  CHECK(events.out == "step,kind,text\n7,'-kind,\"'" + kShown + "\"\"\"\n");
  REQUIRE(run_onebit(folder, tiny_run("compare", {"--arm", "-neg:optimizer=adam", "-o", "out"})).status == 0);
  CHECK_THAT(read_file(folder / "out/runs.csv"), Contains("\n'-neg,1,finished,6,"));
  CHECK(experiments::read_expected(folder / "out/runs.csv").front().arm == "-neg");
}
