#include "netmodel/measured/measurements.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "netmodel/measured/log_line.hpp"
#include "netmodel/measured/nccl_tests.hpp"

namespace onebit::netmodel {
namespace {

constexpr std::size_t kMostRows = 10'000;
constexpr Index kMostRanks = 65'536;
const std::vector<std::string> kColumns = {"nodes", "gpus", "bytes", "seconds"};

/// A text file that is read line by line, without launcher prefixes. Counts the lines for messages.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), file_(files::read_text(path, "measurements")) {}
  bool next() {
    ++number_;
    if (!std::getline(file_, text_)) return false;
    text_ = program_line(text_);
    return true;
  }
  const std::string& text() const { return text_; }
  std::string where() const { return path_ + ":" + std::to_string(number_); }
  [[noreturn]] void refuse(const std::string& why) const {
    throw ConfigError(why, where(),
                      "give a CSV file with the columns nodes, gpus, bytes and seconds, or the output of nccl-tests");
  }

 private:
  std::string path_, text_;
  std::istringstream file_;
  Index number_ = 0;
};

std::vector<std::string> cells_of(std::string text) {
  std::replace(text.begin(), text.end(), ' ', '\t');
  text.erase(std::remove(text.begin(), text.end(), '\t'), text.end());
  std::vector<std::string> cells(1);
  for (const char c : text) {
    if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

double number_in(const std::string& text, const Lines& lines) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    lines.refuse("not a number: " + text.substr(0, 40));
  }
  return value;
}

Index count_in(const std::string& text, const Lines& lines) {
  const double value = number_in(text, lines);
  if (!(value >= 1 && value <= 1 << 20) || value != std::floor(value))
    lines.refuse("not a whole number from 1 to 1,048,576: " + text.substr(0, 40));
  return static_cast<Index>(value);
}

Collective collective_in(const std::string& text, const Lines& lines) {
  for (auto i = static_cast<int>(Collective::all_reduce); i <= static_cast<int>(Collective::neighbour); ++i) {
    if (name(static_cast<Collective>(i)) == text) return static_cast<Collective>(i);
  }
  lines.refuse("unknown collective: " + text.substr(0, 40));
}

void add(std::vector<Measurement>& rows, Measurement row, const Lines& lines) {
  if (!(row.bytes.value > 0 && row.seconds.value > 0)) lines.refuse("bytes and seconds must be above 0");
  if (row.nodes * row.gpus_per_node > kMostRanks) lines.refuse("more than 65,536 GPUs");
  if (rows.size() == kMostRows) lines.refuse("more than 10,000 rows");
  row.where = lines.where();
  rows.push_back(std::move(row));
}

/// Whether a line is the header of a table. Warnings of launchers, which may come first in a log, have commas too.
bool is_header(const std::string& line) {
  const std::vector<std::string> cells = cells_of(line);
  const auto is_column = [&](const std::string& cell) { return std::ranges::count(kColumns, cell) > 0; };
  return cells.size() > 1 && std::ranges::any_of(cells, is_column);
}

void read_table(Lines& lines, std::vector<Measurement>& rows) {
  const std::vector<std::string> header = cells_of(lines.text());
  std::vector<std::size_t> places;
  for (const std::string& column : kColumns) {
    const auto found = std::find(header.begin(), header.end(), column);
    if (found == header.end()) lines.refuse("no column " + column);
    places.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  const auto collective = std::find(header.begin(), header.end(), "collective");
  while (lines.next()) {
    if (lines.text().empty() || lines.text().front() == '#') continue;
    const std::vector<std::string> cells = cells_of(lines.text());
    if (cells.size() != header.size())
      lines.refuse("the row has " + std::to_string(cells.size()) + " cells, but the header has " +
                   std::to_string(header.size()));
    Measurement row;
    row.nodes = count_in(cells[places[0]], lines);
    row.gpus_per_node = count_in(cells[places[1]], lines);
    row.bytes = Bytes(number_in(cells[places[2]], lines));
    row.seconds = Seconds(number_in(cells[places[3]], lines));
    if (collective != header.end()) {
      row.collective = collective_in(cells[static_cast<std::size_t>(collective - header.begin())], lines);
    }
    add(rows, row, lines);
  }
}

void read_nccl_tests(Lines& lines, std::vector<Measurement>& rows) {
  NcclTests tests;
  try {
    do {
      if (const std::optional<Measurement> row = tests.take(lines.text())) add(rows, *row, lines);
    } while (lines.next());
    tests.finish();
  } catch (const std::invalid_argument& error) {
    lines.refuse(error.what());
  }
}

void append(const std::string& path, std::vector<Measurement>& rows) {
  Lines lines(path);
  const std::size_t before = rows.size();
  while (lines.next() && lines.text().empty()) continue;
  if (is_header(lines.text())) {
    read_table(lines, rows);
  } else {
    read_nccl_tests(lines, rows);
  }
  if (rows.size() == before) lines.refuse("the file has no rows");
}

}  // namespace

std::vector<Measurement> read_measurements(const std::string& path) {
  return read_measurements(std::vector<std::string>{path});
}

std::vector<Measurement> read_measurements(const std::vector<std::string>& paths) {
  std::vector<Measurement> rows;
  for (const std::string& path : paths) append(path, rows);
  return rows;
}

}  // namespace onebit::netmodel
