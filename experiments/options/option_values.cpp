// How the text of a value becomes a number, a boolean or a list, and back.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <sstream>

#include "device/base/text.hpp"
#include "experiments/options/option_fields.hpp"

namespace onebit::experiments {
namespace {

template <class Number>
bool parse_whole(const std::string& text, Number& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

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
  if (!parse_whole(text, value) || !std::isfinite(value))
    malformed(option, text,
              text.find(',') == std::string::npos ? "a finite number"
                                                  : "one finite number; 'onebit sweep --axis' tries several");
  return value;
}

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

}  // namespace onebit::experiments
