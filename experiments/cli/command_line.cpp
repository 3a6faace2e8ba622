#include "experiments/cli/command_line.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <map>
#include <set>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/option_table.hpp"
#include "experiments/options/deepspeed_batch.hpp"
#include "experiments/options/parse_error.hpp"
#include "experiments/options/presets.hpp"
#include "experiments/options/price_options.hpp"

namespace onebit::experiments {
namespace {

namespace po = boost::program_options;

/// The options of all commands in the form that Boost parses, and the long names of the short ones.
class Syntax {
 public:
  explicit Syntax(std::span<const Command> all) {
    for (const Command& command : all) {
      for (const OwnOption& option : command.own) add(option);
    }
    for (const OwnOption& option : parser_options()) add(option);
    for (const RunOption& option : run_options())
      add({.name = option.name, .help = {}, .value = {}, .alias = option.alias});
    for (const auto& option : price_options()) add({option.name, {}, {}});
  }

  const po::options_description& description() const { return description_; }
  bool knows(const std::string& name) const { return known_.contains(name); }
  /// Returns whether this is a name of one letter, written with one dash.
  bool is_letter(char name) const { return letters_.find(name) != std::string::npos; }

  /// Replaces short names by long ones.
  po::parsed_options with_long_names(po::parsed_options parsed) const {
    for (po::option& option : parsed.options) {
      const auto found = long_names_.find(option.string_key);
      if (found != long_names_.end()) option.string_key = found->second;
    }
    return parsed;
  }

 private:
  void add(const OwnOption& option) {
    const bool letter = option.alias.size() == 1;
    if (letter && !is_letter(option.alias.front())) letters_ += option.alias;
    add(letter ? option.name + "," + option.alias : option.name, option.name, option.is_flag);
    if (letter || option.alias.empty()) return;
    add(option.alias, option.alias, option.is_flag);
    long_names_.emplace(option.alias, option.name);
  }

  void add(const std::string& shown, const std::string& name, bool is_flag) {
    if (!known_.insert(name).second) return;
    if (is_flag) {
      description_.add_options()(shown.c_str(), "");
    } else {
      description_.add_options()(shown.c_str(), po::value<std::vector<std::string>>(), "");
    }
  }

  po::options_description description_;
  std::set<std::string> known_;
  std::string letters_;
  std::map<std::string, std::string> long_names_;
};

/// Parses the arguments and files of one command.
class Parser {
 public:
  Parser(const Command& command, std::span<const Command> all) : command_(command), all_(all), syntax_(all) {}

  ParsedCommand parse(const std::vector<std::string>& arguments) {
    const po::parsed_options parsed = parse_arguments(arguments);
    take_files(parsed);
    const Settings of_files = std::exchange(result_.own, {});
    take_all(parsed);
    result_.own.insert(result_.own.begin(), of_files.begin(), of_files.end());
    drop_replaced(of_files.size());
    RunSettings& run = result_.input.run;
    if (run.deepspeed) infer_batch(*run.deepspeed, run.settings, run.from_preset);
    for (const po::option& option : parsed.options) {
      std::vector<std::string>& positional = result_.input.arguments;
      if (option.position_key >= 0) positional.insert(positional.end(), option.value.begin(), option.value.end());
    }
    return std::move(result_);
  }

 private:
  po::parsed_options parse_arguments(const std::vector<std::string>& arguments) const {
    std::ranges::for_each(arguments, [&](const auto& argument) { check_dashes(argument); });
    try {
      using namespace po::command_line_style;
      // Guessing would accept --optimizer.weight for --optimizer.weight-decay.
      const auto style = unix_style & ~allow_guessing;
      const po::parsed_options parsed =
          syntax_.with_long_names(po::command_line_parser(arguments).options(syntax_.description()).style(style).run());
      check_accepted(parsed, "--", "'onebit " + command_.name + " --help-all' lists those of " + command_.name);
      check_values(parsed);
      return parsed;
    } catch (const po::unknown_option& error) {
      const std::string name = without_dashes(error.get_option_name());
      throw ConfigError("unknown option", error.get_option_name().starts_with("--") ? "--" + name : "-" + name,
                        advice_on(name, command_));
    } catch (const po::error& error) {
      throw ConfigError(reason_of(error), "command line",
                        "'onebit " + command_.name + " --help' shows how to write it");
    }
  }

  static std::string without_dashes(const std::string& name) {
    const std::size_t first = name.find_first_not_of('-');
    return first == std::string::npos ? name : name.substr(first);
  }

  /// Throws ConfigError for a long name after a single dash: otherwise -overwrite would mean -o verwrite.
  void check_dashes(const std::string& argument) const {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.size() < 3 || name[0] != '-' || name[1] == '-' || !syntax_.knows(name.substr(1))) return;
    throw ConfigError("an option's name has two dashes", argument, "write -" + argument);
  }

  /// Returns whether an option takes the name of something, so that an empty value makes no sense.
  static bool needs_name(const std::string& name) {
    if (find_option(parser_options(), name) != nullptr) return !name.starts_with("help");
    const RunOption* option = find_option(run_options(), name);
    return option != nullptr && option->words && !option->get(sim::RunConfig()).empty();
  }

  /// Throws ConfigError for an empty argument or name, and for an option in the place of the preceding one's value.
  void check_values(const po::parsed_options& parsed) const {
    for (const po::option& option : parsed.options) {
      const std::string value = option.value.empty() ? "" : option.value.front();
      if (value.empty() && needs_name(option.string_key))
        throw ConfigError("empty value", "--" + option.string_key, "give a name, or leave the option out");
      if (value.empty() && option.position_key >= 0)
        throw ConfigError("empty argument", "''", "a quoted shell variable that is not set becomes an empty argument");
      const bool separate = option.original_tokens.size() > 1 && option.original_tokens.back() == value;
      if (!separate || !value.starts_with("--") || !syntax_.knows(value.substr(2, value.find('=') - 2))) continue;
      throw ConfigError("no value for option --" + option.string_key, value, "give the value before the next option");
    }
  }

  /// Throws ConfigError if a given option exists, but not for this command. hint: what the message says after the names
  /// of the commands that take the option.
  void check_accepted(const po::parsed_options& parsed, const std::string& place, const std::string& hint) const {
    for (const po::option& option : parsed.options) {
      const std::string& name = option.string_key;
      if (name.empty() || is_accepted(name, command_)) continue;
      throw ConfigError("option of another command", place + name, "it is for " + takers_of(name) + "; " + hint);
    }
  }

  std::string takers_of(const std::string& name) const {
    std::vector<std::string> takers;
    for (const Command& command : all_) {
      if (is_accepted(name, command)) takers.push_back(command.name);
    }
    return join(takers, ", ");
  }

  /// Reads files in the order of their precedence, wherever they occur on the command line.
  void take_files(const po::parsed_options& parsed) {
    const auto each = [&](const char* name, const auto& take) {
      for (const po::option& option : parsed.options) {
        if (option.string_key == name) take(option.value.front());
      }
    };
    RunSettings& run = result_.input.run;
    const auto given = [&](const char* name) {
      return std::ranges::count(parsed.options, name, &po::option::string_key);
    };
    result_.help_all = given("help-all") > 0;
    result_.help = given("help") > 0 || result_.help_all;
    each("preset", [&](const std::string& name) {
      if (!run.preset.empty()) throw ConfigError("--preset given twice", run.preset + " and " + name, "give one");
      run.preset = name;
    });
    if (run.preset.empty() && !result_.help) run.preset = command_.accepts.default_preset;
    if (!run.preset.empty()) take_file(find_preset(run.preset));
    run.from_preset = run.settings.size();
    each("deepspeed-config", [&](const std::string& path) { take_deepspeed(path); });
    each("config", [&](const std::string& path) { take_file(path); });
  }

  void take_file(const std::string& path) {
    std::istringstream file(files::read_text(path, "config file"));
    try {
      const po::parsed_options parsed = syntax_.with_long_names(po::parse_config_file(file, syntax_.description()));
      check_accepted(parsed, path + ": ", "remove it, or use the file with one of these");
      for (const po::option& option : parsed.options) {
        const std::string& name = option.string_key;
        if (name == "config" || name == "preset" || name == "deepspeed-config")
          throw ConfigError("a config file cannot name another file with options", path + ": " + name,
                            "remove the line, and give --" + name + " on the command line");
        if (name.starts_with("help"))
          throw ConfigError("a config file cannot ask for help", path, "remove the line, or give --help");
        const OwnOption* own = find_option(command_.own, name);
        if (own != nullptr && own->is_flag && !option.value.empty() && !option.value.front().empty())
          parse_boolean(path + ": " + name, option.value.front());
      }
      take_all(parsed);
    } catch (const po::unknown_option& error) {
      throw ConfigError("unknown option", path + ": " + error.get_option_name(),
                        advice_on(error.get_option_name(), command_, ""));
    } catch (const po::error& error) {
      throw ConfigError(reason_of(error), path,
                        "each line is 'key = value'; keys without a dot come before the first [section]");
    }
  }

  void take_deepspeed(const std::string& path) {
    RunSettings& run = result_.input.run;
    if (run.deepspeed) throw ConfigError("--deepspeed-config given twice", path, "give one");
    run.deepspeed = read_deepspeed_config(path);
    for (auto& setting : run.deepspeed->settings()) run.settings.push_back(std::move(setting));
  }

  void take_all(const po::parsed_options& parsed) {
    for (const OwnOption& own : command_.own) {
      if (!own.twice.empty() && std::ranges::count(parsed.options, own.name, &po::option::string_key) > 1)
        throw ConfigError(own.twice, own.name);
    }
    for (const po::option& option : parsed.options) {
      if (!option.string_key.empty()) take(option.string_key, option.value.empty() ? "" : option.value.front());
    }
  }

  void take(const std::string& name, const std::string& value) {
    if (const OwnOption* own = find_option(command_.own, name)) {
      result_.own.emplace_back(name, own->is_flag && value.empty() ? "true" : value);
    } else if (name == "ranks") {
      result_.ranks = parse_integer(name, value);
    } else if (accepts_as_price(name, command_)) {
      result_.input.price.emplace_back(name, value);
    } else if (find_option(run_options(), name) != nullptr) {
      result_.input.run.settings.emplace_back(name, value);
    }
  }

  /// Drops the command's own options that come from files, the first `of_files` ones, if the command line replaces
  /// their set.
  void drop_replaced(std::size_t of_files) {
    std::set<std::string> replaced;
    for (std::size_t i = of_files; i < result_.own.size(); ++i) replaced.insert(set_of(result_.own[i].first));
    replaced.erase("");
    const auto begin = result_.own.begin(), end = begin + static_cast<std::ptrdiff_t>(of_files);
    result_.own.erase(
        std::remove_if(begin, end, [&](const auto& option) { return replaced.contains(set_of(option.first)); }), end);
  }

  std::string set_of(const std::string& name) const { return find_option(command_.own, name)->replaces; }

  const Command& command_;
  std::span<const Command> all_;
  Syntax syntax_;
  ParsedCommand result_;
};

}  // namespace

ParsedCommand parse_command_line(const Command& command, std::span<const Command> all,
                                 const std::vector<std::string>& arguments) {
  ParsedCommand parsed = Parser(command, all).parse(arguments);
  parsed.input.text = "onebit " + command.name;
  parsed.input.words = {command.name};
  for (const std::string& argument : arguments) {
    parsed.input.text += " " + argument;
    parsed.input.words.push_back(argument);
  }
  return parsed;
}

}  // namespace onebit::experiments
