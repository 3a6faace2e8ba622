#include "netmodel/measured/log_line.hpp"

#include <algorithm>
#include <string_view>

namespace onebit::netmodel {
namespace {

constexpr std::string_view kDigits = "0123456789";

/// Whether a prefix of this length is followed by a space or by nothing.
bool stands_alone(std::string_view text, std::size_t length) {
  return length == text.size() || text[length] == ' ';
}

/// The length of a task's number such as "12:" at the start of a text; 0 if there is none.
std::size_t task_label(std::string_view text) {
  const std::size_t end = text.find_first_not_of(kDigits);
  if (end == 0 || end == std::string_view::npos || text[end] != ':') return 0;
  return stands_alone(text, end + 1) ? end + 1 : 0;
}

/// The length of a tag such as "[1,0]<stdout>:", which names a job, a rank and a stream; 0 if there is none.
std::size_t stream_tag(std::string_view text) {
  const std::size_t close = text.find(']');
  if (!text.starts_with('[') || close == std::string_view::npos) return 0;
  const std::string_view process = text.substr(1, close - 1);
  const std::size_t comma = process.rfind(',');
  if (comma == std::string_view::npos || comma + 1 == process.size()) return 0;
  if (process.find_first_not_of(kDigits, comma + 1) != std::string_view::npos) return 0;
  const std::string_view rest = text.substr(close + 1);
  for (const std::string_view stream : {"<stdout>", "<stderr>", "<stddiag>"}) {
    if (!rest.starts_with(stream)) continue;
    return close + 1 + stream.size() + (rest.substr(stream.size()).starts_with(':') ? 1 : 0);
  }
  return 0;
}

/// The length of a process label in parentheses such as "(head, rank=0, pid=3808)"; 0 if there is none.
std::size_t process_label(std::string_view text) {
  const std::size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) return 0;
  const bool names_process = text.substr(0, close).find("pid=") != std::string_view::npos;
  return names_process && stands_alone(text, close + 1) ? close + 1 : 0;
}

/// Removes terminal control sequences: ESC, '[', parameters, and a final character from '@' to '~'.
std::string without_colours(const std::string& line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      text += line[i];
    } else if (i + 1 < line.size() && line[i + 1] == '[') {
      for (i += 2; i < line.size() && line[i] >= ' ' && line[i] < '@';) ++i;
    }
  }
  return text;
}

}  // namespace

std::string program_line(const std::string& line) {
  const std::string plain = without_colours(line);
  std::string_view text = plain;
  while (text.ends_with('\r')) text.remove_suffix(1);
  text.remove_prefix(text.rfind('\r') + 1);  // npos + 1 is 0
  while (true) {
    std::string_view start = text;
    start.remove_prefix(std::min(start.find_first_not_of(' '), start.size()));
    const std::size_t length = std::max({task_label(start), stream_tag(start), process_label(start)});
    if (length == 0) return std::string(text);
    text = start.substr(length);
  }
}

}  // namespace onebit::netmodel
