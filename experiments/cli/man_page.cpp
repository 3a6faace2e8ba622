#include "experiments/cli/man_page.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "device/base/text.hpp"
#include "experiments/cli/help.hpp"
#include "experiments/cli/option_table.hpp"
#include "experiments/cli/terminal.hpp"

namespace onebit::experiments {
namespace {

/// Returns a text that troff prints as it is.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-' || c == '\'' || c == '^' || c == '~' || c == '`') {
      result += c == '-' ? "\\-" : c == '\'' ? "\\(aq" : c == '^' ? "\\(ha" : c == '~' ? "\\(ti" : "\\(ga";
    } else {
      result += c;
    }
  }
  return result.starts_with(".") ? "\\&" + result : result;
}

void write_option(const OwnOption& option, std::ostream& out) {
  out << ".TP\n.B " << escaped(typed_name(option)) << "\n" << escaped(option.help);
  if (!option.value.empty()) out << " [" << escaped(option.value) << "]";
  out << "\n";
}

/// Options that several commands share, and the names of those commands.
struct SharedGroup {
  OptionGroup group;
  std::vector<std::string> commands;
};

bool same_options(const OptionGroup& a, const OptionGroup& b) {
  return a.heading == b.heading && std::ranges::equal(a.options, b.options, {}, &OwnOption::name, &OwnOption::name);
}

/// Returns all groups in the order of the commands, each once.
std::vector<SharedGroup> groups_of(std::span<const Command> all) {
  std::vector<SharedGroup> groups;
  for (const Command& command : all) {
    for (const OptionGroup& group : groups_of(command)) {
      const auto same = [&](const SharedGroup& other) { return same_options(other.group, group); };
      auto found = std::ranges::find_if(groups, same);
      if (found == groups.end()) found = groups.insert(found, {group, {}});
      found->commands.push_back(command.name);
    }
  }
  return groups;
}

void write_commands(std::span<const Command> all, std::ostream& out) {
  out << ".SH COMMANDS\n";
  for (const Command& command : all) {
    out << ".TP\n.B " << escaped(synopsis(command)) << "\n" << escaped(command.doc) << "\n";
  }
  out << ".SH EXAMPLES\n.nf\n";
  for (const Command& command : all) {
    for (const std::string& example : command.help.examples) out << escaped(example) << "\n";
  }
  out << ".fi\n";
}

void write_options(std::span<const Command> all, std::ostream& out) {
  out << ".SH OPTIONS\nThe value in brackets is the default. Long names also work in INI files (" << escaped("--config")
      << "), in arms and on the axes of sweeps; so do short names of several letters.\n";
  for (const SharedGroup& shared : groups_of(all)) {
    out << ".SS " << escaped(shared.group.heading) << "\n";
    if (!shared.group.heading.starts_with("options of "))
      out << "For the commands " << escaped(join(shared.commands, ", ")) << ".\n";
    for (const OwnOption& option : shared.group.options) write_option(option, out);
  }
}

void write_status(std::ostream& out) {
  const std::pair<int, const char*> meanings[] = {
      {kExitDone, "The command succeeded."},
      {kExitFailed, "A run failed or diverged, or something could not be read or written."},
      {kExitUsage, "An option, a file or a combination of options is wrong."},
      {kExitStopped, "Ctrl-C or SIGTERM stopped the command; a line on standard error says how to continue."}};
  out << ".SH EXIT STATUS\n";
  for (const auto& [status, meaning] : meanings) out << ".TP\n.B " << status << "\n" << escaped(meaning) << "\n";
}

}  // namespace

std::string man_page(std::span<const Command> all, const std::string& version) {
  std::ostringstream out;
  out << ".TH ONEBIT 1 \"\" \"onebit " << escaped(version) << "\" \"\"\n"
      << ".SH NAME\nonebit \\- a laboratory for communication\\-compressed training\n"
      << ".SH SYNOPSIS\n.B onebit\n.I COMMAND\n[options]\n"
      << ".SH DESCRIPTION\nOne process simulates N data\\-parallel workers with real gradients and real compression "
         "kernels, counts every byte that would cross the wire, and computes what it costs on Ethernet or "
         "InfiniBand.\n"
      << ".B onebit COMMAND \\-\\-help\nshows a command's common options,\n"
      << ".B \\-\\-help\\-all\nall of them.\n";
  write_commands(all, out);
  write_options(all, out);
  write_status(out);
  return out.str();
}

}  // namespace onebit::experiments
