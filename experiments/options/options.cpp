#include "experiments/options/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <sstream>

#include "device/base/text.hpp"
#include "experiments/options/option_fields.hpp"

namespace onebit::experiments {
namespace {

using sim::RunConfig;

template <class Number>
bool parse_whole(const std::string& text, Number& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

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
    if (!name.starts_with(kind + ".") || name == "model.init") continue;
    const RunOption& option = run_option(name);
    if (option.get(config) == option.get(RunConfig())) continue;
    const std::vector<std::string> users = users_of(name.substr(kind.size() + 1), entries);
    if (std::find(users.begin(), users.end(), chosen) != users.end()) continue;
    throw ConfigError("option has no effect", "--" + name + " with --" + kind + " " + chosen,
                      "leave it out; it is for " + join(users, ", "));
  }
}

}  // namespace

void malformed(const std::string& option, const std::string& text, const std::string& wanted) {
  throw ConfigError("malformed option value", option + " '" + text + "'", "expected: " + wanted);
}

Index parse_integer(const std::string& option, const std::string& text) {
  Index value = 0;
  if (!parse_whole(text, value)) malformed(option, text, "a whole number");
  return value;
}

Index parse_bytes(const std::string& option, const std::string& text) {
  constexpr std::pair<std::string_view, double> units[] = {{"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
                                                           {"TB", 1e12},    {"KiB", 0x1p10}, {"MiB", 0x1p20},
                                                           {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"B", 1}};
  const auto* unit =
      std::find_if(std::begin(units), std::end(units), [&](const auto& each) { return text.ends_with(each.first); });
  if (unit == std::end(units)) {
    Index value = 0;
    if (!parse_whole(text, value) || value < 0) malformed(option, text, "bytes, e.g. 8GB, 512MB, 2GiB");
    return value;
  }
  double value = 0;
  const std::string number = text.substr(0, text.size() - unit->first.size());
  if (!parse_whole(number, value) || !(value >= 0) || value * unit->second > 0x1p60) {
    malformed(option, text, "bytes, e.g. 8GB, 512MB, 2GiB");
  }
  return std::llround(value * unit->second);
}

bool parse_boolean(const std::string& option, const std::string& text) {
  if (text == "true" || text == "on" || text == "1" || text == "yes") return true;
  if (text == "false" || text == "off" || text == "0" || text == "no") return false;
  malformed(option, text, "true or false");
}

double parse_real(const std::string& option, const std::string& text) {
  double value = 0;
  if (!parse_whole(text, value) || !std::isfinite(value)) malformed(option, text, "a finite number");
  return value;
}

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

/// Parses a number with or without one of the units; the first unit that matches counts.
double parse_with_unit(const std::string& option, const std::string& text, std::span<const Unit> units,
                       const std::string& wanted) {
  std::string number = text;
  double factor = 1;
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    number = text.substr(0, text.size() - unit.name.size());
    factor = unit.factor;
    break;
  }
  double value = 0;
  if (!parse_whole(number, value) || !std::isfinite(value * factor)) malformed(option, text, wanted);
  return value * factor;
}

}  // namespace

double parse_rate(const std::string& option, const std::string& text) {
  constexpr Unit units[] = {{"kB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},      {"TB/s", 1e12}, {"kb/s", 1e3 / 8},
                            {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8}, {"B/s", 1}};
  return parse_with_unit(option, text, units, "bytes per second, e.g. 1.1e9, 1.1GB/s or, in bits, 10Gb/s");
}

double parse_seconds(const std::string& option, const std::string& text) {
  constexpr Unit units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"s", 1}};
  return parse_with_unit(option, text, units, "seconds, e.g. 35e-6 or 35us");
}

void parse_into(const std::string& option, const std::string& text, Index& value) {
  value = parse_integer(option, text);
}
void parse_into(const std::string& option, const std::string& text, double& value) {
  value = parse_real(option, text);
}
void parse_into(const std::string& option, const std::string& text, bool& value) {
  value = parse_boolean(option, text);
}
void parse_into(const std::string&, const std::string& text, std::string& value) {
  value = text;
}
void parse_into(const std::string& option, const std::string& text, std::optional<double>& value) {
  value = parse_real(option, text);
}

std::string to_text(Index value) {
  return std::to_string(value);
}
std::string to_text(double value) {
  return shortest(value);
}
std::string to_text(bool value) {
  return value ? "true" : "false";
}
std::string to_text(const std::string& value) {
  return value;
}
std::string to_text(const std::optional<double>& value) {
  return value ? shortest(*value) : "";
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> items;
  std::stringstream stream(text);
  for (std::string item; std::getline(stream, item, separator);) items.push_back(item);
  return items;
}

const std::vector<RunOption>& run_options() {
  static const std::vector<RunOption> table = joined<RunConfig>(
      {grouped("size of the run", run_size_options()), grouped("where to compute", place_options()),
       grouped("log, probes, checkpoints and evaluations", log_options()), grouped("model", model_options()),
       grouped("data", data_options()), grouped("optimizer", optimizer_options()),
       grouped("freeze of the variance", freeze_options()), grouped("learning-rate schedule", schedule_options()),
       grouped("codec and exchange", exchange_options())});
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
        throw ConfigError("the optimizer fixes this option",
                          std::string(fixed) + ", optimizer " + config.optimizer.name,
                          "leave it out, or set it only in arms with other optimizers");
      }
    }
  }
  config.optimizer.exchange.up.name = optim::codec_of(config.optimizer, chosen);
  config.model = sim::completed(config.model);
  const sim::Input input = sim::model_entry(config.model.name).input;
  if (!given("data") && (input == sim::Input::none || input == sim::Input::any)) config.data.name = "none";
  if (!given("data.examples")) config.data.examples = sim::usual_examples(config.data.name);
  check_used(settings, config, "model", config.model.name, sim::models());
  check_used(settings, config, "data", config.data.name, sim::data_sources());
  return config;
}

Settings values_of(const sim::RunConfig& config) {
  Settings values;
  for (const RunOption& option : run_options()) values.emplace_back(option.name, option.get(config));
  return values;
}

}  // namespace onebit::experiments
