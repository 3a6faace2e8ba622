#include "experiments/study/log_settings.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "analysis/log/log_options.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/comm/process_group.hpp"
#include "sim/run/checkpoint.hpp"
#include "sim/run/deciding_options.hpp"
#include "sim/run/train.hpp"

namespace onebit::experiments {
namespace {

/// Returns the names of all options; those on which the defaults of others depend come first.
std::vector<std::string> names_in_order() {
  std::vector<std::string> names = {"model", "data", "optimizer"};
  for (const RunOption& option : run_options()) {
    if (std::ranges::find(names, option.name) == names.end()) names.push_back(option.name);
  }
  return names;
}

/// Returns the options after --resume.allow in the text of an event; "" if they are not in it.
std::string allowed_in(const std::string& text) {
  static constexpr std::string_view option = " --resume.allow";
  const std::size_t at = text.rfind(option);
  if (at == std::string::npos || text.size() >= sim::text_bytes - 3) return "";  // the text may be cut off
  const std::size_t begin = std::min(at + option.size() + 1, text.size());
  return text.substr(begin, text.find(' ', begin) - begin);
}

bool changes_options(const sim::Event& event) {
  return event.kind == "resume" && event.text.find(sim::resumed_unchanged) == std::string::npos;
}

/// Throws if an earlier resumption changed options that are not given now: the header contains the options of the first
/// run.
void require_last_options(const sim::LogReader& log, const Settings& given) {
  for (const sim::Event& event : log.events()) {
    if (!changes_options(event)) continue;
    const std::string allowed = allowed_in(event.text);
    if (allowed.empty()) {
      throw ConfigError("the log does not record which options were changed when the run was continued", log.path(),
                        "give the options of the run");
    }
    for (const std::string& typed : split(allowed, ',')) {
      const std::string name = typed == "bits" ? typed : long_name(typed);
      if (name == "bits" || has_option(given, name)) continue;
      throw ConfigError("the run was continued with another " + name + ", which the log's header does not record",
                        log.path(), "give --" + name + " and --resume.allow " + allowed);
    }
  }
}

bool can_be_made(const Settings& settings) {
  try {
    make_config(settings);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

/// Text of settings, for other processes; no name or value contains a NUL.
std::string packed(const FromLog& from_log) {
  std::string text = from_log.weights_out + '\0';
  for (const auto& [name, value] : from_log.settings) text.append(name).append(1, '\0').append(value).append(1, '\0');
  return text;
}

FromLog unpacked(const std::string& text) {
  const std::vector<std::string> words = split(text, '\0');
  FromLog from_log{{}, words.at(0)};
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) from_log.settings.emplace_back(words[i], words[i + 1]);
  return from_log;
}

}  // namespace

std::optional<Settings> settings_of(const sim::LogHeader& header) {
  if (analysis::is_replay(header)) return {};
  const std::vector<std::string> names = names_in_order();
  const auto is_unknown = [&](const auto& option) {
    return std::ranges::find(names, option.first) == names.end() && sim::decides_results(option.first);
  };
  if (std::ranges::any_of(header.config, is_unknown)) return {};
  const std::map<std::string, std::string> there(header.config.begin(), header.config.end());
  Settings settings;
  const auto differs = [&](const std::string& name) {
    const auto value = there.find(name);
    return value != there.end() && run_option(name).get(make_config(settings)) != value->second;
  };
  try {
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

bool has_first_options(const sim::LogReader& log) {
  return std::ranges::none_of(log.events(), changes_options);
}

std::string weights_out_of(const sim::LogHeader& header) {
  // The log has the command as typed, but without quotes.
  static constexpr std::string_view option = " --weights-out";
  const std::string& command = header.command_line;
  const std::size_t at = command.find(option);
  if (!command.starts_with("onebit run ") || at == std::string::npos) return "";
  const std::size_t begin = at + option.size() + 1;
  if (begin >= command.size()) return "";
  return command.substr(begin, command.find(" -", begin) - begin);
}

FromLog taken_from_log(const std::string& log, const Settings& given, bool weights_given) {
  if (!std::filesystem::exists(log)) {
    if (!given.empty()) return {};  // a new run begins
    throw ConfigError("there is no log to continue", log, "check its name, or give the options of a new run");
  }
  const sim::LogReader reader(log, sim::Damage::tolerated);
  if (analysis::is_replay(reader.header()))
    throw ConfigError("the log is from a replay, which cannot be continued", log, "replay the trace again");
  const std::optional<Settings> all = settings_of(reader.header());
  if (!all && given.empty()) {
    throw ConfigError("this version of the program cannot take the options from the log", log,
                      "give the options of the run");
  }
  FromLog from_log;
  for (const auto& setting : all.value_or(Settings())) {
    const bool is_evaluation = setting.first == "eval.every" || setting.first == "eval.examples";
    if (!is_evaluation && !has_option(given, setting.first)) from_log.settings.push_back(setting);
  }
  const bool over = reader.status() == sim::RunStatus::finished || reader.status() == sim::RunStatus::diverged;
  if (!over && !weights_given) from_log.weights_out = weights_out_of(reader.header());
  // A stopped run has written its weights. A killed one has not, so an existing file would hold those of another run.
  if (reader.status() != sim::RunStatus::stopped && std::filesystem::exists(from_log.weights_out)) {
    throw ConfigError("the weights file named in the log already exists", from_log.weights_out,
                      "give --weights-out with this file, to replace it, or with another file");
  }
  if (from_log.empty() || !can_be_made(joined(from_log, given))) return {};
  if (!over || !given.empty()) require_last_options(reader, given);
  return from_log;
}

FromLog agreed_from_log(const std::string& log, const Settings& given, bool weights_given) {
  device::ProcessGroup& processes = *device::processes();
  FromLog own;
  processes.run([&] {
    if (processes.rank() == 0) own = taken_from_log(log, given, weights_given);
  });
  if (processes.size() == 1) return own;
  const std::string text = processes.rank() == 0 ? packed(own) : "";
  const std::vector<double> bytes(text.begin(), text.end());
  std::string all;
  for (const double byte : processes.communicator()->all_gather(bytes)) all += static_cast<char>(byte);
  return unpacked(all);
}

Settings joined(const FromLog& from_log, const Settings& given) {
  Settings settings = from_log.settings;
  settings.insert(settings.end(), given.begin(), given.end());
  return settings;
}

std::string text_of(const FromLog& from_log, const std::string& log) {
  const std::vector<sim::CheckpointFile> files = sim::checkpoints_of(log);
  std::string text = "continuing " + log;
  text += files.empty() ? " from step 0, because it has no checkpoint,"
                        : " from its checkpoint at step " + std::to_string(files.front().step);
  text += " with options from the log:";
  for (const auto& [name, value] : from_log.settings) text.append(" --").append(name).append(" ").append(value);
  if (!from_log.weights_out.empty()) text += " --weights-out " + from_log.weights_out;
  return text;
}

}  // namespace onebit::experiments
