#include "netmodel/measured/nccl_tests.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace onebit::netmodel {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument(why);
}

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (!words.empty() && words[0].size() > 1 && words[0][0] == '#') {
    words[0].erase(0, 1);
    words.insert(words.begin(), "#");
  }
  return words;
}

std::optional<double> as_number(const std::string& text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

double number_in(const Words& row, std::size_t place) {
  if (place >= row.size()) refuse("the row has only " + std::to_string(row.size()) + " words");
  const std::optional<double> value = as_number(row[place]);
  if (!value) refuse("not a number: " + row[place].substr(0, 40));
  return *value;
}

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// Rates are printed with two decimals, times with three digits or more.
bool agree(double a, double b, double decimals) {
  return std::abs(a - b) <= 0.006 * decimals + 0.01 * std::max(std::abs(a), std::abs(b));
}

const std::map<std::string, Collective>& programs() {
  static const std::map<std::string, Collective> table = {{"all_reduce_perf", Collective::all_reduce},
                                                          {"all_gather_perf", Collective::all_gather},
                                                          {"alltoall_perf", Collective::all_to_all},
                                                          {"reduce_scatter_perf", Collective::reduce_scatter},
                                                          {"broadcast_perf", Collective::broadcast}};
  return table;
}

/// Returns the SI value of a unit such as "(us)".
double unit_in(const std::string& unit, const std::string& column) {
  static const std::map<std::string, std::map<std::string, double>> known = {
      {"size", {{"(B)", 1}, {"(KB)", 1e3}, {"(MB)", 1e6}, {"(GB)", 1e9}}},
      {"time", {{"(ns)", 1e-9}, {"(us)", 1e-6}, {"(ms)", 1e-3}, {"(s)", 1}}},
      {"algbw", {{"(GB/s)", 1e9}, {"(MB/s)", 1e6}}}};
  const std::map<std::string, double>& units = known.at(column);
  const auto found = units.find(unit);
  if (found == units.end()) refuse("unknown unit of " + column + ": " + unit.substr(0, 40));
  return found->second;
}

}  // namespace

double bus_factor(Collective collective, Index ranks) {
  const double n = static_cast<double>(ranks);
  if (collective == Collective::all_reduce) return 2 * (n - 1) / n;
  return collective == Collective::broadcast ? 1 : (n - 1) / n;
}

Bytes payload_of_size(Collective collective, Bytes size, Index ranks) {
  return collective == Collective::all_gather ? 1 / static_cast<double>(ranks) * size : size;
}

void NcclTests::begin_run() {
  if (!in_rows_) return;
  finish();
  *this = {};
}

void NcclTests::take_program(const std::string& word) {
  const std::string suffix = "_perf";
  const std::string name = word.substr(word.find_last_of('/') + 1);  // npos + 1 is 0
  if (name.size() <= suffix.size() || !name.ends_with(suffix)) return;
  begin_run();
  program_ = name;
}

/// Reads a line such as "(B) (elements) (us) (GB/s) (GB/s) ...". Only the measured columns have units, so the units
/// belong to them in order.
void NcclTests::take_units(const Words& units) {
  std::size_t next = 1;
  bool timed = false;
  for (const std::string& column : columns_) {
    static const std::set<std::string> measured = {"size", "count", "time", "cputime", "algbw", "busbw"};
    if (!measured.contains(column)) continue;
    if (next >= units.size()) refuse("fewer units than columns");
    const std::string& unit = units[next++];
    if (column == "size") bytes_ = unit_in(unit, column);
    if (column == "time" && timed) return;  // the in-place time
    if (column == "time") seconds_ = unit_in(unit, column), timed = true;
    if (column == "algbw") rate_ = unit_in(unit, column);
  }
}

/// Reads a line such as "# Collective test starting: all_gather_perf"; "#  Rank  0 Group  0 Pid  1234 on host-a device
/// 0 ...", once per GPU; "#  size count type redop root time algbw busbw #wrong ..."; "#  (B) (elements) (us) ...".
void NcclTests::take_comment(const Words& words) {
  if (std::find(words.begin(), words.end(), "concluded:") != words.end()) return;
  for (const std::string& word : words) take_program(word);
  if (words[0] != "#" || words.size() < 3) return;
  const auto on = std::find(words.begin(), words.end(), "on");
  if (words[1] == "Rank" && on != words.end() && on + 1 != words.end()) {
    begin_run();
    ++hosts_[*(on + 1)];
    ++ranks_;
  } else if (std::find(words.begin(), words.end(), "algbw") != words.end()) {
    columns_.assign(words.begin() + 1, words.end());
    std::replace(columns_.begin(), columns_.end(), std::string("bytes"),
                 std::string("size"));  // names before version 2
    std::replace(columns_.begin(), columns_.end(), std::string("N"), std::string("count"));
  } else if (words[1].front() == '(') {
    take_units(words);
  }
}

/// Finds the layout without a header line, by the first positive time that is followed by size / time.
NcclTests::Layout NcclTests::layout_by_numbers(const Words& row) const {
  for (std::size_t time = 3; time + 2 < row.size(); ++time) {
    const std::optional<double> size = as_number(row[0]), took = as_number(row[time]), rate = as_number(row[time + 1]);
    if (!size || !took || !rate || !(*took > 0)) continue;
    if (agree(*size * bytes_ / (*took * seconds_) / rate_, *rate, 1)) return {0, time, time + 1, time + 2};
  }
  refuse("no header line, and no time in the row that agrees with an algbw");
}

NcclTests::Layout NcclTests::layout_of(const Words& row) const {
  if (columns_.empty()) return layout_by_numbers(row);
  const auto place = [&](const char* column) {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    if (found == columns_.end()) refuse(std::string("the header line has no column ") + column);
    return static_cast<std::size_t>(found - columns_.begin());
  };
  return {place("size"), place("time"), place("algbw"), place("busbw")};
}

/// Returns the collective of a row. A program whose name is missing was all_reduce_perf if the row has a reduction, no
/// root, and the busbw of an all-reduce.
Collective NcclTests::collective_of(const Words& row, const Layout& layout, double algbw, double busbw) {
  const auto program = programs().find(program_);
  if (!program_.empty() && program == programs().end())
    refuse(program_ + " measures a collective that cannot be priced");
  const Collective collective = program_.empty() ? Collective::all_reduce : program->second;
  const double factor = bus_factor(collective, ranks_);
  bool fits = agree(busbw, factor * algbw, 1 + factor);
  if (program_.empty()) {
    bool reduces = false;
    for (std::size_t i = 3; i < layout.time; ++i) {  // after size, count and type: redop, root
      const std::optional<double> root = as_number(row[i]);
      if (root ? *root >= 0 : row[i] == "none") fits = false;
      reduces = reduces || !root;
    }
    fits = fits && reduces;
    told_ = told_ || !agree(busbw, 0.5 * busbw, 1 + factor);  // a reduce-scatter has half of it
  }
  if (fits) return collective;
  refuse("busbw " + text_of(busbw) + " at algbw " + text_of(algbw) + " is not that of " +
         (program_.empty() ? "all_reduce_perf" : program_) + " on " + std::to_string(ranks_) + " GPUs");
}

std::optional<Measurement> NcclTests::take(const std::string& line) {
  const Words words = words_of(line);
  if (words.empty()) return std::nullopt;
  if (!std::isdigit(static_cast<unsigned char>(words[0].front()))) {
    take_comment(words);
    return std::nullopt;
  }
  const auto nodes = static_cast<Index>(hosts_.size());
  if (nodes == 0) refuse("the ranks are not listed before this row");
  const auto differs = [&](const auto& host) { return host.second != ranks_ / nodes; };
  if (std::ranges::any_of(hosts_, differs)) refuse("the nodes have different numbers of GPUs");
  in_rows_ = true;
  const Layout layout = layout_of(words);
  const double bytes = bytes_ * number_in(words, layout.size);
  if (bytes == 0) return std::nullopt;
  const Seconds seconds(seconds_ * number_in(words, layout.time));
  const double algbw = number_in(words, layout.algbw), busbw = number_in(words, layout.busbw);
  if (!(seconds.value > 0)) refuse("time must be above 0");
  const double rate = bytes / seconds.value / rate_;
  if (!agree(rate, algbw, 1)) refuse("size / time is " + text_of(rate) + ", but algbw is " + text_of(algbw));
  const Collective collective = collective_of(words, layout, algbw, busbw);
  return Measurement{nodes, ranks_ / nodes, payload_of_size(collective, Bytes(bytes), ranks_), seconds, collective};
}

void NcclTests::finish() const {
  if (in_rows_ && program_.empty() && !told_) refuse("the output does not show which collective was measured");
}

}  // namespace onebit::netmodel
