#include "experiments/options/options.hpp"

#include <algorithm>

#include "device/base/text.hpp"
#include "experiments/options/option_fields.hpp"

namespace onebit::experiments {
namespace {

using sim::RunConfig;

std::vector<std::string_view> option_names() {
  std::vector<std::string_view> names;
  for (const RunOption& option : run_options()) names.push_back(option.name);
  return names;
}

template <class Entries>
std::vector<std::string> users_of(const std::string& option, const Entries& entries) {
  std::vector<std::string> users;
  for (const auto& entry : entries) {
    const std::vector<std::string> own = split(std::string(entry.options), ' ');
    if (std::find(own.begin(), own.end(), option) != own.end()) users.emplace_back(entry.name);
  }
  return users;
}

/// Throws ConfigError if the chosen model or data source does not use an option that differs from its default.
template <class Entries>
void check_used(const Settings& settings, const RunConfig& config, const std::string& kind, const std::string& chosen,
                const Entries& entries) {
  const bool known =
      std::any_of(entries.begin(), entries.end(), [&](const auto& entry) { return entry.name == chosen; });
  if (!known) return;  // refused with a suggestion when the object is made
  for (const auto& [name, value] : settings) {
    const std::size_t dot = name.find('.');
    const std::string group = name.substr(0, dot);
    const bool hybrid = kind == "model" && (group == "tables" || group == "boundary");
    if ((group != kind && !hybrid) || dot == std::string::npos || name == "model.init") continue;
    const RunOption& option = run_option(name);
    if (option.get(config) == option.get(RunConfig())) continue;
    const std::vector<std::string> users = users_of(hybrid ? group : name.substr(dot + 1), entries);
    if (std::find(users.begin(), users.end(), chosen) != users.end()) continue;
    throw ConfigError("option has no effect", "--" + name + " with --" + kind + " " + chosen,
                      "leave it out; it is for " + join(users, ", "));
  }
}

}  // namespace

const std::vector<RunOption>& run_options() {
  static const std::vector<RunOption> table = joined<RunConfig>(
      {grouped("size of the run", run_size_options()), grouped("where to compute", place_options()),
       grouped("log, probes, checkpoints and evaluations", log_options()), grouped("model", model_options()),
       grouped("model parallelism", hybrid_options()), grouped("data", data_options()),
       grouped("optimizer", optimizer_options()), grouped("freeze of the variance", freeze_options()),
       grouped("learning-rate schedule", schedule_options()), grouped("codec and exchange", exchange_options())});
  return table;
}

const RunOption& run_option(const std::string& name) {
  for (const RunOption& option : run_options()) {
    if (option.name == name) return option;
  }
  throw ConfigError("unknown option", name, suggestion(name, option_names()));
}

std::string long_name(const std::string& name) {
  const auto found = std::ranges::find(run_options(), name, &RunOption::alias);
  return name.empty() || found == run_options().end() ? name : found->name;
}

sim::RunConfig make_config(const Settings& settings) {
  RunConfig config;
  for (const auto& [name, value] : settings) {
    run_option(name).set(config, value);
  }
  const auto given = [&settings](const char* name) {
    return std::any_of(settings.begin(), settings.end(), [name](const auto& setting) { return setting.first == name; });
  };
  const bool chosen = given("codec");
  if (optim::codecs_of(config.optimizer) == optim::Codecs::its_own) {
    for (const char* fixed : {"codec", "codec.down", "feedback", "channel"}) {
      if (given(fixed)) {
        throw ConfigError("the optimizer determines this option",
                          std::string(fixed) + ", optimizer " + config.optimizer.name,
                          "leave it out, or set it only in arms with other optimizers");
      }
    }
  }
  config.optimizer.exchange.up.name = optim::codec_of(config.optimizer, chosen);
  config.model = sim::completed(config.model);
  const sim::Input input = sim::model_entry(config.model.name).input;
  if (!given("data") && input == sim::Input::bags) config.data.name = "clicks";
  if (!given("data") && (input == sim::Input::none || input == sim::Input::any)) config.data.name = "none";
  if (!given("data.examples")) config.data.examples = sim::usual_examples(config.data.name);
  check_used(settings, config, "model", config.model.name, sim::models());
  check_used(settings, config, "data", config.data.name, sim::data_sources());
  return config;
}

bool has_option(const Settings& settings, const std::string& name) {
  return std::ranges::count(settings, name, &Settings::value_type::first) > 0;
}

Settings values_of(const sim::RunConfig& config) {
  Settings values;
  for (const RunOption& option : run_options()) values.emplace_back(option.name, option.get(config));
  return values;
}

}  // namespace onebit::experiments
