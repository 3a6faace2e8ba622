#pragma once
// The options of a run: one table of name, help and place in RunConfig. The command line, INI files, arms, the log's
// /config group and the help text all follow it.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/run/config.hpp"

namespace onebit::experiments {

/// Option names with values as text, in the order given; a later value wins.
using Settings = std::vector<std::pair<std::string, std::string>>;

template <class Config>
struct Option {
  std::string name;
  std::string help;
  std::function<void(Config&, const std::string&)> set;  ///< throws ConfigError
  std::function<std::string(const Config&)> get;
};
using RunOption = Option<sim::RunConfig>;

const std::vector<RunOption>& run_options();

/// Option by name. Throws ConfigError with the nearest names.
const RunOption& run_option(const std::string& name);

/// Defaults overridden by settings. Throws ConfigError for unknown names (with the nearest), malformed values, and what
/// the chosen model, data source or optimizer does not use.
sim::RunConfig make_config(const Settings& settings);

/// Every option with its value.
Settings values_of(const sim::RunConfig& config);

/// Values as options are written. Throw ConfigError naming the option.
Index parse_integer(const std::string& option, const std::string& text);
bool parse_boolean(const std::string& option, const std::string& text);
/// A whole number of bytes, or a number with a unit: kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB.
Index parse_bytes(const std::string& option, const std::string& text);
double parse_real(const std::string& option, const std::string& text);
/// Bytes per second: a number, or one with a unit: kB/s to TB/s, or bits: kb/s to Tb/s (powers of 1000).
double parse_rate(const std::string& option, const std::string& text);
/// Seconds: a number, or one with a unit: s, ms, us, ns.
double parse_seconds(const std::string& option, const std::string& text);

/// Items between separators; empty text gives none.
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace onebit::experiments
