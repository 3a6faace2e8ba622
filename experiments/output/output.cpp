#include "experiments/output/output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "experiments/output/screen.hpp"

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

constexpr std::size_t kGap = 2;         // blanks between columns
constexpr std::size_t kNarrowest = 10;  // characters that a text column keeps on a narrow terminal

/// Returns the width of a line with columns of these widths, in characters.
std::size_t sum_of(const std::vector<std::size_t>& widths) {
  std::size_t sum = 0;
  for (const std::size_t width : widths) sum += width + kGap;
  return sum - std::min(sum, kGap);
}

}  // namespace

void Table::add(const std::vector<std::string>& row) {
  std::vector<std::string> cells;
  for (const std::string& cell : row) cells.push_back(printable(cell));
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size() && row.size() > 1; ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  return widths;
}

std::size_t Table::width() const {
  return sum_of(widths());
}

/// Returns the widths of the columns that fit into lines of `room` characters; the widest text column becomes narrower
/// if the text columns and one more do not fit.
std::vector<std::size_t> Table::fitted_widths(std::size_t room) const {
  std::vector<std::size_t> fitted = widths();
  const std::size_t kept = std::max(text_columns_, std::size_t{2});
  while (fitted.size() > kept && sum_of(fitted) > room) fitted.pop_back();
  const std::size_t sum = sum_of(fitted);
  if (sum <= room) return fitted;
  const auto end = fitted.begin() + static_cast<std::ptrdiff_t>(std::min(text_columns_, fitted.size()));
  const auto widest = std::max_element(fitted.begin(), end);
  if (widest != end) *widest = std::max(*widest - std::min(*widest, sum - room), std::min(*widest, kNarrowest));
  return fitted;
}

/// Prints a row; cells that are wider than their column continue on further lines.
void Table::print_row(const std::vector<std::string>& row, const std::vector<std::size_t>& widths,
                      std::ostream& out) const {
  std::vector<std::vector<std::string>> cells;
  std::size_t lines = 1;
  for (std::size_t c = 0; c < std::min(row.size(), widths.size()); ++c) {
    const bool text = c < text_columns_ && width_of(row[c]) > widths[c];
    cells.push_back(wrapped(row[c], text ? static_cast<Index>(widths[c]) : 0));
    lines = std::max(lines, cells.back().size());
  }
  for (std::size_t l = 0; l < lines; ++l) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string cell = l < cells[c].size() ? cells[c][l] : "";
      const std::string padding(widths[c] - std::min(widths[c], width_of(cell)), ' ');
      line += std::string(c > 0 ? kGap : 0, ' ') + (c < text_columns_ ? cell + padding : padding + cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

void Table::print(std::ostream& out) const {
  const auto room = static_cast<std::size_t>(columns_of(out));
  const std::vector<std::size_t> shown = room > 0 ? fitted_widths(room) : widths();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const bool best = best_ > 0 && r == best_;
    if (best) out << Tone::good;
    if (rows_[r].size() == 1) {
      print_paragraph(out, rows_[r].front());
    } else {
      print_row(rows_[r], shown, out);
    }
    if (best) out << Tone::plain;
  }
  const std::vector<std::string>& header = rows_.front();
  if (shown.size() >= header.size()) return;
  const std::vector<std::string> hidden(header.begin() + static_cast<std::ptrdiff_t>(shown.size()), header.end());
  out << shortened("a wider terminal or '| less -S' also shows: " + join(hidden, ", "), room) << "\n";
}

Json Json::object(const std::vector<std::pair<std::string, Json>>& members) {
  Json json;
  for (const auto& [key, value] : members)
    json.text_ += (json.text_.empty() ? "" : ", ") + escaped(key) + ": " + value.text();
  json.text_ = "{" + json.text_ + "}";
  return json;
}

Json Json::texts(const std::vector<std::string>& items) {
  return array(std::vector<Json>(items.begin(), items.end()));
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

std::string indented(const Json& json) {
  const std::string& text = json.text();
  std::string result;
  std::size_t depth = 0;
  bool quoted = false;
  const auto new_line = [&] { result.append("\n").append(2 * depth, ' '); };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool closes = !quoted && (c == '}' || c == ']'), opens = !quoted && (c == '{' || c == '[');
    const bool empty = opens && (text[i + 1] == '}' || text[i + 1] == ']');
    if (closes && depth-- > 0) new_line();
    result += c;
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') result += text[++i];
    if (empty) {
      result += text[++i];
    } else if (opens) {
      ++depth;
      new_line();
    } else if (!quoted && c == ',') {
      new_line();
      ++i;  // the space after it
    }
  }
  return result + "\n";
}

std::string seconds_text(double seconds) {
  return seconds_texts({&seconds, 1}).front();
}

std::vector<std::string> seconds_texts(std::span<const double> seconds) {
  double longest = 0;
  for (const double value : seconds) longest = std::fmax(longest, std::isfinite(value) ? value : 0);
  const double factor = longest >= 1 ? 1 : longest >= 1e-3 ? 1e3 : 1e6;
  const std::string unit = longest >= 1 ? " s" : longest >= 1e-3 ? " ms" : " us";
  std::vector<std::string> texts;
  for (const double value : seconds) texts.push_back(std::isfinite(value) ? number(value * factor, 3) + unit : "-");
  return texts;
}

std::string ratio_text(double ratio) {
  return std::isfinite(ratio) ? number(ratio, 3) + "x" : "-";
}

}  // namespace onebit::experiments
