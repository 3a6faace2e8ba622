#include "experiments/cli/command_line.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <iomanip>
#include <set>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/options/deepspeed_batch.hpp"
#include "experiments/options/parse_error.hpp"
#include "experiments/options/presets.hpp"
#include "experiments/options/price_options.hpp"

namespace onebit::experiments {
namespace {

namespace po = boost::program_options;

/// Options that the parser itself reads, in every command that accepts them.
const std::vector<OwnOption>& parser_options() {
  static const std::vector<OwnOption> table = {
      {"config", "INI file with options", ""},
      {"preset", "name of a preset, an INI file with options; see 'onebit list presets'", ""},
      {"deepspeed-config",
       "DeepSpeed configuration (JSON): sets optimizer, clipping and batch sizes; overrides a preset", ""},
      {"ranks", "number of MPI processes to start on this machine with mpirun", "1"},
      {"help", "show this text", "", true},
  };
  return table;
}

bool accepts_of_parser(const std::string& name, const Accepts& accepts) {
  if (name == "config") return accepts.config;
  if (name == "preset") return accepts.preset;
  if (name == "deepspeed-config") return accepts.deepspeed;
  return name == "ranks" ? accepts.ranks : name == "help";
}

bool accepts_price(const std::string& name, const Accepts& accepts) {
  if (name == "target") return accepts.target || accepts.price == Accepts::Price::all;
  return accepts.price == Accepts::Price::all || (accepts.price == Accepts::Price::of_runs && is_for_runs_too(name));
}

template <class Options>
const auto* find_option(const Options& options, const std::string& name) {
  const auto found = std::ranges::find_if(options, [&](const auto& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

bool is_accepted(const std::string& name, const Command& command) {
  if (find_option(command.own, name) != nullptr) return true;
  if (find_option(parser_options(), name) != nullptr) return accepts_of_parser(name, command.accepts);
  if (find_option(run_options(), name) != nullptr) return command.accepts.run;
  return find_option(price_options(), name) != nullptr && accepts_price(name, command.accepts);
}

/// Calls visit(name, help, default) for every accepted pricing option.
template <class Visit>
void for_each_price_option(const Accepts& accepts, const Visit& visit) {
  const PriceConfig defaults;
  for (const auto& option : price_options()) {
    if (accepts_price(option.name, accepts)) visit(option.name, option.help, option.get(defaults));
  }
}

/// Calls visit(name, help, default) for every option of a run, if the command accepts them.
template <class Visit>
void for_each_run_option(const Accepts& accepts, const Visit& visit) {
  const sim::RunConfig defaults;
  for (const RunOption& option : run_options()) {
    if (accepts.run) visit(option.name, option.help, option.get(defaults));
  }
}

/// Calls visit(name, help, default) for every own option of a command and every parser option that it accepts.
template <class Visit>
void for_each_own_option(const Command& command, const Visit& visit) {
  for (const OwnOption& option : command.own) visit(option.name, option.help, option.value);
  for (const OwnOption& option : parser_options()) {
    if (accepts_of_parser(option.name, command.accepts)) visit(option.name, option.help, option.value);
  }
}

/// Returns the options of all commands in the form that Boost parses.
po::options_description options_of(std::span<const Command> all) {
  po::options_description description;
  std::set<std::string> known;
  const auto add = [&](const std::string& name, bool is_flag) {
    if (!known.insert(name).second) return;
    const std::string shown = name == "out" ? "out,o" : name == "help" ? "help,h" : name;
    if (is_flag) {
      description.add_options()(shown.c_str(), "");
    } else {
      description.add_options()(shown.c_str(), po::value<std::vector<std::string>>(), "");
    }
  };
  for (const Command& command : all) {
    for (const OwnOption& option : command.own) add(option.name, option.is_flag);
  }
  for (const OwnOption& option : parser_options()) add(option.name, option.is_flag);
  for (const RunOption& option : run_options()) add(option.name, false);
  for (const auto& option : price_options()) add(option.name, false);
  return description;
}

/// Parses the arguments and files of one command.
class Parser {
 public:
  Parser(const Command& command, std::span<const Command> all) : command_(command), all_(options_of(all)) {}

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
  std::string suggest(const std::string& name) const {
    std::vector<std::string> all;
    const auto add = [&](const std::string& option, const auto&...) { all.push_back(option); };
    for_each_own_option(command_, add);
    for_each_run_option(command_.accepts, add);
    for_each_price_option(command_.accepts, add);
    const std::vector<std::string_view> names(all.begin(), all.end());
    return suggestion(name, names) + " ('onebit COMMAND --help' lists all)";
  }

  po::parsed_options parse_arguments(const std::vector<std::string>& arguments) const {
    try {
      using namespace po::command_line_style;
      // Guessing would accept --optimizer.weight for --optimizer.weight-decay.
      const auto style = unix_style & ~allow_guessing;
      const po::parsed_options parsed = po::command_line_parser(arguments).options(all_).style(style).run();
      check_accepted(parsed, "--", "'onebit COMMAND --help' lists the options that a command takes");
      return parsed;
    } catch (const po::unknown_option& error) {
      const std::string name = without_dashes(error.get_option_name());
      throw ConfigError("unknown option", "--" + name, suggest(name));
    } catch (const po::error& error) {
      throw ConfigError(reason_of(error), "command line");
    }
  }

  static std::string without_dashes(const std::string& name) {
    const std::size_t first = name.find_first_not_of('-');
    return first == std::string::npos ? name : name.substr(first);
  }

  /// Throws ConfigError if a given option exists, but not for this command.
  void check_accepted(const po::parsed_options& parsed, const std::string& place, const std::string& hint) const {
    for (const po::option& option : parsed.options) {
      const bool positional = option.string_key.empty();
      if (!positional && !is_accepted(option.string_key, command_))
        throw ConfigError("option of another command", place + option.string_key, hint);
    }
  }

  /// Reads files in the order of their precedence, wherever they occur on the command line.
  void take_files(const po::parsed_options& parsed) {
    const auto each = [&](const char* name, const auto& take) {
      for (const po::option& option : parsed.options) {
        if (option.string_key == name) take(option.value.front());
      }
    };
    RunSettings& run = result_.input.run;
    result_.help = std::ranges::count(parsed.options, "help", &po::option::string_key) > 0;
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
      const po::parsed_options parsed = po::parse_config_file(file, all_);
      check_accepted(parsed, path + ": ", "remove it, or check that the file is meant for this command");
      for (const po::option& option : parsed.options) {
        const std::string& name = option.string_key;
        if (name == "config" || name == "preset" || name == "deepspeed-config")
          throw ConfigError("a config file cannot name another file with options", path + ": " + name);
        if (name == "help")
          throw ConfigError("a config file cannot ask for help", path, "remove the line, or give --help");
        const OwnOption* own = find_option(command_.own, name);
        if (own != nullptr && own->is_flag && !option.value.empty() && !option.value.front().empty())
          parse_boolean(path + ": " + name, option.value.front());
      }
      take_all(parsed);
    } catch (const po::unknown_option& error) {
      throw ConfigError("unknown option", path + ": " + error.get_option_name(), suggest(error.get_option_name()));
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
    } else if (find_option(run_options(), name) != nullptr) {
      result_.input.run.settings.emplace_back(name, value);
    } else if (find_option(price_options(), name) != nullptr) {
      result_.input.price.emplace_back(name, value);
    }
  }

  /// Drops the own options that come from files, the first `of_files` ones, if the command line replaces their set.
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
  po::options_description all_;
  ParsedCommand result_;
};

}  // namespace

ParsedCommand parse_command_line(const Command& command, std::span<const Command> all,
                                 const std::vector<std::string>& arguments) {
  ParsedCommand parsed = Parser(command, all).parse(arguments);
  parsed.input.text = "onebit " + command.name;
  for (const std::string& argument : arguments) parsed.input.text += " " + argument;
  return parsed;
}

std::string options_help(const Command& command) {
  std::ostringstream text;
  const auto line = [&](const std::string& name, const std::string& help, const std::string& value) {
    text << "  --" << std::left << std::setw(30) << name << " " << help << (value.empty() ? "" : " [" + value + "]")
         << "\n";
  };
  for_each_own_option(command, line);
  const auto setting = [&](const std::string& name, const std::string& help, const std::string& value) {
    const std::string shown = value == "nan" ? "" : " [" + value + "]";  // the help says what is used then
    text << "  --" << std::left << std::setw(30) << name << " " << help << shown << "\n";
  };
  if (command.accepts.price != Accepts::Price::none || command.accepts.target) {
    text << "\npricing options [default]\n";
    for_each_price_option(command.accepts, setting);
  }
  if (command.accepts.run) {
    text << "\noptions of a run [default]\n";
    for_each_run_option(command.accepts, setting);
  }
  return text.str();
}

}  // namespace onebit::experiments
