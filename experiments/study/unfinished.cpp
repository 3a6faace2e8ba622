#include "experiments/study/unfinished.hpp"

#include <algorithm>
#include <map>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/options/options.hpp"
#include "sim/log/log_state.hpp"
#include "sim/run/checkpoint.hpp"
#include "sim/run/deciding_options.hpp"

namespace onebit::experiments {
namespace {

/// Returns the names of all options; those on which other defaults depend come first.
std::vector<std::string> names_in_order() {
  std::vector<std::string> names = {"model", "data", "optimizer"};
  for (const RunOption& option : run_options()) {
    if (std::ranges::find(names, option.name) == names.end()) names.push_back(option.name);
  }
  return names;
}

/// Returns the fewest settings that reproduce the values of a log, or nothing if no settings do.
std::optional<Settings> settings_of(const sim::LogHeader& header) {
  const std::map<std::string, std::string> there(header.config.begin(), header.config.end());
  Settings settings;
  const auto differs = [&](const std::string& name) {
    const auto value = there.find(name);
    return value != there.end() && run_option(name).get(make_config(settings)) != value->second;
  };
  try {
    const std::vector<std::string> names = names_in_order();
    for (const std::string& name : names) {
      if (differs(name)) settings.emplace_back(name, there.at(name));
    }
    if (std::ranges::any_of(names, [&](const auto& name) { return sim::decides_results(name) && differs(name); })) {
      return {};
    }
  } catch (const ConfigError&) {
    return {};
  }
  return settings;
}

/// Returns the weights file that the run was to write. The log has the command as typed, but without quotes.
std::string weights_out(const std::string& command) {
  static constexpr std::string_view option = " --weights-out";
  const std::size_t at = command.find(option);
  if (!command.starts_with("onebit run ") || at == std::string::npos) return "";
  const std::size_t begin = at + option.size() + 1;
  if (begin >= command.size()) return "";
  return command.substr(begin, command.find(" -", begin) - begin);
}

std::string command_of(const Settings& settings) {
  std::string command = "onebit run";
  for (const auto& [name, value] : settings) command += " --" + name + " " + quoted(value);
  return command;
}

Index last_step(const sim::LogReader& log) {
  const std::vector<sim::StepRow> rows = log.steps();
  const std::vector<sim::StepTraffic> exchanges = log.traffic();  // includes steps without a row in /steps
  return std::max(rows.empty() ? 0 : rows.back().step, exchanges.empty() ? 0 : exchanges.back().step);
}

}  // namespace

std::string quoted(const std::string& word) {
  static constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,=@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string command_to_repeat(const sim::LogHeader& header) {
  std::optional<Settings> settings = settings_of(header);
  if (!settings) return "";
  std::erase_if(*settings, [](const auto& setting) { return !sim::decides_results(setting.first); });
  std::erase_if(*settings, [](const auto& setting) { return setting.first == "seed"; });
  return command_of(*settings) + " --seed " + std::to_string(header.seed);
}

std::string command_to_resume(const sim::LogReader& log) {
  const std::optional<Settings> settings = settings_of(log.header());
  if (!settings) return "";
  std::string command = command_of(*settings);
  command += " -o " + quoted(log.path());
  const std::string weights = weights_out(log.header().command_line);
  if (!weights.empty()) command += " --weights-out " + quoted(weights);
  return command + " --resume";
}

std::string Unfinished::state_text() const {
  if (state == State::running) return "running";
  return state == State::interrupted ? "interrupted" : "running or interrupted";
}

std::string Unfinished::text() const {
  if (state == State::running) return "running";
  std::string text = "interrupted at step " + std::to_string(step);
  if (state == State::unknown) text = "running on " + host + " or " + text + " (this machine cannot tell which)";
  text += checkpoint ? "; the newest checkpoint is of step " + std::to_string(*checkpoint)
                     : "; there is no checkpoint; a resumed run starts at step 0";
  if (command.empty()) return text + "; continue with the same options and --resume";
  return text + "; continue with `" + command + "`";
}

std::optional<Unfinished> unfinished_run(const std::string& path) {
  if (sim::LogReader(path, sim::Damage::tolerated).status() != sim::RunStatus::running) return {};
  const sim::LogUse use = sim::log_use(path);  // before this program opens it
  const sim::LogReader log(path, sim::Damage::tolerated);
  if (log.status() != sim::RunStatus::running) return {};  // it has just ended
  Unfinished run{.host = log.header().host, .command = command_to_resume(log)};
  if (use == sim::LogUse::in_use) run.state = Unfinished::State::running;
  if (use == sim::LogUse::free && run.host == files::host_name()) run.state = Unfinished::State::interrupted;
  run.step = last_step(log);
  const std::vector<sim::CheckpointFile> files = sim::checkpoints_of(path);
  if (!files.empty()) run.checkpoint = files.front().step;
  return run;
}

}  // namespace onebit::experiments
