#include "experiments/cli/completion.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "device/base/text.hpp"
#include "experiments/cli/option_table.hpp"
#include "experiments/output/output.hpp"
#include "sim/run/deciding_options.hpp"

namespace onebit::experiments {
namespace {

/// An item to choose from, and what it is for.
struct Item {
  std::string name, doc;
  bool operator<(const Item& other) const { return std::tie(name, doc) < std::tie(other.name, other.doc); }
};
using Items = std::vector<Item>;

Items items_of(const OptionGroup& group) {
  Items items;
  for (const OwnOption& option : group.options) {
    for (const std::string& name : spellings(option)) items.push_back({name, option.help});
  }
  return items;
}

Items items_of(std::span<const Command> all) {
  Items items;
  for (const Command& command : all) items.push_back({command.name, command.doc});
  return items;
}

std::string names_in(const Items& items) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return join(names, " ");
}

/// Lists of items, each stored once under the name of a variable, because commands share most of their options.
class Lists {
 public:
  /// Returns the variable's name.
  std::string name_of(const Items& items) {
    const auto [found, added] = names_.emplace(items, "list" + std::to_string(names_.size() + 1));
    if (added) order_.push_back(items);
    return found->second;
  }

  /// Calls use(variable, items) for every list.
  template <class Use>
  void for_each(const Use& use) const {
    for (const Items& items : order_) use(names_.at(items), items);
  }

 private:
  std::map<Items, std::string> names_;
  std::vector<Items> order_;
};

/// What a shell completes.
struct Completion {
  Lists lists;
  std::map<std::string, std::vector<std::string>> variables;  ///< for every command: variables with its options
  std::map<std::string, std::string> words;      ///< for every spelling of an option: the names that it takes
  std::map<std::string, std::string> arguments;  ///< for every command that takes certain words: those words
};

Completion completion_of(std::span<const Command> all) {
  Completion completion;
  std::map<std::string, std::set<std::string>> words;
  for (const Command& command : all) {
    for (const OptionGroup& group : groups_of(command)) {
      completion.variables[command.name].push_back(completion.lists.name_of(items_of(group)));
      for (const OwnOption& option : group.options) {
        if (!option.words) continue;
        for (const std::string& name : spellings(option)) {
          for (const std::string& word : option.words()) words[name].insert(word);
        }
      }
    }
    if (command.help.arguments) completion.arguments[command.name] = join(command.help.arguments(), " ");
  }
  for (const auto& [name, set] : words) {
    completion.words[name] = join(std::vector<std::string>(set.begin(), set.end()), " ");
  }
  return completion;
}

/// Returns an item of zsh's _describe: NAME:TEXT.
std::string described(const Item& item) {
  std::string name;
  for (const char c : item.name) name += c == ':' ? std::string("\\:") : std::string(1, c);
  return in_quotes(name + ":" + item.doc);
}

/// Writes one branch of a case for every entry: NAME) before WORDS after ;;
void write_branches(const std::map<std::string, std::string>& entries, const std::string& before,
                    const std::string& after, std::ostream& out) {
  for (const auto& [name, words] : entries) out << "    " << name << ") " << before << words << after << " ;;\n";
}

Json to_json(const OwnOption& option) {
  constexpr const char* kinds[] = {"text", "integer", "real", "boolean", "texts", "integers", "repeated"};
  const std::vector<std::string> words = option.words ? option.words() : std::vector<std::string>();
  return Json::object({{"name", option.name},
                       {"short", option.alias},
                       {"kind", kinds[static_cast<std::size_t>(option.kind)]},
                       {"flag", Json::boolean(option.is_flag)},
                       {"default", option.value},
                       {"decides_results", Json::boolean(sim::decides_results(option.name))},
                       {"doc", option.help},
                       {"words", Json::array({words.begin(), words.end()})}});
}

}  // namespace

std::string bash_completion(std::span<const Command> all) {
  const Completion completion = completion_of(all);
  std::ostringstream out;
  out << "# Completion of onebit for bash, written by `onebit completion bash`.\n"
      << "_onebit() {\n"
      << "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
      << "  if [[ $current == '=' ]]; then\n    current=''\n"
      << "  elif [[ $previous == '=' ]]; then\n    previous=${COMP_WORDS[COMP_CWORD-2]}\n  fi\n";
  completion.lists.for_each([&](const std::string& variable, const Items& items) {
    out << "  local " << variable << "=" << in_quotes(names_in(items)) << "\n";
  });
  out << "  case $previous in\n";
  write_branches(completion.words, "words='", "'", out);
  out << "  esac\n"
      << "  if ((COMP_CWORD == 1)); then\n    words='" << names_in(items_of(all)) << " --help --version'\n"
      << "  elif [[ -z $words && $current == -* ]]; then\n    case ${COMP_WORDS[1]} in\n";
  for (const auto& [command, variables] : completion.variables) {
    out << "    " << command << ") words=\"$" << join(variables, " $") << "\" ;;\n";
  }
  out << "    esac\n"
      << "  elif [[ -z $words ]]; then\n    case ${COMP_WORDS[1]} in\n";
  write_branches(completion.arguments, "words='", "'", out);
  out << "    esac\n  fi\n"
      << "  local last=${current##*,}\n"
      << "  mapfile -t COMPREPLY < <(compgen -P \"${current%\"$last\"}\" -W \"$words\" -- \"$last\")\n"
      << "}\n"
      << "complete -o default -F _onebit onebit\n";
  return out.str();
}

std::string zsh_completion(std::span<const Command> all) {
  const Completion completion = completion_of(all);
  std::ostringstream out;
  out << "#compdef onebit\n"
      << "# Completion of onebit for zsh, written by `onebit completion zsh`.\n"
      << "_onebit() {\n"
      << "  local previous=${words[CURRENT-1]}\n"
      << "  local -a items names\n";
  completion.lists.for_each([&](const std::string& variable, const Items& items) {
    out << "  local -a " << variable << "=(\n";
    for (const Item& item : items) out << "    " << described(item) << "\n";
    out << "  )\n";
  });
  out << "  if ((CURRENT == 2)); then\n    items=(\n";
  for (const Item& item : items_of(all)) out << "      " << described(item) << "\n";
  out << "    )\n    _describe command items\n    return\n  fi\n"
      << "  if [[ $PREFIX == --*=* ]]; then\n    previous=${PREFIX%%=*}\n    compset -P '*='\n  fi\n"
      << "  case $previous in\n";
  write_branches(completion.words, "names=(", ")", out);
  out << "  esac\n"
      << "  if ((! $#names)) && [[ $PREFIX == -* ]]; then\n    case ${words[2]} in\n";
  for (const auto& [command, variables] : completion.variables) {
    out << "    " << command << ") items=(\"${" << join(variables, "[@]}\" \"${") << "[@]}\") ;;\n";
  }
  out << "    esac\n    _describe -o option items\n    return\n"
      << "  elif ((! $#names)); then\n    case ${words[2]} in\n";
  write_branches(completion.arguments, "names=(", ")", out);
  out << "    esac\n  fi\n"
      << "  if (($#names)); then\n    compset -P '*,'\n    compadd -a names\n  else\n    _files\n  fi\n"
      << "}\n"
      << "if [[ ${funcstack[1]} == _onebit ]]; then\n  _onebit \"$@\"\nelse\n  compdef _onebit onebit\nfi\n";
  return out.str();
}

std::string json_completion(std::span<const Command> all) {
  std::vector<std::pair<std::string, Json>> commands;
  for (const Command& command : all) {
    std::vector<Json> options;
    for (const OwnOption& option : options_of(command)) options.push_back(to_json(option));
    commands.emplace_back(command.name, Json::array(options));
  }
  return Json::object(commands).text() + "\n";
}

}  // namespace onebit::experiments
