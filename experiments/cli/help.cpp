#include "experiments/cli/help.hpp"

#include <algorithm>
#include <sstream>

#include "experiments/cli/option_table.hpp"
#include "experiments/output/screen.hpp"

namespace onebit::experiments {
namespace {

constexpr std::size_t kWidth = 80, kIndent = 2, kWidestName = 24;

/// Names and their explanations in two columns.
using Entries = std::vector<std::pair<std::string, std::string>>;

/// Prints entries; an explanation begins on a new line if the name is wider than its column.
void print(const Entries& entries, std::ostream& out) {
  std::size_t column = 0;
  for (const auto& [name, text] : entries) {
    if (name.size() <= kWidestName) column = std::max(column, name.size());
  }
  const std::size_t begin = kIndent + column + 2;
  for (const auto& [name, text] : entries) {
    out << std::string(kIndent, ' ') << name;
    std::size_t at = kIndent + name.size();
    for (const std::string& line : wrapped(text, static_cast<Index>(kWidth - begin))) {
      if (at + 2 > begin) {
        out << "\n";
        at = 0;
      }
      out << std::string(begin - at, ' ') << line;
      at = kWidth;
    }
    out << "\n";
  }
}

std::string with_default(const std::string& text, const std::string& value) {
  return value.empty() ? text : text + " [" + value + "]";
}

/// Returns the first clause of an option's help; the rest is in the full help.
std::string first_clause(const OwnOption& option) {
  return option.help.substr(0, option.help.find(';'));
}

/// Returns what the default stands for if the help says so in a clause such as "; 0: one per core", otherwise the
/// default.
std::string default_in_words(const OwnOption& option) {
  const std::string clause = "; " + option.value + ": ";
  const std::size_t at = option.value.empty() ? std::string::npos : option.help.find(clause);
  if (at == std::string::npos) return option.value;
  const std::size_t begin = at + clause.size();
  return option.help.substr(begin, option.help.find(';', begin) - begin);
}

void print_title(const Command& command, std::ostream& out) {
  out << "usage: " << synopsis(command) << "\n";
  for (const std::string& line : wrapped(command.doc, kWidth)) out << line << "\n";
}

}  // namespace

std::string program_help(std::span<const Command> all, const std::string& version) {
  std::ostringstream out;
  out << "onebit " << version << ": a laboratory for communication-compressed training\n\n"
      << "usage: onebit COMMAND [options]\n\n";
  Entries entries;
  for (const Command& command : all) entries.emplace_back(command.name, command.doc);
  print(entries, out);
  out << "\n'onebit COMMAND --help' shows a command's common options, --help-all all of\n"
      << "them; 'onebit man' prints a manual page.\n";
  return out.str();
}

std::string synopsis(const Command& command) {
  return "onebit " + command.name + (command.usage.empty() ? "" : " " + command.usage) + " [options]";
}

std::string short_help(const Command& command) {
  std::ostringstream out;
  print_title(command, out);
  if (!command.help.common.empty()) out << "\ncommon options [default]\n";
  const std::vector<OwnOption> options = options_of(command);
  Entries entries;
  for (const std::string& name : command.help.common) {
    const OwnOption* option = find_option(options, name);
    entries.emplace_back(typed_name(*option), with_default(first_clause(*option), default_in_words(*option)));
  }
  print(entries, out);
  out << "\nexamples\n";
  for (const std::string& example : command.help.examples) out << "  " << example << "\n";
  out << "\n'onebit " << command.name << " --help-all' shows all " << options.size() << " options.\n";
  return out.str();
}

std::string full_help(const Command& command) {
  std::ostringstream out;
  print_title(command, out);
  for (const OptionGroup& group : groups_of(command)) {
    out << "\n" << group.heading << " [default]\n";
    Entries entries;
    for (const OwnOption& option : group.options)
      entries.emplace_back(typed_name(option), with_default(option.help, option.value));
    print(entries, out);
  }
  return out.str();
}

}  // namespace onebit::experiments
