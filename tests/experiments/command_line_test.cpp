// Options of commands: a struct, its rows, and the sources of their values.

#include "experiments/cli/command_line.hpp"
#include "device/base/error.hpp"
#include "experiments/cli/help.hpp"
#include "experiments/cli/option_table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/option_fields.hpp"
#include "experiments/options/price_options.hpp"
#include "tests/catch.hpp"
#include "tests/experiments/program.hpp"
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
  CHECK_THROWS_WITH(parsed({"--names", "x"}), Contains("unknown option") && Contains("did you mean --name?"));
  const Folder folder;
  write_file(folder / "c.ini", "loud = perhaps\n");
  CHECK_THROWS_WITH(parsed({"--config", folder / "c.ini"}), Contains("c.ini: loud 'perhaps'"));
  write_file(folder / "c.ini", "help = true\n");
  CHECK_THROWS_WITH(parsed({"--config", folder / "c.ini"}), Contains("cannot ask for help"));
  CHECK_THROWS_WITH(parsed({"--name"}), Contains("no value for option"));
  CHECK_THROWS_WITH(parsed({"--cluster", "eth1"}), Contains("option of another command"));
  CHECK_THROWS_WITH(parsed({"--name", "--loud"}), Contains("no value for option --name"));
  CHECK_THROWS_WITH(parsed({"--config", "--loud"}), Contains("no value for option --config"));
  CHECK(parsed({"--name", "--elsewhere"}).name == "--elsewhere");
  CHECK_THROWS_WITH(parsed({"--optimizer", ""}), Contains("empty value (--optimizer)"));
  CHECK_THROWS_WITH(parsed({"--config", ""}), Contains("empty value (--config)"));
  CHECK_THROWS_WITH(parsed({""}), Contains("empty argument"));
}

TEST_CASE("command line: an option means the same kind of thing in all commands, and none hides one of a run") {
  std::map<std::string, bool> flags;
  for (const Command& command : commands()) {
    for (const OwnOption& option : command.own) {
      CAPTURE(command.name, option.name);
      CHECK(flags.emplace(option.name, option.is_flag).first->second == option.is_flag);
      CHECK(std::ranges::count(run_options(), option.name, &RunOption::name) == 0);
      CHECK_FALSE(option.help.empty());
      CHECK_THAT(full_help(command), Contains("--" + option.name));
    }
  }
}

TEST_CASE("command line: a long name after one dash is refused, and never taken for -o and a value") {
  CHECK_THROWS_WITH(parsed({"-name", "you"}), Contains("two dashes (-name)") && Contains("write --name"));
  CHECK_THROWS_WITH(parsed({"-steps=5"}), Contains("write --steps=5"));
  CHECK_THROWS_WITH(parsed({"-lr", "5"}), Contains("write --lr"));
  CHECK_THROWS_WITH(parsed({"-elsewhere"}), Contains("unknown option (-elsewhere)"));
  CHECK(parsed({"--count", "3", "--optimizer.lr", "-1"}).run.settings == Settings{{"optimizer.lr", "-1"}});
}

TEST_CASE("command line: an unknown option is found by the words of its name") {
  CHECK_THROWS_WITH(parsed({"--learning-rate", "0.1"}), Contains("did you mean --optimizer.lr?"));
  CHECK_THROWS_WITH(parsed({"--batch-size", "8"}), Contains("did you mean --batch?"));
  CHECK_THROWS_WITH(parsed({"--num-workers", "8"}), Contains("did you mean --workers?"));
  CHECK_THROWS_WITH(parsed({"--max-steps", "8"}), Contains("did you mean --steps?"));
  CHECK_THROWS_WITH(parsed({"--cuda"}), Contains("nearest: "));  // one word of a help text says little
  CHECK_THROWS_WITH(parsed({"-x"}), Contains("-o and -h"));
  CHECK_THROWS_WITH(parsed({"--weight_decay", "8"}), Contains("did you mean --optimizer.weight-decay?"));
}

TEST_CASE("command line: short names stand for long ones, on the command line and in files") {
  CHECK(parsed({"--lr", "0.1", "--wd=0.2"}).run.settings ==
        Settings{{"optimizer.lr", "0.1"}, {"optimizer.weight-decay", "0.2"}});
  const Folder folder;
  write_file(folder / "c.ini", "lr = 0.3\n");
  CHECK(parsed({"--config", folder / "c.ini", "--momentum", "0.5"}).run.settings ==
        Settings{{"optimizer.lr", "0.3"}, {"optimizer.momentum", "0.5"}});
  std::set<std::string> names;
  for (const RunOption& option : run_options()) names.insert(option.name);
  for (const auto& option : price_options()) names.insert(option.name);
  for (const Command& command : commands()) {
    for (const OwnOption& option : command.own) names.insert(option.name);
  }
  for (const RunOption& option : run_options()) {
    if (option.alias.empty()) continue;
    CAPTURE(option.alias);
    CHECK(names.insert(option.alias).second);  // no option has this name, nor another this short name
    CHECK(long_name(option.alias) == option.name);
  }
  CHECK(long_name("optimizer.lr") == "optimizer.lr");
  CHECK(long_name("").empty());
}

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  return split(text, '\n');
}

}  // namespace

TEST_CASE("help: of every command, it is one screen of options that the command has, with two examples") {
  for (const Command& command : commands()) {
    CAPTURE(command.name);
    const std::vector<OwnOption> options = options_of(command);
    for (const std::string& name : command.help.common) {
      CAPTURE(name);
      CHECK(find_option(options, name) != nullptr);
    }
    CHECK(command.help.examples.size() == 2);
    const std::string help = short_help(command);
    const std::vector<std::string> lines = lines_of(help);
    CHECK(lines.size() <= 40);
    for (const std::string& line : lines) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
    }
    CHECK_THAT(help, Contains("--help-all"));
    for (const std::string& example : command.help.examples) CHECK_THAT(help, Contains("  " + example + "\n"));
  }
  for (const std::string& line : lines_of(program_help(commands(), "1"))) CHECK(line.size() <= 80);
}

TEST_CASE("help: the examples are command lines that the commands take") {
  const Variable presets("ONEBIT_PRESETS", (std::filesystem::path(ONEBIT_PROGRAM).parent_path() / "presets").string());
  const std::vector<Command> all = commands();
  for (const Command& command : all) {
    for (const std::string& example : command.help.examples) {
      CAPTURE(example);
      if (example.find_first_of("|<>") != std::string::npos) continue;
      const std::vector<std::string> words = split(example, ' ');
      REQUIRE((words.size() > 1 && words[0] == "onebit" && words[1] == command.name));
      const std::vector<std::string> arguments(words.begin() + 2, words.end());
      CHECK_NOTHROW(command.bind(parse_command_line(command, all, arguments)));
    }
  }
}

TEST_CASE("help: --help-all shows every option of a run under a heading, and a price only what can change it") {
  const std::vector<Command> all = commands();
  const auto help_of = [&](const std::string& name) {
    return full_help(*std::ranges::find(all, name, &Command::name));
  };
  const std::string run = help_of("run"), price = help_of("price");
  for (const RunOption& option : run_options()) {
    CAPTURE(option.name);
    CHECK_THAT(run, Contains("--" + option.name));
    CHECK_FALSE(option.group.empty());
    CHECK_THAT(run, Contains("\n" + option.group + " [default]\n"));
  }
  CHECK_THAT(run, Contains("--lr, --optimizer.lr"));
  CHECK_THAT(price, Contains("--workers") && Contains("--codec.k") && Contains("--cluster.nic.effective"));
  CHECK_THAT(price, !Contains("--data.path") && !Contains("--eval.every") && !Contains("--model.layers"));
}
