// What `cmake --install` installs works from its new place.

#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// Installs into `folder`, and returns the path of the installed program.
std::string install(const Folder& folder) {
  const Outcome run = run_in(folder, {ONEBIT_CMAKE, "--install", ONEBIT_BUILD_DIR, "--prefix", folder / "prefix"});
  CAPTURE(run.out, run.err);
  REQUIRE(run.status == 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "prefix")) {
    const bool in_bin = entry.path().parent_path().filename() == "bin";
    if (in_bin && entry.path().filename() == "onebit" && entry.is_regular_file()) return entry.path().string();
  }
  return "";
}

}  // namespace

TEST_CASE("install: the installed program finds the installed presets") {
  const Folder folder;
  const std::string program = install(folder);
  REQUIRE_FALSE(program.empty());
  const Outcome list = run_in(folder, {program, "list", "presets"});
  CHECK(list.status == 0);
  for (const std::string preset : {"quickstart", "mnist-lr", "ngram-lr"}) {
    CHECK_FALSE(line_of(list.out, preset).empty());
    CHECK(std::filesystem::exists(folder / ("prefix/share/onebit/presets/" + preset + ".ini")));
  }
  std::filesystem::remove(folder / "prefix/share/onebit/presets/ngram-lr.ini");
  CHECK(line_of(run_in(folder, {program, "list", "presets"}).out, "ngram-lr").empty());  // not those of the build tree
}

TEST_CASE("install: the manual page and the completion scripts are where man and the shells look for them") {
  const Folder folder;
  const std::string program = install(folder);
  CHECK(read_file(folder / "prefix/share/man/man1/onebit.1") == run_in(folder, {program, "man"}).out);
  CHECK(read_file(folder / "prefix/share/bash-completion/completions/onebit") ==
        run_in(folder, {program, "completion", "bash"}).out);
  CHECK(read_file(folder / "prefix/share/zsh/site-functions/_onebit") ==
        run_in(folder, {program, "completion", "zsh"}).out);
}

TEST_CASE("install: the installed program runs a preset", "[once]") {
  const Folder folder;
  const std::string program = install(folder);
  write_file(folder / "text.txt", read_file(source_path("sim/run/config.cpp")));
  const Outcome run =
      run_in(folder, {program, "compare", "--preset", "quickstart", "--data.path", "text.txt", "--steps", "4",
                      "--freeze", "fixed:2", "--workers", "2", "--model.hidden", "8", "-o", "out"});
  CAPTURE(run.err);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("onebit-adam"));
}
