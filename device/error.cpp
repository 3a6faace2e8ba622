#include "device/error.hpp"

#include <algorithm>

namespace onebit {
namespace {

/// Users' text in a message must not break its line, end it, or fill the screen.
std::string shown(std::string text) {
  constexpr std::size_t head = 600, tail = 200;
  if (text.size() > head + tail) text.replace(head, text.size() - head - tail, " ... ");
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

std::string one_line(const std::string& what, const std::string& where, const std::string& hint) {
  std::string text = shown(what);
  if (!where.empty()) text += " (" + shown(where) + ")";
  if (!hint.empty()) text += "; " + shown(hint);
  return text;
}

}  // namespace

Error::Error(const std::string& what, const std::string& where, const std::string& hint)
    : std::runtime_error(one_line(what, where, hint)) {}

}  // namespace onebit
