#include "experiments/cli/option_table.hpp"

#include <algorithm>
#include <cctype>

#include "device/base/text.hpp"
#include "experiments/options/option_fields.hpp"
#include "experiments/options/presets.hpp"
#include "experiments/options/price_options.hpp"

namespace onebit::experiments {
namespace {

bool accepts_of_parser(const std::string& name, const Accepts& accepts) {
  if (name == "config") return accepts.config;
  if (name == "preset") return accepts.preset;
  if (name == "deepspeed-config") return accepts.deepspeed;
  return name == "ranks" ? accepts.ranks : name.starts_with("help");
}

bool accepts_price(const std::string& name, const Accepts& accepts) {
  if (name == "target") return accepts.target || accepts.price == Accepts::Price::all;
  return accepts.price == Accepts::Price::all || (accepts.price == Accepts::Price::of_runs && is_for_runs_too(name));
}

bool lists_of_run(const std::string& name, const Accepts& accepts) {
  return accepts.run && (accepts.of_run == nullptr || accepts.of_run(name));
}

/// Returns rows of a table without their struct. The default NaN is not shown: the help says what is used then.
template <class Config>
std::vector<OwnOption> shown(const std::vector<Option<Config>>& rows) {
  std::vector<OwnOption> all = own_options(rows);
  for (OwnOption& option : all) {
    if (option.value == "nan") option.value.clear();
  }
  return all;
}

const std::vector<OwnOption>& shown_run_options() {
  static const std::vector<OwnOption> table = shown(run_options());
  return table;
}

const std::vector<OwnOption>& shown_price_options() {
  static const std::vector<OwnOption> table = shown(price_options());
  return table;
}

/// Returns the words of a text in lower case: its runs of letters and digits.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// Returns how well a word of an unknown name fits a word of an option's name: 5 if they are equal, 3 if one begins
/// with the other, otherwise 0.
int fit_of_words(const std::string& word, const std::string& other) {
  constexpr std::size_t least = 3;  // number of letters in the shortest prefix that counts
  if (word == other) return 5;
  const bool begins = word.starts_with(other) || other.starts_with(word);
  return begins && std::min(word.size(), other.size()) >= least ? 3 : 0;
}

/// Returns how well an option fits the words of an unknown name. Words of its help count less than those of its name,
/// and only if the name fits, too, or if there are at least two of them. An option with a short name, or whose name is
/// one word, comes first among equals.
int fit(const std::vector<std::string>& words, const OwnOption& option) {
  const std::vector<std::string> name = words_of(option.name), help = words_of(option.help);
  int of_name = 0, of_help = 0;
  for (const std::string& word : words) {
    int best = 0;
    for (const std::string& other : name) best = std::max(best, fit_of_words(word, other));
    of_name += best;
    if (best == 0 && std::ranges::find(help, word) != help.end()) of_help += 3;
  }
  const int points = of_name + (of_name > 0 || of_help > 3 ? of_help : 0);
  const bool comes_first = !option.alias.empty() || (of_name > 0 && name.size() == 1);
  return points == 0 ? 0 : points + (comes_first ? 1 : 0);
}

/// Returns the options that fit the words of an unknown name best, at most three.
std::vector<std::string> related(const std::string& unknown, const std::vector<OwnOption>& options) {
  constexpr std::size_t most = 3;
  const std::vector<std::string> words = words_of(unknown);
  int best = 1;
  std::vector<std::string> names;
  for (const OwnOption& option : options) {
    const int points = fit(words, option);
    if (points < best) continue;
    if (points > best) names.clear();
    best = points;
    if (names.size() < most) names.push_back(option.name);
  }
  return names;
}

}  // namespace

const std::vector<OwnOption>& parser_options() {
  static const std::vector<OwnOption> table = {
      {"config", "INI file with options", ""},
      {.name = "preset",
       .help = "name of a preset, see 'onebit list presets'",
       .value = "",
       .words = [] { return names_of(presets()); }},
      {"deepspeed-config",
       "DeepSpeed configuration (JSON): sets optimizer, clipping and batch sizes; overrides a preset", ""},
      {"ranks", "number of MPI processes to start on this machine with mpirun", "1"},
      {.name = "help", .help = "show the common options", .value = "", .is_flag = true, .alias = "h"},
      {"help-all", "show all options", "", true},
  };
  return table;
}

bool is_accepted(const std::string& name, const Command& command) {
  if (find_option(command.own, name) != nullptr) return true;
  if (find_option(parser_options(), name) != nullptr) return accepts_of_parser(name, command.accepts);
  return accepts_as_price(name, command) || (command.accepts.run && find_option(run_options(), name) != nullptr);
}

bool accepts_as_price(const std::string& name, const Command& command) {
  return find_option(price_options(), name) != nullptr && accepts_price(name, command.accepts);
}

std::vector<OwnOption> options_of(const Command& command) {
  std::vector<OwnOption> all = command.own;
  const auto add = [&](const std::vector<OwnOption>& table, const auto& takes) {
    for (const OwnOption& option : table) {
      if (takes(option.name, command.accepts)) all.push_back(option);
    }
  };
  add(parser_options(), accepts_of_parser);
  add(shown_price_options(), accepts_price);
  add(shown_run_options(), lists_of_run);
  return all;
}

std::vector<OptionGroup> groups_of(const Command& command) {
  std::vector<OptionGroup> groups;
  for (const OwnOption& option : options_of(command)) {
    const std::string heading = option.group.empty() ? "options of " + command.name : option.group;
    auto group = std::ranges::find(groups, heading, &OptionGroup::heading);
    if (group == groups.end()) group = groups.insert(group, {heading, {}});
    group->options.push_back(option);
  }
  return groups;
}

std::vector<std::string> spellings(const OwnOption& option) {
  std::vector<std::string> names = {"--" + option.name};
  if (!option.alias.empty()) names.push_back((option.alias.size() == 1 ? "-" : "--") + option.alias);
  return names;
}

std::string typed_name(const OwnOption& option) {
  std::vector<std::string> names = spellings(option);
  std::ranges::reverse(names);
  return join(names, ", ");
}

std::string advice_on(const std::string& unknown, const Command& command, const std::string& dashes) {
  if (unknown.size() == 1) return "the only one-letter options are -o and -h";
  const std::vector<OwnOption> options = options_of(command);
  std::vector<std::string_view> names;
  for (const OwnOption& option : options) {
    names.push_back(option.name);
    if (option.alias.size() > 1) names.push_back(option.alias);
  }
  const std::string close = suggestion(unknown, names, dashes);
  std::vector<std::string> fitting = related(unknown, options);
  for (std::string& option : fitting) option.insert(0, dashes);
  const bool far = !close.starts_with("did you mean") && !fitting.empty();
  return (far ? "did you mean " + join(fitting, " or ") + "?" : close) + " ('onebit " + command.name +
         " --help-all' lists all)";
}

}  // namespace onebit::experiments
