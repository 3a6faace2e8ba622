#include "experiments/sweep/axes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <string_view>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/study/arms.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kForms =
    "write key=a,b,c, key=a;b if values contain commas, or key=low:high:SPACING:count (SPACING: log, lin or round)";
constexpr std::size_t kMostPoints = 100'000;
constexpr int kDigits = 6;  // significant digits of the values of a range

/// Rounds a number to significant digits.
double rounded(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*e", digits - 1, value);
  return std::strtod(text, nullptr);
}

/// Rounds all values but the first and the last to the same number of significant digits, the fewest with which they
/// are still ascending.
std::vector<double> with_fewest_digits(const std::vector<double>& values) {
  for (int digits = 1; digits < kDigits; ++digits) {
    std::vector<double> round = values;
    for (std::size_t i = 1; i + 1 < round.size(); ++i) round[i] = rounded(round[i], digits);
    if (std::ranges::is_sorted(round, std::less_equal<>())) return round;
  }
  return values;
}

std::vector<std::string> range_of(const std::string& text, const std::vector<std::string>& parts) {
  const double low = parse_real("axis " + text, parts[0]), high = parse_real("axis " + text, parts[1]);
  const Index count = parse_integer("axis " + text, parts[3]);
  const bool logarithmic = parts[2] != "lin";
  if (!(high > low) || count < 2 || count > static_cast<Index>(kMostPoints) || (logarithmic && low <= 0)) {
    throw ConfigError("bad range on an axis", text,
                      logarithmic ? "0 < low < high, count from 2 to 100,000" : "low < high, count from 2 to 100,000");
  }
  std::vector<double> values;
  for (Index i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    values.push_back(logarithmic ? low * std::pow(high / low, share) : low + (high - low) * share);
  }
  if (parts[2] == "round") values = with_fewest_digits(values);
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(range_value(value));
  return texts;
}

constexpr std::string_view kSpacings[] = {"log", "lin", "round"};

std::vector<std::string> values_in(const std::string& text, const std::string& list) {
  const std::vector<std::string> parts = split(list, ':');
  if (parts.size() > 2 && std::ranges::count(kSpacings, parts[2]) > 0) {
    if (parts.size() != 4) throw ConfigError("malformed range on an axis", text, kForms);
    return range_of(text, parts);
  }
  return split(list, list.find(';') == std::string::npos ? ',' : ';');
}

std::vector<std::string> keys_of(const std::string& zip) {
  std::vector<std::string> keys = split(zip, ',');
  for (std::string& key : keys) key = long_name(key);
  return keys;
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
      const std::vector<std::string> keys = keys_of(zip);
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
    const std::vector<std::string> keys = keys_of(zip);
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
  const double shown = rounded(value, kDigits);
  const bool whole = std::abs(shown) < 1e15 && shown == std::floor(shown);
  return whole ? std::to_string(std::llround(shown)) : shortest(shown);
}

Axis parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw ConfigError("malformed axis", text, kForms);
  Axis axis{long_name(text.substr(0, equals)), {}};
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
