// Options of commands: a struct, its rows, and the sources of their values.

#include "experiments/cli/command_line.hpp"
#include "device/base/error.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/option_fields.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

using namespace onebit;
using namespace onebit::experiments;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

struct Options : CommandInput {
  std::string name = "nobody";
  Index count = 3;
  bool loud = false;
  std::vector<std::string> things, others;
  std::optional<double> share;
};

std::vector<Option<Options>> rows() {
  return {field<Options>("name", "whom", ONEBIT_PLACE(name)),
          between<Options>("count", "how many", 1, 9, ONEBIT_PLACE(count)),
          flag<Options>("loud", "shouts", ONEBIT_PLACE(loud)),
          repeated<Options>("thing", "a thing", ONEBIT_PLACE(things), "things"),
          repeated<Options>("other", "another", ONEBIT_PLACE(others)),
          field<Options>("share", "a share", ONEBIT_PLACE(share))};
}

Options parsed(const std::vector<std::string>& arguments) {
  const Command command{.name = "greet", .accepts = {.run = true, .config = true}, .own = own_options(rows())};
  return options_from(parse_command_line(command, {&command, 1}, arguments), rows());
}

}  // namespace

TEST_CASE("command line: a row fills a member, and what is not given keeps its default") {
  const Options none = parsed({});
  CHECK((none.name == "nobody" && none.count == 3 && !none.loud && none.things.empty() && !none.share));
  const Options all = parsed({"file.h5", "--name", "you", "--count=9", "--loud", "--share", "0.5", "--batch", "7"});
  CHECK((all.name == "you" && all.count == 9 && all.loud && all.share == 0.5));
  CHECK(all.arguments == std::vector<std::string>{"file.h5"});
  CHECK(all.run.settings == Settings{{"batch", "7"}});
  CHECK(all.text == "onebit greet file.h5 --name you --count=9 --loud --share 0.5 --batch 7");
}

TEST_CASE("command line: values of a file come first, and those of a set give way to the command line's") {
  const Folder folder;
  write_file(folder / "c.ini", "name = file\nloud = true\nthing = a\nthing = b\nother = c\n");
  const std::string path = folder / "c.ini";
  CHECK(parsed({"--config", path}).things == std::vector<std::string>{"a", "b"});
  const Options both = parsed({"--thing", "x", "--config", path, "--other", "y", "--name", "typed"});
  CHECK(both.things == std::vector<std::string>{"x"});
  CHECK(both.others == std::vector<std::string>{"c", "y"});
  CHECK((both.name == "typed" && both.loud));
  write_file(folder / "later.ini", "name = later\n");
  CHECK(parsed({"--config", path, "--config", folder / "later.ini"}).name == "later");
  write_file(folder / "quiet.ini", "loud = false\n");
  CHECK_FALSE(parsed({"--config", folder / "quiet.ini"}).loud);
}

TEST_CASE("command line: bad values and unknown options are named with a hint") {
  CHECK_THROWS_WITH(parsed({"--count", "10"}), Contains("count 10") && Contains("from 1 to 9"));
  CHECK_THROWS_WITH(parsed({"--count", "ten"}), Contains("a whole number"));
  CHECK_THROWS_WITH(parsed({"--names", "x"}), Contains("unknown option") && Contains("did you mean name?"));
  const Folder folder;
  write_file(folder / "c.ini", "loud = perhaps\n");
  CHECK_THROWS_WITH(parsed({"--config", folder / "c.ini"}), Contains("c.ini: loud 'perhaps'"));
  write_file(folder / "c.ini", "help = true\n");
  CHECK_THROWS_WITH(parsed({"--config", folder / "c.ini"}), Contains("cannot ask for help"));
  CHECK_THROWS_WITH(parsed({"--name"}), Contains("no value for option"));
  CHECK_THROWS_WITH(parsed({"--cluster", "eth1"}), Contains("option of another command"));
}

TEST_CASE("command line: an option means the same kind of thing in all commands, and none hides one of a run") {
  std::map<std::string, bool> flags;
  for (const Command& command : commands()) {
    for (const OwnOption& option : command.own) {
      CAPTURE(command.name, option.name);
      CHECK(flags.emplace(option.name, option.is_flag).first->second == option.is_flag);
      CHECK(std::ranges::count(run_options(), option.name, &RunOption::name) == 0);
      CHECK_FALSE(option.help.empty());
      CHECK_THAT(options_help(command), Contains("--" + option.name));
    }
  }
}
