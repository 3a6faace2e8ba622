#pragma once
// The options of a command from all tables: its own, those that the parser reads, those of a run, and those of pricing.

#include <string>
#include <vector>

#include "experiments/cli/command.hpp"

namespace onebit::experiments {

/// Options under one heading.
struct OptionGroup {
  std::string heading;
  std::vector<OwnOption> options;
};

/// Returns the option with this name; null if there is none.
template <class Options>
const auto* find_option(const Options& options, const std::string& name) {
  const auto found = std::ranges::find_if(options, [&](const auto& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

/// Returns the options that the parser itself reads, in every command that accepts them.
const std::vector<OwnOption>& parser_options();

/// Returns whether a command accepts the option with this name, even if it has no effect.
bool is_accepted(const std::string& name, const Command& command);

/// Returns whether the command reads this option as a pricing option. If a run option has the same name as this option,
/// the command uses this option for prices only.
bool accepts_as_price(const std::string& name, const Command& command);

/// Returns the options that can have an effect on a command, in the order of the help: the command's own options and
/// the parser's, then pricing options, then options of a run. The member `value` of each option is the default to show.
std::vector<OwnOption> options_of(const Command& command);

/// Returns the same options as options_of(), grouped under their headings.
std::vector<OptionGroup> groups_of(const Command& command);

/// Returns the names of an option as they are typed: with dashes, the long one first.
std::vector<std::string> spellings(const OwnOption& option);

/// Returns an option as it is typed, without its value: "-o, --out" or "--lr, --optimizer.lr".
std::string typed_name(const OwnOption& option);

/// Returns the advice for an option that a command does not know: the nearest known name, or the options whose name or
/// help contains words of the unknown name. dashes: text that precedes a name; empty for names in files.
std::string advice_on(const std::string& unknown, const Command& command, const std::string& dashes = "--");

}  // namespace onebit::experiments
