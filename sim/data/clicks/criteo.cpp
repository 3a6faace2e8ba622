#include "sim/data/clicks/criteo.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "sim/data/clicks/tables.hpp"
#include "sim/data/features/dense.hpp"
#include "sim/data/files/input_file.hpp"
#include "sim/data/hash.hpp"

namespace onebit::sim {
namespace {

constexpr Index file_limit = Index{1} << 36;
constexpr std::size_t longest_line = 4096;
constexpr std::size_t fields = 1 + criteo_numbers + criteo_categories;
constexpr const char* form = "a line is a label, 13 whole numbers and 26 hexadecimal categories, separated by tabs";

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Splits a line at tabs. Returns the number of its fields, of which only the first 40 are kept.
std::size_t split_fields(std::string_view line, std::array<std::string_view, fields>& out) {
  std::size_t count = 0;
  for (std::size_t first = 0;;) {
    const std::size_t tab = std::min(line.find('\t', first), line.size());
    if (count < fields) out[count] = line.substr(first, tab - first);
    ++count;
    if (tab == line.size()) return count;
    first = tab + 1;
  }
}

/// Reads the files of one split. Returns the number of their examples.
Index read_files(const std::vector<std::string>& paths, Index most, const DataConfig& config, CriteoExamples& read,
                 Fnv1a& hash, std::vector<std::string>& provenance) {
  Index all = 0;
  for (const std::string& path : paths) {
    if (most > 0 && all == most) break;
    CriteoParser parser(path, config.max_rows, most == 0 ? 0 : most - all, read);
    Index size = 0;
    InputFile(path, "give files in Criteo's format with --data.path")
        .read(config.mapping, file_limit, [&](std::span<const std::uint8_t> piece) {
          if (parser.done()) return;
          const std::size_t used = parser.feed({reinterpret_cast<const char*>(piece.data()), piece.size()});
          hash.add(piece.data(), used);
          size += static_cast<Index>(used);
        });
    const Index count = parser.finish();
    if (count == 0) throw ConfigError("no examples", path, "give files in Criteo's format with --data.path");
    all += count;
    provenance.push_back(path + (parser.done() ? ": the first " : ": ") + std::to_string(size) + " bytes unpacked, " +
                         std::to_string(count) + " examples");
  }
  return all;
}

}  // namespace

CriteoParser::CriteoParser(std::string name, Index rows, Index most, CriteoExamples& examples)
    : name_(std::move(name)), rows_(rows), most_(most), examples_(examples) {}

std::size_t CriteoParser::feed(std::string_view text) {
  std::size_t used = 0;
  while (used < text.size() && !done()) {
    const std::size_t end = text.find('\n', used);
    const std::string_view part = text.substr(used, end == text.npos ? text.npos : end - used);
    if (rest_.size() + part.size() > longest_line) refuse("more than 4096 bytes");
    used += part.size() + (end == text.npos ? 0 : 1);
    if (end == text.npos) {
      rest_ += part;
    } else if (rest_.empty()) {
      end_line(part);
    } else {
      rest_ += part;
      end_line(rest_);
      rest_.clear();
    }
  }
  return used;
}

Index CriteoParser::finish() {
  if (!done()) end_line(rest_);
  rest_.clear();
  return count_;
}

void CriteoParser::end_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.empty()) {
    std::array<std::string_view, fields> field;
    const std::size_t found = split_fields(line, field);
    if (found != fields) {
      const bool unlabelled = found == fields - 1;
      refuse(std::to_string(found) + " fields, expected 40" + (unlabelled ? "; labels may be missing" : ""));
    }
    if (field[0] != "0" && field[0] != "1") refuse("a label of 0 or 1", 1, field[0]);
    grow();
    examples_.labels.push_back(field[0] == "1" ? 1 : 0);
    for (Index i = 1; i <= criteo_numbers; ++i) {
      examples_.features.push_back(feature(field[static_cast<std::size_t>(i)], i + 1));
    }
    for (Index i = criteo_numbers + 1; i < static_cast<Index>(fields); ++i) {
      examples_.bags.push_back(row(field[static_cast<std::size_t>(i)], i + 1));
    }
    examples_.missing += std::ranges::count_if(field, [](std::string_view each) { return each.empty(); });
    ++count_;
  }
  ++line_;
}

float CriteoParser::feature(std::string_view field, Index number) const {
  if (field.empty()) return 0.0F;
  Index value = 0;
  const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || stop != field.data() + field.size()) refuse("a whole number or nothing", number, field);
  return static_cast<float>(std::log1p(static_cast<double>(std::max<Index>(value, 0))));
}

std::int32_t CriteoParser::row(std::string_view field, Index number) const {
  if (field.empty()) return 0;
  if (field.size() > 16 || !std::ranges::all_of(field, is_hex)) {
    refuse("1 to 16 hexadecimal digits or nothing", number, field);
  }
  Fnv1a hash;
  hash.add(field.data(), field.size());
  return static_cast<std::int32_t>(1 + hash.value() % static_cast<std::uint64_t>(rows_ - 1));
}

void CriteoParser::grow() {
  const auto size = static_cast<Index>(examples_.labels.size());
  if (size < static_cast<Index>(examples_.labels.capacity())) return;
  const Index larger = std::max<Index>(1024, 2 * size);
  constexpr Index example_bytes = 4 * (criteo_numbers + criteo_categories + 1);
  if (size >= dense_limit / criteo_categories) refuse("too many examples; give --data.examples or fewer files");
  check_memory(larger * example_bytes, name_ + ", line " + std::to_string(line_));
  examples_.labels.reserve(static_cast<std::size_t>(larger));
  examples_.features.reserve(static_cast<std::size_t>(larger * criteo_numbers));
  examples_.bags.reserve(static_cast<std::size_t>(larger * criteo_categories));
}

void CriteoParser::refuse(const std::string& what) const {
  throw ConfigError(what, name_ + ", line " + std::to_string(line_), form);
}

void CriteoParser::refuse(const std::string& wanted, Index number, std::string_view field) const {
  refuse("field " + std::to_string(number) + ": expected " + wanted + ", found \"" + printable(field.substr(0, 32)) +
         "\"");
}

std::unique_ptr<DataSource> make_criteo(const DataConfig& config) {
  if (config.paths.empty()) {
    throw ConfigError("no files given", "--data criteo", "give files in Criteo's format with --data.path");
  }
  check_range(config.max_rows, 2, (Index{1} << 31) - 1, "--data.max-rows");
  check_range(config.examples, 0, Index{1} << 32, "--data.examples");
  CriteoExamples read;
  DenseExamples examples;
  Fnv1a hash;
  DataFacts& facts = examples.facts;
  read_files(config.paths, config.examples, config, read, hash, facts.provenance);
  examples.test = read_files(config.test, 0, config, read, hash, facts.provenance);
  facts.name = "criteo";
  facts.features = criteo_numbers;
  facts.context = criteo_categories;
  facts.tables.assign(criteo_categories, {.rows = config.max_rows, .slots = 1});
  facts.classes = 2;
  hash.add(&config.max_rows, sizeof config.max_rows);
  facts.hash = hash.hex();
  const auto values = static_cast<double>(read.labels.size() * (fields - 1));
  facts.provenance.push_back("criteo: " + describe(facts.tables) + "; " +
                             percent_text(static_cast<double>(read.missing) / values) + " of the values missing");
  examples.features = float_rows(std::move(read.features), criteo_numbers);
  examples.bags = std::move(read.bags);
  examples.labels = std::move(read.labels);
  examples.standardise = false;
  examples.in_order = true;
  return make_dense(std::move(examples), config);
}

}  // namespace onebit::sim
