#pragma once
// Human-readable text: suggestions for misspelt names, numbers, lists, types, and texts that are safe to print.

#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace onebit {

/// The candidates, sorted by the number of edits between them and `word`, fewest first. Among equals, shorter
/// candidates come first; other ties keep their order. A candidate counts as one edit away if it begins with the word
/// (of at least 3 characters), or if it ends with the word preceded by a dot or, in a candidate without dots, by a
/// dash.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string_view> candidates);

/// "did you mean A?" if a candidate is close, else "one of A, B, C", or "nearest: A, B, C" if there are more than 12
/// candidates.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates,
                       std::string_view prefix = "");

/// A number in the shortest form that reads back as the same number.
std::string shortest(double value);

/// A number with `digits` significant digits, in fixed notation (no exponent) between 1e-4 and 1e6: "9940"; "-" if not
/// finite.
std::string number(double value, int digits = 4);

/// A share as "12.3%"; "-" if not finite.
std::string percent_text(double share);

/// Bytes as "12.3 kB" or "4.56 MB", in powers of 1000; "-" if not finite.
std::string bytes_text(double bytes);

/// A text in quotes for a shell: 'it'\''s'.
std::string in_quotes(const std::string& text);

/// A word for a shell, in quotes if it needs them.
std::string shell_word(const std::string& word);

/// Whether a list of words separated by blanks contains this word.
bool has_word(std::string_view words, std::string_view word);

/// A text whose first letter is a capital, if it is one of ASCII's letters.
std::string capitalised(std::string text);

/// Items joined by a separator.
std::string join(std::span<const std::string> items, std::string_view separator);

/// Items as "a, b and c".
std::string enumerated(std::span<const std::string> items);

/// The first character of a text. A byte that begins no valid UTF-8 character counts as an invalid character.
struct Character {
  std::size_t length = 1;  ///< in bytes
  char32_t code = 0;
  bool valid = false;

  /// Whether it is one of ASCII's control characters, DEL, or one of U+0080 to U+009F.
  bool is_control() const { return valid && (code < 0x20 || (code >= 0x7f && code < 0xa0)); }
};

/// Reads the first character of a text, which must not be empty.
Character first_character(std::string_view text);

/// A text in a form that cannot control a terminal and is valid UTF-8: each byte of a control character or of
/// an invalid UTF-8 sequence becomes `\xNN`. The control characters in `kept` stay.
std::string printable(std::string_view text, std::string_view kept = "");

/// The name of a type as it is written in C++.
std::string readable_type(const std::type_info& type);

}  // namespace onebit
