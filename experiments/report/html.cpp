#include "experiments/report/html.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "experiments/report/assets.hpp"

namespace onebit::experiments::html {
namespace {

std::string element(const std::string& tag, const std::string& inner) {
  return "<" + tag + ">" + inner + "</" + tag.substr(0, tag.find(' ')) + ">\n";
}

/// Returns the columns that have a value in any row, and all text columns.
std::vector<std::size_t> columns_of(const Table& table) {
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < table.rows().front().size(); ++c) {
    const auto has_value = [&](const std::vector<std::string>& row) {
      return row.size() > c && row.size() > 1 && row[c] != "-";
    };
    if (c < table.text_columns() || std::any_of(table.rows().begin() + 1, table.rows().end(), has_value))
      columns.push_back(c);
  }
  return columns;
}

/// Returns the text of a cell with places where a browser may break words of more than 24 characters.
std::string breakable(const std::string& plain) {
  constexpr std::size_t longest = 24, part = 16;
  std::string html;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t space = std::min(plain.find(' ', at), plain.size());
    const std::size_t end = std::min(space + 1, plain.size());
    if (space - at <= longest) {
      html += text(plain.substr(at, end - at));
      at = end;
      continue;
    }
    std::size_t cut = at + part;
    while ((static_cast<unsigned char>(plain[cut]) & 0xC0U) == 0x80) ++cut;  // not inside a UTF-8 character
    html += text(plain.substr(at, cut - at)) + "<wbr>";
    at = cut;
  }
  return html;
}

/// Returns the place after an option such as "--step.stretch" that begins at `at`; `at` itself if none does.
std::size_t end_of_option(const std::string& plain, std::size_t at) {
  const auto letter = [&](std::size_t i) {
    return i < plain.size() && std::islower(static_cast<unsigned char>(plain[i])) != 0;
  };
  const bool begins = at == 0 || std::string_view(" ('\"").find(plain[at - 1]) != std::string_view::npos;
  if (!begins || plain.compare(at, 2, "--") != 0 || !letter(at + 2)) return at;
  std::size_t end = at + 2;
  for (std::size_t i = end; letter(i) || (i < plain.size() && (plain[i] == '.' || plain[i] == '-')); ++i)
    if (letter(i)) end = i + 1;  // a full stop after an option is not a part of it
  return end;
}

/// Returns the text of a sentence in which no line breaks after the dashes of an option.
std::string prose(const std::string& plain) {
  std::string html;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t option = std::min(plain.find("--", at), plain.size());
    const std::size_t end = end_of_option(plain, option);
    html += text(plain.substr(at, option - at));
    if (end > option) {
      html += "<span class=\"option\">" + text(plain.substr(option, end - option)) + "</span>";
    } else {
      html += text(plain.substr(option, 1));
    }
    at = std::max(end, option + 1);
  }
  return html;
}

/// A row of one cell is a heading over all columns. labelled: whether cells name their columns.
std::string cells(const Table& table, std::size_t r, const std::vector<std::size_t>& columns, bool labelled) {
  const std::vector<std::string>&row = table.rows()[r], &header = table.rows().front();
  const std::string tag = r == 0 ? "th" : "td";
  if (row.size() == 1) {
    return "<" + tag + " class=\"text\" colspan=\"" + std::to_string(columns.size()) + "\"><span class=\"over\">" +
           text(row.front()) + "</span></" + tag + ">";
  }
  std::string html;
  for (const std::size_t c : columns) {
    const std::string style = c < table.text_columns() ? " class=\"text\"" : "";
    const std::string label = labelled && r > 0 ? " data-label=\"" + text(header[c]) + "\"" : "";
    const std::string value = c < row.size() ? row[c] : "";
    html += "<" + tag + style + label + ">" + (labelled && !style.empty() ? breakable(value) : text(value)) + "</" +
            tag + ">";
  }
  return html;
}

std::string table_element(const Table& table, const std::string& tag, bool labelled) {
  if (table.empty()) return "";
  const std::vector<std::size_t> columns = columns_of(table);
  const auto row = [&](std::size_t r) {
    const bool group = r > 0 && table.rows()[r].size() == 1;
    return element(group ? "tr class=\"group\"" : "tr", cells(table, r, columns, labelled));
  };
  std::string body;
  for (std::size_t r = 1; r < table.rows().size(); ++r) body += row(r);
  return element("div class=\"scroll\"", element(tag, element("thead", row(0)) + element("tbody", body)));
}

}  // namespace

std::string text(const std::string& plain) {
  std::string escaped;
  for (const char c : printable(plain, "\n")) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string counted(Index count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string heading(int level, const std::string& plain) {
  return element(std::string("h").append(std::to_string(level)), text(plain));
}

std::string paragraph(const std::string& plain, const std::string& style) {
  if (plain.empty()) return "";
  return element(style.empty() ? "p" : "p class=\"" + style + "\"", prose(plain));
}

std::string facts(const std::vector<std::string>& parts) {
  std::vector<std::string> spans;
  for (const std::string& part : parts) spans.push_back(element("span", text(part)));
  return element("p class=\"facts parts\"", join(spans, " · "));
}

std::string list(const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string inner = "\n";
  for (const std::string& item : items) inner += element("li", prose(item));
  return element("ul", inner);
}

std::string command(const std::string& plain) {
  std::string parts;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t next = std::min(plain.find(" -", at), plain.size());
    parts += "<span>" + text(plain.substr(at, next - at)) + "</span>" + (next < plain.size() ? " " : "");
    at = next + 1;
  }
  return element("pre", parts);
}

std::string table(const Table& table) {
  return table_element(table, "table", false);
}

std::string blocks(const Table& table) {
  return table_element(table, "table class=\"blocks\"", true);
}

std::string figure(const std::string& svg, const std::string& caption, const std::string& style) {
  if (svg.empty()) return "";
  return element(style.empty() ? "figure" : "figure class=\"" + style + "\"",
                 "\n" + svg + "\n" + element("figcaption", prose(caption)));
}

std::string identifier_of(const std::string& plain) {
  std::string name;
  for (const char c : plain) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '.') {
      name += static_cast<char>(std::tolower(byte));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  return name;
}

std::string division(const std::string& id, const std::string& body) {
  return element("div id=\"" + id + "\"", "\n" + body);
}

std::string details(const std::string& summary, const std::string& remark, const std::string& body) {
  if (body.empty()) return "";
  const std::string small = remark.empty() ? "" : "<small>" + text(remark) + "</small>";
  return element("details id=\"" + identifier_of(summary) + "\"",
                 "\n<summary>" + text(summary) + small + "</summary>\n" + body);
}

std::string page(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
         element("title", text(title)) + element("style", std::string("\n").append(assets::style)) +
         "</head>\n<body>\n" + body + "</body>\n</html>\n";
}

}  // namespace onebit::experiments::html
