#include "experiments/sweep/definition.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/sweep/points.hpp"
#include "sim/run/deciding_options.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kTitle = "# Definition of a sweep; `onebit sweep --config` reads it\n";

constexpr Index kTunePoints = 8;

/// Returns every option once, with its last value, sorted by name.
Settings without_repeats(const Settings& settings) {
  std::map<std::string, std::string> last;
  for (const auto& [name, value] : settings) last[name] = canonical(name, value);
  return {last.begin(), last.end()};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  std::erase_if(lines, [](const std::string& line) { return line.empty() || line.front() == '#'; });
  return lines;
}

bool holds(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

/// Returns the first line that the other text lacks.
std::string first_lacking(const std::vector<std::string>& lines, const std::vector<std::string>& other) {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return !holds(other, line); });
  return found == lines.end() ? "" : *found;
}

std::string instead(const std::string& there, const std::string& asked) {
  return "it has '" + there + "' instead of '" + asked + "'";
}

std::optional<Tuning> tuning_of(const SweepOptions& options) {
  if (options.tune.empty() && options.tune_points > 0)
    throw ConfigError("--tune-points without --tune", "tune-points", "give --tune key=low:high too");
  if (options.tune.empty()) return std::nullopt;
  return parse_tuning(options.tune, options.tune_points > 0 ? options.tune_points : kTunePoints);
}

}  // namespace

void require_storable(const std::string& key, const std::string& value) {
  const auto blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  const bool cut = !value.empty() && (blank(value.front()) || blank(value.back()));
  if (!cut && value.find_first_of("#\n\r") == std::string::npos) return;
  throw ConfigError("the sweep's files cannot hold this value", key + " '" + value + "'",
                    "a value must not contain '#' or line breaks, nor begin or end with a blank");
}

SweepDefinition definition_of(const SweepOptions& options) {
  SweepDefinition definition;
  for (const auto& [name, value] : without_repeats(options.run.settings)) {
    const std::string stored = name == "devices" ? sim::backend_of(value) : value;
    const bool left_out = name == "devices" ? stored.empty() : !sim::decides_results(name);
    if (!left_out) definition.common.emplace_back(name, stored);
  }
  definition.arms = options.arms;
  for (const std::string& text : options.axes) definition.axes.push_back(parse_axis(text));
  definition.zips = options.zips;
  for (const std::string& skip : options.skips) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : parse_skip(skip)) parts.push_back(key + "=" + value);
    definition.skips.push_back(join(parts, ","));
  }
  definition.seeds = options.seeds;
  definition.tuning = tuning_of(options);
  return definition;
}

Settings execution_of(const RunSettings& run) {
  Settings settings = without_repeats(run.settings);
  std::erase_if(settings, [](const auto& setting) { return sim::decides_results(setting.first); });
  return settings;
}

std::string text_of(const SweepDefinition& definition) {
  std::ostringstream text;
  const auto write = [&](const std::string& key, const std::string& value) {
    require_storable(key, value);
    text << key << " = " << value << "\n";
  };
  text << kTitle;
  for (const auto& [name, value] : definition.common) write(name, value);
  if (!definition.arms.optimizers.empty()) write("optimizers", join(definition.arms.optimizers, ","));
  for (const std::string& arm : definition.arms.arms) write("arm", arm);
  for (const Axis& axis : definition.axes) write("axis", axis_text(axis));
  for (const std::string& zip : definition.zips) write("zip", zip);
  for (const std::string& skip : definition.skips) write("skip", skip);
  write("seeds", std::to_string(definition.seeds));
  if (definition.tuning) {
    const Tuning& tuning = *definition.tuning;
    write("tune", tuning.key + "=" + range_value(tuning.low) + ":" + range_value(tuning.high));
    write("tune-points", std::to_string(tuning.evaluations));
  }
  return text.str();
}

std::string difference(const std::string& asked, const std::string& stored) {
  const std::vector<std::string> ours = lines_of(asked), theirs = lines_of(stored);
  for (const std::string& line : ours) {  // first, look for the same key with another value
    const std::string key = line.substr(0, line.find(" = ") + 3);
    const auto is_other = [&](const std::string& their) { return their.starts_with(key) && !holds(ours, their); };
    const auto other = std::ranges::find_if(theirs, is_other);
    if (!holds(theirs, line) && other != theirs.end()) return instead(*other, line);
  }
  const std::string more = first_lacking(ours, theirs), less = first_lacking(theirs, ours);
  if (more.empty() && less.empty()) return "the same lines in a different order";
  if (more.empty()) return "it also has '" + less + "'";
  return less.empty() ? "it lacks '" + more + "'" : instead(less, more);
}

}  // namespace onebit::experiments
