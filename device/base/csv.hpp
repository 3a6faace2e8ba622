#pragma once
// Text fields of CSV files.

#include <string>

namespace onebit {

/// Returns a text as a field of a CSV file: printable(), quoted if necessary. A text that a spreadsheet would take for
/// a formula, because after any apostrophes it begins with = + - or @ and is not a number, is prefixed with an
/// apostrophe.
std::string csv_text(const std::string& text);

/// The inverse of csv_text: returns the printable text from which csv_text made this field.
std::string text_of_csv(const std::string& field);

}  // namespace onebit
