// How threads wait for each other is decided before the program's run-time library starts.

#include "experiments/cli/waiting.hpp"

#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

const Arguments kPlain = {"env",           "-u", "OMP_WAIT_POLICY", "-u", "GOMP_SPINCOUNT", "-u",
                          "KMP_BLOCKTIME", "-u", "KMP_LIBRARY"};

/// Returns the environment that a run passes to a user's program. The program writes it to a file and fails.
std::string environment_of_run(const Arguments& environment) {
  const Folder folder;
  const Outcome run =
      run_in(folder, joined(joined(kPlain, environment),
                            onebit_command({"run", "--model", "external", "--model.command", "env > seen; exit 3",
                                            "--data", "synthetic", "--steps", "1", "-o", "run.h5"})));
  CAPTURE(run.err);
  REQUIRE(std::filesystem::exists(folder / "seen"));
  return read_file(folder / "seen");
}

}  // namespace

TEST_CASE("threads spin briefly unless the user has said how they wait") {
  const std::string plain = environment_of_run({});
  CHECK_THAT(plain, Contains("GOMP_SPINCOUNT=1000\n") && Contains("KMP_BLOCKTIME=1\n"));
  for (const std::string own :
       {"OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=7", "KMP_BLOCKTIME=3", "KMP_LIBRARY=serial"}) {
    const std::string seen = environment_of_run({own});
    CAPTURE(own, seen);
    CHECK_THAT(seen, Contains(own + "\n"));
    for (const std::string set : {"GOMP_SPINCOUNT=1000", "KMP_BLOCKTIME=1\n"}) CHECK_THAT(seen, !Contains(set));
  }
}

TEST_CASE("the program that started anew has its arguments, its name and its status") {
  const Folder folder;
  const auto program = [&](const Arguments& arguments) {
    return run_in(folder, joined(kPlain, onebit_command(arguments)));
  };
  CHECK_THAT(program({"--version"}).out, Catch::Matchers::StartsWith("onebit "));
  CHECK(program({}).status == 2);
  CHECK_THAT(program({"run", "--steps", "a b"}).err, Contains("a b"));
  std::filesystem::create_symlink(ONEBIT_PROGRAM, folder / "a link");
  const Outcome link = run_in(folder, joined(kPlain, {folder / "a link", "list", "presets"}));
  CHECK(link.status == 0);
  CHECK_THAT(link.out, Contains("quickstart"));  // which lies next to the program
}

TEST_CASE("the run-time library reads what was set") {
  const Folder folder;
  const Arguments command =
      onebit_command({"run", "--model", "quadratic", "--data", "none", "--steps", "1", "-o", "run.h5"});
  const Outcome run = run_in(folder, joined(joined(kPlain, {"OMP_DISPLAY_ENV=verbose"}), command));
  const bool gnu = run.err.find("GOMP_SPINCOUNT") != std::string::npos;
  CHECK_THAT(run.err, Contains(gnu ? "GOMP_SPINCOUNT = '1000'" : "KMP_BLOCKTIME='1"));
}
