#include "experiments/study/unfinished.hpp"

#include "analysis/log/log_options.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/options/idle_options.hpp"
#include "experiments/study/log_settings.hpp"
#include "sim/log/log_state.hpp"
#include "sim/run/checkpoint.hpp"
#include "sim/run/deciding_options.hpp"

namespace onebit::experiments {
namespace {

std::string command_of(const Settings& settings) {
  std::string command = "onebit run";
  for (const auto& [name, value] : settings) command += " --" + name + " " + shell_word(value);
  return command;
}

Index last_step(const sim::LogReader& log) {
  const std::vector<sim::StepRow> rows = log.steps();
  const std::vector<sim::StepTraffic> exchanges = log.traffic();  // includes steps without a row in /steps
  return std::max(rows.empty() ? 0 : rows.back().step, exchanges.empty() ? 0 : exchanges.back().step);
}

}  // namespace

std::string command_to_repeat(const sim::LogHeader& header) {
  std::optional<Settings> settings = settings_of(header);
  if (!settings) return "";
  std::erase_if(*settings, [](const auto& setting) { return !sim::decides_results(setting.first); });
  std::erase_if(*settings, [](const auto& setting) { return setting.first == "seed"; });
  const sim::RunConfig config = make_config(*settings);
  std::erase_if(*settings, [&](const auto& setting) { return !unread_because(setting.first, config).empty(); });
  return command_of(*settings) + " --seed " + std::to_string(header.seed);
}

std::string command_to_resume(const sim::LogReader& log) {
  const std::optional<Settings> settings = settings_of(log.header());
  if (!settings) return "";
  std::string command = command_of(*settings);
  command += " -o " + shell_word(log.path());
  const std::string weights = weights_out_of(log.header());
  if (!weights.empty()) command += " --weights-out " + shell_word(weights);
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
  text += checkpoint ? "; the newest checkpoint is from step " + std::to_string(*checkpoint)
                     : "; there is no checkpoint; a resumed run starts at step 0";
  if (is_replay) return "interrupted at step " + std::to_string(step) + "; replay the trace again with --overwrite";
  if (command.empty()) return text + "; continue with the same options and --resume";
  return text + "; continue with `" + command + "`";
}

std::optional<Unfinished> unfinished_run(const std::string& path) {
  if (sim::LogReader(path, sim::Damage::tolerated).status() != sim::RunStatus::running) return {};
  const sim::LogUse use = sim::log_use(path);  // before this program opens it
  const sim::LogReader log(path, sim::Damage::tolerated);
  if (log.status() != sim::RunStatus::running) return {};  // it has just ended
  Unfinished run{
      .host = log.header().host, .command = command_to_resume(log), .is_replay = analysis::is_replay(log.header())};
  if (use == sim::LogUse::in_use) run.state = Unfinished::State::running;
  if (use == sim::LogUse::free && run.host == files::host_name()) run.state = Unfinished::State::interrupted;
  run.step = last_step(log);
  const std::vector<sim::CheckpointFile> files = sim::checkpoints_of(path);
  if (!files.empty()) run.checkpoint = files.front().step;
  return run;
}

}  // namespace onebit::experiments
