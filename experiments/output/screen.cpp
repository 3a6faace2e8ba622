#include "experiments/output/screen.hpp"

#include <algorithm>

#include "device/base/text.hpp"

namespace onebit::experiments {
namespace {

constexpr std::size_t kHanging = 2;  // blanks before the second and further lines of a paragraph

/// Returns the number of bytes of the first `characters` characters, or of the whole text if it is shorter.
std::size_t bytes_of(std::string_view text, std::size_t characters) {
  std::size_t bytes = 0;
  for (; characters > 0 && bytes < text.size(); --characters) bytes += first_character(text.substr(bytes)).length;
  return bytes;
}

/// Returns the place of a word that stands alone; npos if there is none.
std::size_t find_word(std::string_view text, std::string_view word) {
  const auto parts = [&](std::size_t at) { return at >= text.size() || text[at] == ' ' || text[at] == ':'; };
  std::size_t at = text.find(word);
  while (at != std::string_view::npos && !((at == 0 || parts(at - 1)) && parts(at + word.size()))) {
    at = text.find(word, at + 1);
  }
  return at;
}

/// Takes the next line off a text: as many words as fit, or a part of the first word.
std::string_view take_line(std::string_view& text, std::size_t room) {
  const std::size_t most = bytes_of(text, room);
  std::size_t end = most, next = most;
  if (most < text.size() && text[most] != ' ') {
    const std::size_t blank = text.rfind(' ', most);
    if (blank != std::string_view::npos && text.find_first_not_of(' ') < blank) end = next = blank;
  }
  const std::string_view line = text.substr(0, end);
  next = std::min(text.find_first_not_of(' ', next), text.size());
  text.remove_prefix(next);
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

Index columns_of(const std::ostream& out) {
  const auto* screen = dynamic_cast<const Screen*>(out.rdbuf());
  return screen == nullptr ? 0 : screen->columns();
}

std::ostream& operator<<(std::ostream& out, Tone tone) {
  if (auto* screen = dynamic_cast<Screen*>(out.rdbuf())) screen->paint(tone);
  return out;
}

std::string_view sequence_of(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "\033[32m";
    case Tone::warning:
      return "\033[33m";
    case Tone::bad:
      return "\033[31m";
    case Tone::plain:
      break;
  }
  return "\033[0m";
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  return std::string(text.substr(0, bytes_of(text, columns - 1))) + "…";
}

std::vector<std::string> wrapped(std::string_view text, Index columns, std::size_t indent) {
  if (columns <= 0) return {std::string(text)};
  const auto width = std::max<std::size_t>(static_cast<std::size_t>(columns), indent + 1);
  std::vector<std::string> lines;
  do {
    const std::string blanks(lines.empty() ? 0 : indent, ' ');
    lines.push_back(blanks + std::string(take_line(text, width - blanks.size())));
  } while (!text.empty());
  return lines;
}

void print_paragraph(std::ostream& out, const std::string& text, const Marked& marked) {
  const std::size_t indent = std::min(text.find_first_not_of(' '), text.size()) + kHanging;
  bool sought = !marked.word.empty();
  for (const std::string& line : wrapped(printable(text), columns_of(out), indent)) {
    const std::size_t at = sought ? find_word(line, marked.word) : std::string::npos;
    if (at == std::string::npos) {
      out << line << "\n";
      continue;
    }
    sought = false;
    out << line.substr(0, at) << marked.tone << marked.word << Tone::plain << line.substr(at + marked.word.size())
        << "\n";
  }
}

void print_paragraphs(std::ostream& out, const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end == begin) {
      out << "\n";
    } else {
      print_paragraph(out, text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
}

}  // namespace onebit::experiments
