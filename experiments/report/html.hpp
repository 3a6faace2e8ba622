#pragma once
// A page of HTML in one file: text, tables, figures. Readable on a small screen, in print and without a network.

#include <string>
#include <vector>

#include "experiments/output/output.hpp"

namespace onebit::experiments::html {

/// With the characters that have a meaning in HTML escaped; control characters become spaces.
std::string text(const std::string& plain);

std::string heading(int level, const std::string& plain);
std::string paragraph(const std::string& plain);
std::string list(const std::vector<std::string>& items);
/// Of fixed width, line breaks kept.
std::string preformatted(const std::string& plain);
/// It scrolls by itself where the screen is too narrow. Empty for a table without rows.
std::string table(const Table& table);
/// An <svg> element with a caption; empty where there is none.
std::string figure(const std::string& svg, const std::string& caption);

/// The whole document.
std::string page(const std::string& title, const std::string& body);

}  // namespace onebit::experiments::html
