#include "experiments/cli/command_line.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <iomanip>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/parse_error.hpp"
#include "experiments/options/deepspeed_batch.hpp"
#include "experiments/options/presets.hpp"
#include "experiments/options/price_options.hpp"

namespace onebit::experiments {
namespace {

namespace po = boost::program_options;

struct ExtraOption {
  std::string name;  ///< in Boost's notation: "out,o"
  std::string help;
  bool has_value;
};

const std::vector<ExtraOption>& extra_options() {
  static const std::vector<ExtraOption> table = {
      {"out,o",
       "output file; a folder for compare, sweep, freeze, verify and --validate; with --fit, the stem of the pictures' "
       "names",
       true},
      {"weights-out", "run: write the final weights to this file", true},
      {"config", "INI file with options", true},
      {"preset", "a named INI file, see 'onebit list presets'", true},
      {"deepspeed-config",
       "JSON file of DeepSpeed: its optimizer, clipping and batch sizes as options; wins over a preset", true},
      {"optimizers", "arms by optimizer: adam,onebit-adam", true},
      {"arm", "an arm 'name:key=value,key=value'; --validate: what is changed from the freeze on; repeatable", true},
      {"seeds", "paired seeds per arm: seed, seed+1, ...", true},
      {"ranks", "run as so many MPI processes on this machine, by mpirun", true},
      {"reference",
       "replay: reference case in the trace, or all: use its hyper-parameters and compare with its recorded "
       "parameters; "
       "--validate: baseline that is subtracted from losses: known (the model's minimum, 0 if unknown), best (lowest "
       "final loss of any run) or a number",
       true},
      {"penalty", "replay: so many times the weights are added to every gradient, as a penalty of the loss does", true},
      {"elements", "bench kernels: elements of the largest operand; 0: 4x the last-level cache", true},
      {"rounds", "bench: measured rounds; 0: 5 for kernels, 30 for steps", true},
      {"sweep", "bench scaling: numbers of workers, after 1; none: 2,4,...,64 that divide the examples", true},
      {"global-batch", "bench scaling: examples of a step, of all workers together; 0: 1024", true},
      {"axis", "sweep: key=a,b,c or key=low:high:log:count or ...:lin:count, for any option of a run; repeatable",
       true},
      {"zip", "sweep: axes that advance together: key,key; repeatable", true},
      {"skip", "sweep: leave out points where all of 'key=value,key=value' hold; repeatable", true},
      {"tune", "sweep: find the best value of an option for each arm by golden section: key=low:high", true},
      {"tune-points", "sweep: values that --tune tries for each arm [8]", true},
      {"jobs", "sweep: runs at a time; 0: cores divided by --threads [0]", true},
      {"retries", "sweep: restarts after a failure other than a divergence [1]", true},
      {"time-limit", "sweep: time limit of a run in seconds; 0: unlimited [0]", true},
      {"shard", "sweep: i/n: only points p with p % n == i [of SLURM_PROCID and SLURM_NTASKS, else all]", true},
      {"extend", "sweep: add the points to those of the folder", false},
      {"retry-failed", "sweep: try points again that failed or ran out of time", false},
      {"overwrite", "replace existing output", false},
      {"resume", "continue an existing log from its last checkpoint; a finished one is left unchanged", false},
      {"resume.allow",
       "comma-separated options that may differ from the log's; bits: recomputed rows may, by another build or CPU",
       true},
      {"csv", "export: one line per row, comma-separated; report: its curves as one such table", false},
      {"png", "report: its pictures as files too, SVG and PNG, next to it", false},
      {"jsonl", "export: a JSON object a row", false},
      {"baseline", "analyze, report: the arm that the others are compared with; none: each with its parent", true},
      {"margin",
       "relative difference of final losses within which arms are equivalent; --validate: the largest cost that is "
       "safe "
       "[0.01]",
       true},
      {"validate",
       "analyze: one dense run per seed, with continuations from it, frozen with and without compression; needs -o DIR",
       false},
      {"freeze-at", "--validate: freeze after so many dense updates, in place of thresholds: 100,500,1000", true},
      {"measure", "--validate: what a cost is counted in: loss, accuracy, or steps to --target [loss]", true},
      {"fit", "analyze: exponent of the squared gradient over logs that differ in steps, workers or errors", true},
      {"lags",
       "analyze: lags of the stability ratio in steps: 10,100,1000; thresholds are judged at the last; none: the log's",
       true},
      {"thresholds",
       "analyze: ratios at which the rule freezes the variance: 0.9,0.96,0.99; none: ten of them, six with --validate",
       true},
      {"group", "export: steps, workers, tensors, probes, evaluations, events or traffic; none: all", true},
      {"json", "print one JSON object instead of tables", false},
      {"dry-run", "check and show everything, run nothing", false},
      {"progress", "show progress although stderr is no terminal", false},
      {"help,h", "this text", false},
  };
  return table;
}

/// Returns the name without its short form.
std::string long_name(const std::string& name) {
  return name.substr(0, name.find(','));
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

template <class Options>
bool has(const Options& options, const std::string& name) {
  return std::any_of(options.begin(), options.end(),
                     [&](const auto& option) { return long_name(option.name) == name; });
}

bool is_accepted(const std::string& name, const Accepted& accepted) {
  if (has(extra_options(), name)) return name == "help" || contains(accepted.extras, name);
  if (has(run_options(), name)) return accepted.run;
  return contains(accepted.extras, name) || accepted.price == Accepted::Price::all ||
         (accepted.price == Accepted::Price::of_runs && is_for_runs_too(name));
}

/// Calls visit(name, help, default) for every option of a run and of pricing that is accepted.
template <class Visit>
void for_each_setting(const Accepted& accepted, const Visit& visit) {
  if (accepted.run) {
    const sim::RunConfig defaults;
    for (const RunOption& option : run_options()) visit(option.name, option.help, option.get(defaults));
  }
  if (accepted.price == Accepted::Price::none) return;
  const PriceConfig defaults;
  for (const auto& option : price_options()) {
    if (is_accepted(option.name, accepted)) visit(option.name, option.help, option.get(defaults));
  }
}

/// Returns the options of all commands, for Boost.
const po::options_description& all_options() {
  static const po::options_description description = [] {
    po::options_description all;
    for (const ExtraOption& option : extra_options()) {
      if (option.has_value) {
        all.add_options()(option.name.c_str(), po::value<std::vector<std::string>>(), option.help.c_str());
      } else {
        all.add_options()(option.name.c_str(), option.help.c_str());
      }
    }
    const auto add = [&](const auto& options) {
      for (const auto& option : options)
        all.add_options()(option.name.c_str(), po::value<std::vector<std::string>>(), option.help.c_str());
    };
    add(run_options());
    add(price_options());
    return all;
  }();
  return description;
}

std::string suggest(const std::string& name, const Accepted& accepted) {
  std::vector<std::string> all = accepted.extras;
  for_each_setting(accepted, [&](const std::string& option, const auto&...) { all.push_back(option); });
  const std::vector<std::string_view> names(all.begin(), all.end());
  return suggestion(name, names) + " ('onebit COMMAND --help' lists all)";
}

std::string without_dashes(const std::string& name) {
  const std::size_t first = name.find_first_not_of('-');
  return first == std::string::npos ? name : name.substr(first);
}

void take(CommandLine& line, const std::string& name, const std::string& value) {
  if (take_sweep_option(line.points, name, value)) return;
  if (name == "out") {
    line.out = value;
  } else if (name == "weights-out") {
    line.weights_out = value;
  } else if (name == "arm") {
    line.arms.push_back(value);
  } else if (name == "optimizers") {
    line.optimizers = split(value, ',');
    if (line.optimizers.empty())
      throw ConfigError("no optimizer named", "optimizers", "e.g. --optimizers adam,onebit-adam");
  } else if (name == "seeds") {
    line.seeds = parse_integer("seeds", value);
  } else if (name == "ranks") {
    line.ranks = parse_integer("ranks", value);
  } else if (name == "reference") {
    line.reference = value;
  } else if (name == "penalty") {
    line.penalty = parse_real("penalty", value);
  } else if (name == "elements") {
    line.elements = parse_integer("elements", value);
  } else if (name == "rounds") {
    line.rounds = parse_integer("rounds", value);
  } else if (name == "sweep") {
    line.sweep.clear();
    for (const std::string& item : split(value, ',')) line.sweep.push_back(parse_integer("sweep", item));
  } else if (name == "global-batch") {
    line.global_batch = parse_integer("global-batch", value);
  } else if (name == "overwrite") {
    line.overwrite = true;
  } else if (name == "resume") {
    line.resume = true;
  } else if (name == "resume.allow") {
    line.resume_allow = split(value, ',');
  } else if (name == "png") {
    line.png = true;
  } else if (name == "csv") {
    line.csv = true;
  } else if (name == "jsonl") {
    line.jsonl = true;
  } else if (name == "fit") {
    line.fit = value;
  } else if (name == "validate") {
    line.validate = true;
  } else if (name == "freeze-at") {
    line.freeze_at = value;
  } else if (name == "measure") {
    line.measure = value;
  } else if (name == "baseline") {
    line.baseline = value;
  } else if (name == "margin") {
    line.margin = parse_real("margin", value);
    if (!(*line.margin > 0 && *line.margin < 1))
      throw ConfigError("option out of range", "margin " + value, "above 0 and below 1, as 0.01 for 1%");
  } else if (name == "lags") {
    line.lags = value;
  } else if (name == "thresholds") {
    line.thresholds = value;
  } else if (name == "group") {
    line.group = value;
  } else if (name == "json") {
    line.json = true;
  } else if (name == "dry-run") {
    line.dry_run = true;
  } else if (name == "progress") {
    line.progress = true;
  } else if (name == "help") {
    line.help = true;
  } else {
    (has(price_options(), name) ? line.price : line.run).emplace_back(name, value);
  }
}

bool is_file(const std::string& name) {
  return name == "config" || name == "preset" || name == "deepspeed-config";
}

void take_all(CommandLine& line, const po::parsed_options& parsed, const std::string& where) {
  const auto tunes = std::count_if(parsed.options.begin(), parsed.options.end(),
                                   [](const auto& option) { return option.string_key == "tune"; });
  if (tunes > 1) throw ConfigError("two options to tune", "tune", "one is tuned at a time; sweep the other by --axis");
  for (const auto& option : parsed.options) {
    if (is_file(option.string_key)) {
      if (!where.empty()) throw ConfigError("a config file cannot name another", where + ": " + option.string_key);
      continue;
    }
    if (option.string_key.empty()) continue;  // positional
    take(line, option.string_key, option.value.empty() ? "" : option.value.front());
  }
}

/// Throws ConfigError where an option exists, but not for this command.
void check_accepted(const po::parsed_options& parsed, const Accepted& accepted, const std::string& place,
                    const std::string& hint) {
  for (const auto& option : parsed.options) {
    const bool positional = option.string_key.empty();
    if (!positional && !is_accepted(option.string_key, accepted))
      throw ConfigError("option of another command", place + option.string_key, hint);
  }
}

/// In a file a flag has a value; a false flag counts as not given.
po::parsed_options without_false_flags(po::parsed_options parsed, const std::string& path) {
  std::erase_if(parsed.options, [&](const po::option& option) {
    const bool flag = std::any_of(extra_options().begin(), extra_options().end(), [&](const ExtraOption& extra) {
      return !extra.has_value && long_name(extra.name) == option.string_key;
    });
    const bool empty = option.value.empty() || option.value.front().empty();
    return flag && !empty && !parse_boolean(path + ": " + option.string_key, option.value.front());
  });
  return parsed;
}

void take_file(CommandLine& line, const std::string& path, const Accepted& accepted) {
  std::istringstream file(files::read_text(path, "config file"));
  try {
    const po::parsed_options parsed = po::parse_config_file(file, all_options());
    check_accepted(parsed, accepted, path + ": ", "is the file meant for 'onebit compare' or 'onebit sweep'?");
    take_all(line, without_false_flags(parsed, path), path);
  } catch (const po::unknown_option& error) {
    throw ConfigError("unknown option", path + ": " + error.get_option_name(),
                      suggest(error.get_option_name(), accepted));
  } catch (const po::error& error) {
    throw ConfigError(reason_of(error), path, "lines are 'key = value'; selectors stand above [sections]");
  }
}

void take_deepspeed(CommandLine& line, const std::string& path) {
  if (line.deepspeed) throw ConfigError("two DeepSpeed configurations", path, "give one");
  line.deepspeed = read_deepspeed_config(path);
  for (auto& setting : line.deepspeed->settings()) line.run.push_back(std::move(setting));
}

/// Reads files in the order of their precedence, wherever they occur on the command line.
void take_files(CommandLine& line, const po::parsed_options& parsed, const Accepted& accepted) {
  const auto each = [&](const char* name, const auto& take) {
    for (const auto& option : parsed.options) {
      if (option.string_key == name) take(option.value.front());
    }
  };
  each("preset", [&](const std::string& name) {
    if (!line.preset.empty()) throw ConfigError("two presets", line.preset + " and " + name, "give one");
    line.preset = name;
  });
  const auto asks_for_help = [](const po::option& option) { return option.string_key == "help"; };
  if (line.preset.empty() && std::ranges::none_of(parsed.options, asks_for_help)) line.preset = accepted.preset;
  if (!line.preset.empty()) take_file(line, find_preset(line.preset), accepted);
  line.from_preset = line.run.size();
  each("deepspeed-config", [&](const std::string& path) { take_deepspeed(line, path); });
  each("config", [&](const std::string& path) { take_file(line, path, accepted); });
}

po::parsed_options parse_arguments(const std::vector<std::string>& arguments, const Accepted& accepted) {
  try {
    using namespace po::command_line_style;
    // Guessing would accept --optimizer.weight for --optimizer.weight-decay.
    const auto style = unix_style & ~allow_guessing;
    const po::parsed_options parsed = po::command_line_parser(arguments).options(all_options()).style(style).run();
    check_accepted(parsed, accepted, "--", "'onebit COMMAND --help' lists those of a command");
    return parsed;
  } catch (const po::unknown_option& error) {
    const std::string name = without_dashes(error.get_option_name());
    throw ConfigError("unknown option", "--" + name, suggest(name, accepted));
  } catch (const po::error& error) {
    throw ConfigError(reason_of(error), "command line");
  }
}

}  // namespace

CommandLine parse_command_line(const std::string& command, const std::vector<std::string>& arguments,
                               const Accepted& accepted) {
  CommandLine line;
  line.text = "onebit " + command;
  for (const std::string& argument : arguments) line.text += " " + argument;
  const po::parsed_options parsed = parse_arguments(arguments, accepted);
  take_files(line, parsed, accepted);
  // Arms on the command line replace those of a preset.
  CommandLine typed = line;
  typed.arms.clear();
  typed.optimizers.clear();
  take_all(typed, parsed, "");
  if (typed.deepspeed) infer_batch(*typed.deepspeed, typed.run, typed.from_preset);
  if (typed.arms.empty() && typed.optimizers.empty()) {
    typed.arms = line.arms;
    typed.optimizers = line.optimizers;
  }
  for (const auto& option : parsed.options) {
    if (option.position_key >= 0)
      typed.arguments.insert(typed.arguments.end(), option.value.begin(), option.value.end());
  }
  return typed;
}

void check_seeds(const CommandLine& line) {
  if (line.seeds < 1 || line.seeds > 10000)
    throw ConfigError("option out of range", "seeds " + std::to_string(line.seeds), "from 1 to 10000");
}

std::string options_help(const Accepted& accepted) {
  std::ostringstream text;
  const auto line = [&](const std::string& name, const std::string& help) {
    text << "  --" << std::left << std::setw(30) << name << " " << help << "\n";
  };
  for (const ExtraOption& option : extra_options()) {
    if (contains(accepted.extras, long_name(option.name))) line(long_name(option.name), option.help);
  }
  const auto settings = [&](const char* title, const Accepted& kind) {
    text << "\n" << title << " [default]\n";
    for_each_setting(kind, [&](const std::string& name, const std::string& help, const std::string& value) {
      line(name, help + " [" + value + "]");
    });
  };
  if (accepted.price != Accepted::Price::none) settings("options of pricing", {accepted.extras, false, accepted.price});
  if (accepted.run) settings("options of a run", {{}, true, Accepted::Price::none});
  return text.str();
}

}  // namespace onebit::experiments
