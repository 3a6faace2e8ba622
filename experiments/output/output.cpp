#include "experiments/output/output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

namespace onebit::experiments {
namespace {

/// Returns a JSON string. Bytes that are not UTF-8 become U+FFFD.
std::string escaped(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const Character first = first_character(text);
    const std::string_view bytes = text.substr(0, first.length);
    text.remove_prefix(first.length);
    if (bytes == "\"" || bytes == "\\") {
      result.append("\\").append(bytes);
    } else if (first.is_control()) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(first.code));
      result += code;
    } else {
      result += first.valid ? bytes : "\xef\xbf\xbd";
    }
  }
  return result + "\"";
}

/// Returns the number of characters of a UTF-8 text.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

void Table::add(const std::vector<std::string>& row) {
  std::vector<std::string> cells;
  for (const std::string& cell : row) cells.push_back(printable(cell));
  rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size() && row.size() > 1; ++c) widths[c] = std::max(widths[c], width(row[c]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - std::min(widths[c], width(row[c])), ' ');
      line += (c > 0 ? "  " : "") + (c < text_columns_ ? row[c] + padding : padding + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

Json Json::object(const std::vector<std::pair<std::string, Json>>& members) {
  Json json;
  for (const auto& [key, value] : members)
    json.text_ += (json.text_.empty() ? "" : ", ") + escaped(key) + ": " + value.text();
  json.text_ = "{" + json.text_ + "}";
  return json;
}

Json Json::array(const std::vector<Json>& items) {
  Json json;
  for (const Json& item : items) json.text_ += (json.text_.empty() ? "" : ", ") + item.text();
  json.text_ = "[" + json.text_ + "]";
  return json;
}

Json Json::with(const std::string& key, const Json& value) const {
  Json json;
  json.text_ =
      text_.substr(0, text_.size() - 1) + (text_ == "{}" ? "" : ", ") + escaped(key) + ": " + value.text() + "}";
  return json;
}

Json Json::boolean(bool value) {
  Json json;
  json.text_ = value ? "true" : "false";
  return json;
}

Json Json::rounded(double value, int digits) {
  Json json;
  json.text_ = std::isfinite(value) ? number(value, digits) : "null";
  return json;
}

Json::Json(const std::string& text) : text_(escaped(text)) {}
Json::Json(double value) : text_(std::isfinite(value) ? number(value, 17) : "null") {}
Json::Json(long value) : text_(std::to_string(value)) {}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds >= 1) return number(seconds, 3) + " s";
  if (seconds >= 1e-3) return number(seconds * 1e3, 3) + " ms";
  return number(seconds * 1e6, 3) + " us";
}

std::string ratio_text(double ratio) {
  return std::isfinite(ratio) ? number(ratio, 3) + "x" : "-";
}

}  // namespace onebit::experiments
