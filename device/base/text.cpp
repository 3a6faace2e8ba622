#include "device/base/text.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

namespace onebit {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

/// Number of edits between a word and a candidate. It is 1 if the candidate begins with the word (of at least 3
/// characters), or ends with it after a dot or, if the candidate has no dots, after a dash.
std::size_t distance(std::string_view word, std::string_view candidate) {
  if (candidate.size() > word.size()) {
    const char before = candidate[candidate.size() - word.size() - 1];
    const bool dotted = candidate.find('.') != std::string_view::npos;
    const bool is_end = candidate.ends_with(word) && (before == '.' || (before == '-' && !dotted));
    if (is_end || (word.size() >= 3 && candidate.starts_with(word))) return 1;
  }
  return edit_distance(word, candidate);
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, std::string_view>> sorted;  // distance and length, name
  for (const std::string_view name : candidates) sorted.push_back({{distance(word, name), name.size()}, name});
  std::ranges::stable_sort(sorted, {}, [](const auto& entry) { return entry.first; });
  std::vector<std::string> names;
  for (const auto& [order, name] : sorted) names.emplace_back(name);
  return names;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates, std::string_view prefix) {
  word = word.substr(0, 100);  // longer than any name: a word may be the text of a whole file
  const std::vector<std::string> sorted = nearest(word, candidates);
  if (sorted.empty()) return "";
  const auto listed = [&](auto first, auto last) {
    std::vector<std::string> names;
    for (; first != last; ++first) names.push_back(std::string(prefix).append(*first));
    return join(names, ", ");
  };
  if (distance(word, sorted.front()) <= std::max<std::size_t>(1, word.size() / 3))
    return "did you mean " + listed(sorted.begin(), sorted.begin() + 1) + "?";
  constexpr std::size_t shown = 12;
  if (candidates.size() > shown) return "nearest: " + listed(sorted.begin(), sorted.begin() + 3);
  return "one of " + listed(candidates.begin(), candidates.end());
}

std::string shortest(double value) {
  char text[64];
  const auto [end, code] = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end);
}

std::string number(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  const double rounded = std::strtod(text, nullptr);
  if (std::strchr(text, 'e') != nullptr && std::abs(rounded) >= 1 && std::abs(rounded) < 1e6)
    std::snprintf(text, sizeof text, "%.0f", rounded);
  return text;
}

std::string percent_text(double share) {
  return std::isfinite(share) ? number(100 * share) + "%" : "-";
}

std::string in_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_word(const std::string& word) {
  static constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,=@%";
  return word.empty() || word.find_first_not_of(plain) != std::string::npos ? in_quotes(word) : word;
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> units = {"B", "kB", "MB", "GB", "TB"};
  if (!std::isfinite(bytes)) return "-";
  std::size_t unit = 0;
  constexpr double rounded_up = 999.95;  // with four digits, it becomes 1000
  for (; bytes >= rounded_up && unit + 1 < units.size(); ++unit) bytes /= 1000;
  return (unit == 0 ? number(std::round(bytes), 15) : number(bytes)) + " " + units[unit];
}

bool has_word(std::string_view words, std::string_view word) {
  const auto ends = [&](std::size_t at) { return at == words.size() || words[at] == ' '; };
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    if (!word.empty() && (at == 0 || words[at - 1] == ' ') && ends(at + word.size())) return true;
  }
  return false;
}

std::string capitalised(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

std::string join(std::span<const std::string> items, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += separator;
    text += items[i];
  }
  return text;
}

std::string enumerated(std::span<const std::string> items) {
  if (items.size() < 2) return join(items, "");
  return join(items.first(items.size() - 1), ", ").append(" and ").append(items.back());
}

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {1, byte(0), true};
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};  // shorter forms exist for smaller codes
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc0 || byte(0) > 0xf7 || text.size() < length) return {};
  char32_t code = byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least[length] || code > 0x10ffff || surrogate) return {};
  return {length, code, true};
}

std::string printable(std::string_view text, std::string_view kept) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  while (!text.empty()) {
    const Character first = first_character(text);
    const std::string_view bytes = text.substr(0, first.length);
    text.remove_prefix(first.length);
    if (first.valid && (!first.is_control() || kept.find(bytes) != std::string_view::npos)) {
      result += bytes;
      continue;
    }
    for (const char byte : bytes) {
      const auto code = static_cast<unsigned char>(byte);
      result.append("\\x").append(1, digits[code >> 4]).append(1, digits[code & 15]);
    }
  }
  return result;
}

std::string readable_type(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? name.get() : type.name();
}

}  // namespace onebit
