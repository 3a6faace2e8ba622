#pragma once
// The options of a run: one table with each option's name, help and field in RunConfig. The command line, INI files,
// arms, the log's /config group and the help text are all derived from it.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/run/config.hpp"

namespace onebit::experiments {

/// Option names with values as text, in the order given; later values override earlier ones.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// What the text of an option's value contains. `repeated`: the option may be given several times, with one text each
/// time.
enum class ValueKind { text, integer, real, boolean, texts, integers, repeated };

template <class Config>
struct Option {
  std::string name;
  std::string help;
  std::function<void(Config&, const std::string&)> set;  ///< throws ConfigError
  std::function<std::string(const Config&)> get;
  bool is_flag = false;  ///< whether it takes no value on the command line
  /// Name of a set of options. If the command line gives one option of the set, all options of the set that come from
  /// files are dropped. If this is empty, values from files are kept, and those from the command line come after them.
  std::string replaces = {};
  std::string twice = {};  ///< error if the command line or a file gives it twice; empty: the last value counts
  /// Short name for the command line, files, arms and axes; a single letter is written with one dash. Logs and messages
  /// use the long name. Empty: none.
  std::string alias = {};
  std::string group = {};                                ///< heading in the full help and in the man page
  std::function<std::vector<std::string>()> words = {};  ///< returns the words that it takes; empty: none to list
  ValueKind kind = ValueKind::text;
};
using RunOption = Option<sim::RunConfig>;

const std::vector<RunOption>& run_options();

/// Returns an option by name. Throws ConfigError, with the nearest names, if there is none.
const RunOption& run_option(const std::string& name);

/// Returns the long name of the run option with this short name; returns any other text unchanged.
std::string long_name(const std::string& name);

/// Returns the defaults with the settings applied to them. Throws ConfigError for unknown names (with the nearest),
/// malformed values, and options that the chosen model, data source or optimizer does not use.
sim::RunConfig make_config(const Settings& settings);

/// Whether settings give an option a value.
bool has_option(const Settings& settings, const std::string& name);

/// Returns every option with its value.
Settings values_of(const sim::RunConfig& config);

/// Parse the text of a value, and throw ConfigError with the option's name if it is malformed.
Index parse_integer(const std::string& option, const std::string& text);
bool parse_boolean(const std::string& option, const std::string& text);
/// Parses a whole number of bytes, or a number with a unit: kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB.
Index parse_bytes(const std::string& option, const std::string& text);
double parse_real(const std::string& option, const std::string& text);
/// Parses bytes per second: a number, or a number with a unit, kB/s to TB/s or, in bits, kb/s to Tb/s (powers of 1000).
double parse_rate(const std::string& option, const std::string& text);
/// Parses seconds: a number, or a number with a unit, s, ms, us or ns.
double parse_seconds(const std::string& option, const std::string& text);

/// Splits a text into the items between separators; an empty text has none.
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace onebit::experiments
