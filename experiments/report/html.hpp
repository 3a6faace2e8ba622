#pragma once
// An HTML page in one file: text, tables, figures. It is readable on a small screen, in print and without a network.

#include <string>
#include <vector>

#include "experiments/output/output.hpp"

namespace onebit::experiments::html {

/// Escapes the characters that have a meaning in HTML; control characters become spaces.
std::string text(const std::string& plain);

std::string heading(int level, const std::string& plain);
std::string paragraph(const std::string& plain);
std::string list(const std::vector<std::string>& items);
/// Returns text of fixed width with its line breaks.
std::string preformatted(const std::string& plain);
/// Returns a table that scrolls horizontally where the screen is too narrow. Empty for a table without rows.
std::string table(const Table& table);
/// Returns an <svg> element with a caption; empty where there is no picture.
std::string figure(const std::string& svg, const std::string& caption);

/// Returns the whole document.
std::string page(const std::string& title, const std::string& body);

}  // namespace onebit::experiments::html
