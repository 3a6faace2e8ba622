#pragma once
// Writes an HTML page in one file, with text, tables and figures, readable on small screens, in print and offline.

#include <string>
#include <vector>

#include "device/base/types.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments::html {

/// Makes a text printable(), except for line ends, and escapes characters that are special in HTML.
std::string text(const std::string& plain);

/// Returns "1 log", "2 logs".
std::string counted(Index count, const std::string& noun);

std::string heading(int level, const std::string& plain);
/// Returns a paragraph, with the class `style` of the style sheet if one is given; empty for an empty text.
std::string paragraph(const std::string& plain, const std::string& style = "");
/// Returns an unobtrusive paragraph of short parts, separated by dots. A line breaks between parts, if it can.
std::string facts(const std::vector<std::string>& parts);
std::string list(const std::vector<std::string>& items);
/// Returns text in a fixed-width font that keeps its line breaks.
std::string command(const std::string& plain);
/// Returns a table without the columns of numbers in which every row has "-". It scrolls horizontally if the screen is
/// too narrow. Empty for a table without rows.
std::string table(const Table& table);
/// Returns a table like table() does, but a narrow screen shows each row as a block of labelled values.
std::string blocks(const Table& table);
/// Returns an <svg> element with a caption, with the class `style` if one is given; empty if there is no picture.
std::string figure(const std::string& svg, const std::string& caption, const std::string& style = "");

/// Returns a name for links and files, in lower-case letters, digits and dashes: "what-went-wrong".
std::string identifier_of(const std::string& plain);
/// Returns a <div> with an identifier.
std::string division(const std::string& id, const std::string& body);
/// Returns a part that is closed until the reader opens it: a summary with a remark, and a body. Empty without a body.
/// Its identifier is identifier_of(summary).
std::string details(const std::string& summary, const std::string& remark, const std::string& body);

/// Returns the whole document.
std::string page(const std::string& title, const std::string& body);

}  // namespace onebit::experiments::html
