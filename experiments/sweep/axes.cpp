#include "experiments/sweep/axes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/study/arms.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kForms = "write key=a,b,c, key=low:high:log:count, or key=a;b if values contain commas";
constexpr std::size_t kMostPoints = 100'000;

std::vector<std::string> range_of(const std::string& text, const std::vector<std::string>& parts) {
  const double low = parse_real("axis " + text, parts[0]), high = parse_real("axis " + text, parts[1]);
  const Index count = parse_integer("axis " + text, parts[3]);
  const bool logarithmic = parts[2] == "log";
  if (!(high > low) || count < 2 || count > static_cast<Index>(kMostPoints) || (logarithmic && low <= 0)) {
    throw ConfigError("bad range on an axis", text,
                      logarithmic ? "0 < low < high, count at least 2" : "low < high, count at least 2");
  }
  std::vector<std::string> values;
  for (Index i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    values.push_back(range_value(logarithmic ? low * std::pow(high / low, share) : low + (high - low) * share));
  }
  return values;
}

std::vector<std::string> values_in(const std::string& text, const std::string& list) {
  const std::vector<std::string> parts = split(list, ':');
  if (parts.size() == 4 && (parts[2] == "log" || parts[2] == "lin")) return range_of(text, parts);
  return split(list, list.find(';') == std::string::npos ? ',' : ';');
}

/// Axes that advance together.
using Dimension = std::vector<const Axis*>;

std::vector<Dimension> dimensions(const std::vector<Axis>& axes, const std::vector<std::string>& zips) {
  std::vector<Dimension> result;
  std::set<std::string> zipped;
  for (const Axis& axis : axes) {
    if (zipped.count(axis.key) != 0) continue;
    Dimension dimension = {&axis};
    for (const std::string& zip : zips) {
      const std::vector<std::string> keys = split(zip, ',');
      if (std::find(keys.begin(), keys.end(), axis.key) == keys.end()) continue;
      for (const Axis& other : axes) {
        if (&other != &axis && std::find(keys.begin(), keys.end(), other.key) != keys.end())
          dimension.push_back(&other);
      }
      zipped.insert(keys.begin(), keys.end());
    }
    result.push_back(std::move(dimension));
  }
  return result;
}

void check_zips(const std::vector<Axis>& axes, const std::vector<std::string>& zips) {
  std::set<std::string> seen;
  for (const std::string& zip : zips) {
    std::size_t length = 0;
    const std::vector<std::string> keys = split(zip, ',');
    if (keys.size() < 2) throw ConfigError("zip of one axis only", zip, "write --zip key,key");
    for (const std::string& key : keys) {
      const auto axis = std::find_if(axes.begin(), axes.end(), [&](const Axis& each) { return each.key == key; });
      if (axis == axes.end())
        throw ConfigError("zip names an option that is not an axis", zip + ": " + key, "add it with --axis");
      if (!seen.insert(key).second) throw ConfigError("axis zipped twice", key);
      if (length != 0 && axis->values.size() != length) {
        throw ConfigError("zipped axes have different lengths", zip + ": " + std::to_string(length) + " and " +
                                                                    std::to_string(axis->values.size()) + " values");
      }
      length = axis->values.size();
    }
  }
}

void check_axes(const std::vector<Axis>& axes) {
  std::set<std::string> keys;
  for (const Axis& axis : axes) {
    if (!keys.insert(axis.key).second)
      throw ConfigError("two axes for the same option", axis.key, "give all values in one --axis");
  }
}

}  // namespace

std::string canonical(const std::string& key, const std::string& value) {
  sim::RunConfig config;
  const RunOption& option = run_option(key);
  option.set(config, value);
  return option.get(config);
}

std::string range_value(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5e", value);
  const double rounded = std::strtod(text, nullptr);
  const bool whole = std::abs(rounded) < 1e15 && rounded == std::floor(rounded);
  return whole ? std::to_string(std::llround(rounded)) : shortest(rounded);
}

Axis parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw ConfigError("malformed axis", text, kForms);
  Axis axis{text.substr(0, equals), {}};
  for (const std::string& value : values_in(text, text.substr(equals + 1))) {
    axis.values.push_back(canonical(axis.key, value));
  }
  if (axis.values.empty()) throw ConfigError("axis without values", text, kForms);
  if (std::set<std::string>(axis.values.begin(), axis.values.end()).size() != axis.values.size()) {
    throw ConfigError("axis with the same value twice", text);
  }
  return axis;
}

std::string axis_text(const Axis& axis) {
  const bool commas = std::any_of(axis.values.begin(), axis.values.end(),
                                  [](const std::string& value) { return value.find(',') != std::string::npos; });
  return axis.key + "=" + join(axis.values, commas ? ";" : ",") + (commas ? ";" : "");
}

std::vector<Settings> product(const std::vector<Axis>& axes, const std::vector<std::string>& zips) {
  check_axes(axes);
  check_zips(axes, zips);
  std::vector<Settings> choices = {{}};
  for (const Dimension& dimension : dimensions(axes, zips)) {
    const std::size_t length = dimension.front()->values.size();
    if (choices.size() * length > kMostPoints) {
      throw ConfigError("too many points", "axis " + dimension.front()->key,
                        "at most " + std::to_string(kMostPoints) + " in one sweep");
    }
    std::vector<Settings> longer;
    for (const Settings& choice : choices) {
      for (std::size_t i = 0; i < length; ++i) {
        longer.push_back(choice);
        for (const Axis* axis : dimension) longer.back().emplace_back(axis->key, axis->values[i]);
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

Settings parse_skip(const std::string& text) {
  Settings skip;
  for (const auto& [key, value] : parse_settings(text, "skip", text, "write 'key=value,key=value'")) {
    skip.emplace_back(key, key == "arm" ? value : canonical(key, value));
  }
  if (skip.empty()) throw ConfigError("malformed skip", text, "write 'key=value,key=value'");
  return skip;
}

}  // namespace onebit::experiments
