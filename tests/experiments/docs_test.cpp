// Runs the commands in the documentation as they are written: those after "$ " in fenced blocks marked `console`. All
// commands of a page run in one folder, with the sample data as data/, the scripts of docs/ next to it, the Python
// package, and the page's own programs: fenced blocks marked `python` whose first line is a comment with a file's name.

#include <map>
#include <optional>
#include <sstream>

#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;

namespace {

namespace fs = std::filesystem;

bool begins(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

/// Returns the commands of `onebit`, `mpirun` and `python3` on a page. A backslash at the end of a line continues it.
std::vector<std::string> commands_of(const std::string& page) {
  std::vector<std::string> commands;
  std::stringstream lines(page);
  bool console = false, continued = false;
  for (std::string line; std::getline(lines, line);) {
    if (begins(line, "```")) {
      console = line == "```console";
      continued = false;
      continue;
    }
    const bool command =
        console && (begins(line, "$ onebit ") || begins(line, "$ mpirun ") || begins(line, "$ python3 "));
    if (!command && !continued) continue;
    if (command) commands.emplace_back();
    commands.back() += (command ? line.substr(2) : line);
    continued = !line.empty() && line.back() == '\\';
    if (continued) commands.back().back() = ' ';
  }
  return commands;
}

/// Returns the programs on a page by their names.
std::map<std::string, std::string> programs_of(const std::string& page) {
  std::map<std::string, std::string> programs;
  std::stringstream lines(page);
  std::string* program = nullptr;
  for (std::string line, before; std::getline(lines, line); before = line) {
    if (begins(line, "```")) {
      program = nullptr;
    } else if (before == "```python" && begins(line, "# ") && line.ends_with(".py")) {
      program = &programs[line.substr(2)];
    } else if (program != nullptr) {
      *program += line + "\n";
    }
  }
  return programs;
}

bool mentions(const std::vector<std::string>& commands, const std::string& word) {
  return std::any_of(commands.begin(), commands.end(),
                     [&](const std::string& command) { return command.find(word) != std::string::npos; });
}

std::vector<fs::path> pages() {
  const fs::path root = source_path("");
  std::vector<fs::path> result;
  if (fs::exists(root / "README.md")) result.push_back(root / "README.md");
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") result.push_back(entry.path());
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// Makes the folder of a page: data/, the scripts, the page's programs, and bin/ with `onebit` and a Python that has
/// h5py.
class Terminal {
 public:
  explicit Terminal(const std::string& python, const std::string& page = "")
      : path_("PATH", (tools_ / "") + ":" + std::getenv("PATH")) {
    fs::create_symlink(ONEBIT_PROGRAM, tools_ / "onebit");
    if (!python.empty()) {
      write_file(tools_ / "python3", "#!/bin/sh\nPATH=${PATH#*:}\nexec " + python + " \"$@\"\n");
      fs::permissions(tools_ / "python3", fs::perms::owner_all);
    }
    for (const char* folder : {"data", "golden"}) {
      if (fs::exists(shared_path(folder))) {
        fs::create_directory_symlink(fs::canonical(shared_path(folder)), work_ / folder);
      }
    }
    for (const auto& entry : fs::directory_iterator(fs::path(source_path("docs")))) {
      if (entry.path().extension() == ".py") fs::copy(entry.path(), work_ / "");
    }
    for (const auto& [name, text] : programs_of(page)) write_file(work_ / name, text);
  }

  Outcome run(const std::string& command) const {
    std::optional<NoLeakCheck> over_ranks;
    if (command.find("--ranks") != command.npos || begins(command, "mpirun ")) over_ranks.emplace();
    return run_in(work_, {"sh", "-c", command});
  }

 private:
  Folder tools_, work_;
  Variable path_, package_{"PYTHONPATH", source_path("python")}, no_caches_{"PYTHONDONTWRITEBYTECODE", "1"};
};

void check_page(const fs::path& page, const std::vector<std::string>& commands, const std::string& python) {
  CAPTURE(page.string());
  const Terminal terminal(python, read_file(page.string()));
  for (const std::string& command : commands) {
    const Outcome run = terminal.run(command);
    CAPTURE(command, run.err, run.out);
    CHECK(run.status == 0);
  }
}

}  // namespace

TEST_CASE("docs: commands are found where they are marked, and only there") {
  const std::string page =
      "text $ onebit no\n```console\n$ onebit list\noutput of onebit\n$ ls\n$ python3 a.py \\\n  --more\n```\n"
      "$ onebit no\n```sh\n$ onebit no\n```\n```console\n$ onebit run -o x\n```\n";
  CHECK(commands_of(page) == std::vector<std::string>{"onebit list", "python3 a.py    --more", "onebit run -o x"});
  CHECK(commands_of("no block\n").empty());
}

TEST_CASE("docs: a page's programs are those with a name") {
  const std::string page = "```python\n# a.py\nimport b\n\nb.c()\n```\n# d.py\n```python\nx = 1\n# e.py\n```\n";
  CHECK(programs_of(page) == std::map<std::string, std::string>{{"a.py", "import b\n\nb.c()\n"}});
}

TEST_CASE("docs: a command that fails is seen") {
  const Terminal terminal("");
  CHECK(terminal.run("onebit list").status == 0);
  CHECK(terminal.run("onebit lst").status == 2);
}

namespace {

/// Checks every fourth page, beginning with page `from`, so that tests run in parallel and none takes long.
void check_pages(std::size_t from) {
  const std::string python = find_python("h5py");
  const bool torch = !find_python("h5py, torch").empty();
  std::size_t count = 0, without_data = 0, without_python = 0, without_torch = 0, without_mpi = 0;
  const Variable oversubscribe("OMPI_MCA_rmaps_base_oversubscribe", "1");
  const Variable root("OMPI_ALLOW_RUN_AS_ROOT", "1"), sure("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  const bool shared = fs::exists(shared_path("data"));
  const std::vector<fs::path> all = pages();
  for (std::size_t i = from; i < all.size(); i += 4) {
    const std::string page = read_file(all[i].string());
    const std::vector<std::string> commands = commands_of(page);
    const bool lacks_data = !shared && (mentions(commands, "data/") || mentions(commands, "golden/"));
    const bool lacks_python = python.empty() && mentions(commands, "python3");
    without_data += lacks_data ? 1 : 0;
    without_python += lacks_python ? 1 : 0;
    const bool lacks_torch = !torch && page.find("import torch") != page.npos;
    without_torch += lacks_torch ? 1 : 0;
    const bool lacks_mpi = !mpi_is_here() && mentions(commands, "--ranks");
    without_mpi += lacks_mpi ? 1 : 0;
    if (!lacks_data && !lacks_python && !lacks_torch && !lacks_mpi) check_page(all[i], commands, python);
    count += commands.size();
  }
  CHECK(count > 0);
  ONEBIT_SKIP_UNLESS(without_data == 0, "shared", "pages use sample data that is not here");
  ONEBIT_SKIP_UNLESS(without_python == 0, "h5py", "pages use python3 with h5py");
  ONEBIT_SKIP_UNLESS(without_torch == 0, "torch", "pages use python3 with torch");
  ONEBIT_SKIP_UNLESS(without_mpi == 0, "mpi", "pages use MPI");
}

}  // namespace

TEST_CASE("docs: every command runs as it is written, pages 1, 5, ...", "[once]") {
  check_pages(0);
}

TEST_CASE("docs: every command runs as it is written, pages 2, 6, ...", "[once]") {
  check_pages(1);
}

TEST_CASE("docs: every command runs as it is written, pages 3, 7, ...", "[once]") {
  check_pages(2);
}

TEST_CASE("docs: every command runs as it is written, pages 4, 8, ...", "[once]") {
  check_pages(3);
}
