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

/// Returns the relative error that a number has because it was rounded for printing.
double rounding(const std::string& text, double value) {
  const std::size_t exponent = std::min(text.find('e'), text.size()), point = std::min(text.find('.'), exponent);
  const auto decimals = static_cast<int>(exponent - std::min(point + 1, exponent));
  const double scale = exponent < text.size() ? as_number(std::string("1").append(text, exponent)).value_or(1) : 1;
  return 0.5 * scale * std::pow(10, -decimals) / value;
}

/// Whether two rates agree. Rates are printed with two decimals; `rounded` is a further relative error that one of them
/// may have.
bool agree(double a, double b, double decimals, double rounded = 0) {
  return std::abs(a - b) <= 0.006 * decimals + (0.01 + rounded) * std::max(std::abs(a), std::abs(b));
}

const std::map<std::string, Collective>& programs() {
  static const std::map<std::string, Collective> table = {{"all_reduce_perf", Collective::all_reduce},
                                                          {"all_gather_perf", Collective::all_gather},
                                                          {"alltoall_perf", Collective::all_to_all},
                                                          {"reduce_scatter_perf", Collective::reduce_scatter},
                                                          {"broadcast_perf", Collective::broadcast}};
  return table;
}

/// Whether a line is NCCL's own, such as "host-a:21:27 [0] NCCL INFO ...", which may contain anything.
bool is_message(const Words& words) {
  static const std::set<std::string> levels = {"INFO", "WARN", "TRACE", "CALL"};
  const auto name = std::find(words.begin(), words.end(), "NCCL");
  return name != words.end() && name + 1 != words.end() && levels.contains(*(name + 1));
}

/// Whether a line is a row of the table: a size, then another number. Lines with hosts, dates and remarks may begin
/// with digits too.
bool is_row(const Words& words) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  return words.size() > 1 && std::ranges::all_of(words[0], is_digit) && as_number(words[1]);
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

/// Forgets the ranks of a run that failed before its first row.
void NcclTests::begin_list() {
  begin_run();
  std::string program = std::move(program_);
  *this = {};
  program_ = std::move(program);
}

/// Reads a name such as ./build/all_reduce_perf or all_reduce_perf_mpi.
void NcclTests::take_program(const std::string& word) {
  const std::string name = word.substr(word.find_last_of('/') + 1);  // npos + 1 is 0
  const std::size_t place = name.find("_perf");
  if (place == 0 || place == std::string::npos) return;
  const std::string program = name.substr(0, place + 5), suffix = name.substr(program.size());
  const auto in_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (!suffix.empty() && (suffix[0] != '_' || !std::ranges::all_of(suffix, in_name))) return;
  begin_run();
  program_ = program;
}

/// Reads a line such as "#  Rank  0 Group  0 Pid  1234 on host-a device  0 ...". A log may repeat it.
void NcclTests::take_rank(const Words& words) {
  const auto on = std::find(words.begin(), words.end(), "on");
  if (on == words.end() || on + 1 == words.end() || !as_number(words[2])) return;
  std::string line;
  for (const std::string& word : words) line += word + " ";
  const auto known = listed_.find(words[2]);
  if (known != listed_.end() && known->second == line) return;
  begin_run();
  if (!listed_.emplace(words[2], line).second)
    refuse("rank " + words[2].substr(0, 20) + " is listed for two processes; build nccl-tests with MPI=1, without " +
           "which each process measures alone");
  const std::string group = words[3] == "Group" ? words[4] : "";
  if (ranks_ > 0 && group != group_)
    refuse("the ranks form several groups, which share the network; measure without NCCL_TESTS_SPLIT");
  group_ = group;
  ++hosts_[*(on + 1)];
  ++ranks_;
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

/// Reads a line such as "# Collective test starting: all_gather_perf"; "# nThread 1 nGpus 1 ...", before the list of
/// ranks; "#  size count type redop root time algbw busbw #wrong ..."; "#  (B) (elements) (us) ...".
void NcclTests::take_comment(const Words& words) {
  if (is_message(words) || std::ranges::count(words, "concluded:") > 0) return;
  for (const std::string& word : words) take_program(word);
  if (words[0] != "#" || words.size() < 3) return;
  if (words[1].starts_with("nThread")) {
    begin_list();
  } else if (words[1] == "Rank" && words.size() > 4) {
    take_rank(words);
  } else if (std::ranges::count(words, "algbw") > 0) {
    columns_.assign(words.begin() + 1, words.end());
    // Column names before version 2.
    std::replace(columns_.begin(), columns_.end(), std::string("bytes"), std::string("size"));
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
    const double expected = *size * bytes_ / (*took * seconds_) / rate_;
    if (agree(expected, *rate, 1, rounding(row[time], *took))) return {0, time, time + 1, time + 2};
  }
  refuse("there is no header line, and no time in the row agrees with an algbw");
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

/// Returns the collective of a row. If the name of the program is missing, the program was all_reduce_perf, provided
/// that the row has a reduction, no root, and the busbw of an all-reduce.
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
    told_ = told_ || !agree(busbw, 0.5 * busbw, 1 + factor);  // that of a reduce-scatter is half as high
  }
  if (fits) return collective;
  refuse("busbw " + text_of(busbw) + " at algbw " + text_of(algbw) + " does not match " +
         (program_.empty() ? "all_reduce_perf" : program_) + " on " + std::to_string(ranks_) + " GPUs");
}

std::optional<Measurement> NcclTests::take(const std::string& line) {
  const Words words = words_of(line);
  if (words.empty()) return std::nullopt;
  if (!is_row(words)) {
    take_comment(words);
    return std::nullopt;
  }
  const auto nodes = static_cast<Index>(hosts_.size());
  if (nodes == 0) refuse("the ranks are not listed before this row");
  const auto differs = [&](const auto& host) { return host.second != ranks_ / nodes; };
  if (std::ranges::any_of(hosts_, differs)) refuse("the nodes have different numbers of GPUs");
  in_rows_ = true;
  if (as_number(words[0]) == 0.0) return std::nullopt;  // its other values may be anything
  const Layout layout = layout_of(words);
  const double bytes = bytes_ * number_in(words, layout.size);
  const double time = number_in(words, layout.time);
  const double algbw = number_in(words, layout.algbw), busbw = number_in(words, layout.busbw);
  if (!(time > 0)) refuse("time must be above 0");
  const double rounded = rounding(words[layout.time], time), rate = bytes / (time * seconds_) / rate_;
  if (!agree(rate, algbw, 1, rounded)) refuse("size / time is " + text_of(rate) + ", but algbw is " + text_of(algbw));
  // A time of ten seconds or more is printed with two digits only. The rate may have more.
  const bool rate_is_finer = rounded > 0.01 && algbw > 0 && rounding(words[layout.algbw], algbw) < rounded;
  const Seconds seconds(rate_is_finer ? bytes / (algbw * rate_) : time * seconds_);
  const Collective collective = collective_of(words, layout, algbw, busbw);
  return Measurement{nodes, ranks_ / nodes, payload_of_size(collective, Bytes(bytes), ranks_), seconds, collective};
}

void NcclTests::finish() const {
  if (in_rows_ && program_.empty() && !told_) refuse("the output does not show which collective was measured");
}

}  // namespace onebit::netmodel
