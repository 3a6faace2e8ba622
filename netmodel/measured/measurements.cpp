#include "netmodel/measured/measurements.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "netmodel/measured/nccl_tests.hpp"

namespace onebit::netmodel {
namespace {

constexpr std::size_t kMostRows = 10'000;
constexpr Index kMostRanks = 65'536;
const std::vector<std::string> kColumns = {"nodes", "gpus", "bytes", "seconds"};

/// A text file that is read line by line, with its line number for messages.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), file_(files::read_text(path, "measurements")) {}
  bool next() {
    ++number_;
    if (!std::getline(file_, text_)) return false;
    if (!text_.empty() && text_.back() == '\r') text_.pop_back();
    return true;
  }
  const std::string& text() const { return text_; }
  [[noreturn]] void refuse(const std::string& why) const {
    throw ConfigError(why, path_ + ":" + std::to_string(number_),
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

void add(std::vector<Measurement>& rows, const Measurement& row, const Lines& lines) {
  if (!(row.bytes.value > 0 && row.seconds.value > 0)) lines.refuse("bytes and seconds must be above 0");
  if (row.nodes * row.gpus_per_node > kMostRanks) lines.refuse("more than 65,536 GPUs");
  if (rows.size() == kMostRows) lines.refuse("more than 10,000 rows");
  rows.push_back(row);
}

std::vector<Measurement> read_table(Lines& lines) {
  const std::vector<std::string> header = cells_of(lines.text());
  std::vector<std::size_t> places;
  for (const std::string& column : kColumns) {
    const auto found = std::find(header.begin(), header.end(), column);
    if (found == header.end()) lines.refuse("no column " + column);
    places.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  const auto collective = std::find(header.begin(), header.end(), "collective");
  std::vector<Measurement> rows;
  while (lines.next()) {
    if (lines.text().empty() || lines.text().front() == '#') continue;
    const std::vector<std::string> cells = cells_of(lines.text());
    if (cells.size() != header.size())
      lines.refuse("the row has " + std::to_string(cells.size()) + " cells, the header has " +
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
  return rows;
}

std::vector<Measurement> read_nccl_tests(Lines& lines) {
  NcclTests tests;
  std::vector<Measurement> rows;
  try {
    do {
      if (const std::optional<Measurement> row = tests.take(lines.text())) add(rows, *row, lines);
    } while (lines.next());
    tests.finish();
  } catch (const std::invalid_argument& error) {
    lines.refuse(error.what());
  }
  return rows;
}

}  // namespace

std::vector<Measurement> read_measurements(const std::string& path) {
  Lines lines(path);
  while (lines.next()) {
    if (lines.text().empty()) continue;
    const bool command = lines.text().find("_perf") != std::string::npos;  // a command line of nccl-tests
    const bool table = !command && lines.text().find(',') != std::string::npos && lines.text().front() != '#';
    const std::vector<Measurement> rows = table ? read_table(lines) : read_nccl_tests(lines);
    if (rows.empty()) lines.refuse("the file has no rows");
    return rows;
  }
  lines.refuse("the file has no rows");
}

}  // namespace onebit::netmodel
