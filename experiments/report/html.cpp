#include "experiments/report/html.hpp"

namespace onebit::experiments::html {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 64rem; margin: 0 auto; padding: 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #bbb; }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; }
p, ul { margin: .4rem 0; }
.scroll { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; vertical-align: top; }
th.text, td.text { text-align: left; }
thead th { border-bottom: 2px solid #888; }
tbody tr:nth-child(even) { background: #f6f6f6; }
figure { margin: 1rem 0; break-inside: avoid; }
figure svg { max-width: 100%; height: auto; display: block; }
figcaption { font-size: .85rem; color: #444; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f3f3f3; padding: .6rem; font-size: .8rem; }
@media print { body { max-width: none; padding: 0; font-size: 11px; } .scroll { overflow: visible; } h2, h3 { break-after: avoid; } tr { break-inside: avoid; } }
)";

std::string element(const std::string& tag, const std::string& inner) {
  return "<" + tag + ">" + inner + "</" + tag.substr(0, tag.find(' ')) + ">\n";
}

/// A row of one cell is a heading over all columns.
std::string cells(const std::vector<std::string>& row, const std::string& tag, const Table& table) {
  if (row.size() == 1) {
    return "<" + tag + " class=\"text\" colspan=\"" + std::to_string(table.rows().front().size()) + "\">" +
           text(row.front()) + "</" + tag + ">";
  }
  std::string html;
  for (std::size_t c = 0; c < row.size(); ++c) {
    html += "<" + tag + (c < table.text_columns() ? " class=\"text\">" : ">") + text(row[c]) + "</" + tag + ">";
  }
  return html;
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

std::string heading(int level, const std::string& plain) {
  return element(std::string("h").append(std::to_string(level)), text(plain));
}

std::string paragraph(const std::string& plain) {
  return element("p", text(plain));
}

std::string list(const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string inner = "\n";
  for (const std::string& item : items) inner += element("li", text(item));
  return element("ul", inner);
}

std::string preformatted(const std::string& plain) {
  return element("pre", text(plain));
}

std::string table(const Table& table) {
  if (table.empty()) return "";
  std::string body;
  for (std::size_t r = 1; r < table.rows().size(); ++r) body += element("tr", cells(table.rows()[r], "td", table));
  const std::string head = element("tr", cells(table.rows().front(), "th", table));
  return element("div class=\"scroll\"", element("table", element("thead", head) + element("tbody", body)));
}

std::string figure(const std::string& svg, const std::string& caption) {
  if (svg.empty()) return "";
  return element("figure", "\n" + svg + "\n" + element("figcaption", text(caption)));
}

std::string page(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
         element("title", text(title)) + element("style", kStyle) + "</head>\n<body>\n" + body + "</body>\n</html>\n";
}

}  // namespace onebit::experiments::html
