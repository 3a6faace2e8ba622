#pragma once
// The settings of a run that is continued, taken from its log.

#include <optional>

#include "experiments/options/options.hpp"
#include "sim/log/reader.hpp"

namespace onebit::experiments {

/// Returns the fewest settings that reproduce the options of a log, or nothing if this version of the program has no
/// such settings, or if the log is that of a replay.
std::optional<Settings> settings_of(const sim::LogHeader& header);

/// Whether the run had the options in the log's header from its first step to its last: no resumption changed one.
bool has_first_options(const sim::LogReader& log);

/// Returns the weights file that a run was to write, from the command in its log's header; empty if there is none.
std::string weights_out_of(const sim::LogHeader& header);

/// What a run with --resume takes from its log.
struct FromLog {
  /// Options that the user did not give and whose values in the log differ from the defaults, except the options of the
  /// evaluations, which continued() takes.
  Settings settings = {};
  std::string weights_out = {};  ///< file for the weights, if the run is not over

  bool empty() const { return settings.empty() && weights_out.empty(); }
};

/// Returns the settings to take from a log in addition to the options given by the user. weights_given: whether the
/// user also gave a file for the weights. Takes nothing if the options cannot be combined. Throws ConfigError if no
/// options are given and there is no log; if an earlier resumption changed options and the user does not give these
/// again (the log's header holds the options of the first run); or if the file that the log names for the weights
/// exists although the run cannot have written it. Throws what LogReader throws.
FromLog taken_from_log(const std::string& log, const Settings& given, bool weights_given);

/// The same for a run that may consist of several processes: rank 0 reads the log and sends the result to the others.
/// Collective.
FromLog agreed_from_log(const std::string& log, const Settings& given, bool weights_given);

/// Returns the settings that are taken, followed by the given ones.
Settings joined(const FromLog& from_log, const Settings& given);

/// Describes the continuation in one line. Precondition: something is taken from the log.
std::string text_of(const FromLog& from_log, const std::string& log);

}  // namespace onebit::experiments
