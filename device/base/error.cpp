#include "device/base/error.hpp"

#include "device/base/text.hpp"

namespace onebit {
namespace {

/// The first position at or after `place` that does not split a UTF-8 character.
std::size_t between_characters(const std::string& text, std::size_t place) {
  while (place < text.size() && (static_cast<unsigned char>(text[place]) & 0xC0U) == 0x80U) ++place;
  return place;
}

/// Returns users' text in a form that suits a message: printable, and without the middle of a very long text.
std::string shown(std::string text) {
  constexpr std::size_t head = 3000, tail = 1000;
  if (text.size() > head + tail) {
    const std::size_t begin = between_characters(text, head);
    text.replace(begin, between_characters(text, text.size() - tail) - begin, " ... ");
  }
  return printable(text);
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
