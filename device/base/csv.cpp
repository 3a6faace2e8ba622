#include "device/base/csv.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "device/base/text.hpp"

namespace onebit {
namespace {

/// Whether a spreadsheet would take a text for a formula once any apostrophes in front of it are removed.
bool is_formula(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('\''), text.size()));
  if (text.find_first_of("=+-@") != 0) return false;
  const std::string_view digits = text.substr(text[0] == '+' ? 1 : 0);
  double number = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return code != std::errc() || end != digits.data() + digits.size();
}

}  // namespace

std::string csv_text(const std::string& text) {
  std::string plain;
  if (is_formula(text)) plain += '\'';
  plain += printable(text);
  if (plain.find_first_of(",\"") == std::string::npos) return plain;
  std::string quoted = "\"";
  for (const char c : plain) quoted.append(c == '"' ? 2 : 1, c);
  return quoted += '"';
}

std::string text_of_csv(const std::string& field) {
  const bool quoted = field.size() > 1 && field.front() == '"' && field.back() == '"';
  std::string text;
  for (std::size_t i = quoted ? 1 : 0; i < field.size() - (quoted ? 1 : 0); ++i) {
    text += field[i];
    if (quoted && field[i] == '"') ++i;  // a quote is written twice
  }
  return text.starts_with('\'') && is_formula(text) ? text.substr(1) : text;
}

}  // namespace onebit
