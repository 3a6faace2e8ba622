#pragma once
// What a terminal adds to the program's output: its width, and colour. A stream that is not a terminal has neither, so
// files, pipes and JSON contain every column in plain text.

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::experiments {

/// Meaning of a colour.
enum class Tone { plain, good, warning, bad };

/// The buffer of a stream that may be a terminal.
class Screen : public std::streambuf {
 public:
  /// Returns how many characters a line may have; 0: any number.
  virtual Index columns() const = 0;
  /// Sets the colour of what follows, if the terminal has colours.
  virtual void paint(Tone tone) = 0;
};

/// Returns how many characters a line of a stream may have; 0: any number.
Index columns_of(const std::ostream& out);

/// Sets the colour of what follows, if the stream has colours.
std::ostream& operator<<(std::ostream& out, Tone tone);

/// Returns the sequence that sets a colour on a terminal.
std::string_view sequence_of(Tone tone);

/// Returns the number of characters of a UTF-8 text.
std::size_t width_of(std::string_view text);

/// Returns a text of at most `columns` characters; "…" stands for what it leaves out at the end.
std::string shortened(std::string_view text, std::size_t columns);

/// Returns the lines of a text, broken at blanks to at most `columns` characters; 0: one line. Every line but the first
/// begins with `indent` blanks. A word that is longer than a line is divided.
std::vector<std::string> wrapped(std::string_view text, Index columns, std::size_t indent = 0);

/// A word of a paragraph, with its colour.
struct Marked {
  std::string word;
  Tone tone = Tone::plain;
};

/// Prints a text, made printable(), in lines as wide as the stream; every line but the first is indented. The first
/// occurrence of the marked word is coloured.
void print_paragraph(std::ostream& out, const std::string& text, const Marked& marked = {});
/// Prints each line of a text as such a paragraph.
void print_paragraphs(std::ostream& out, const std::string& text);

}  // namespace onebit::experiments
