#include "sim/data/clicks/tables.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "device/base/error.hpp"
#include "device/base/system.hpp"
#include "device/base/text.hpp"

namespace onebit::sim {
namespace {

constexpr Index most_tables = 1024;
constexpr Index most_rows = (Index{1} << 31) - 1;
constexpr Index most_slots = 4096;

/// Numbers of different values in the columns of Criteo's Kaggle data set, as listed by many implementations of DLRM.
constexpr Index kaggle_rows[] = {1460,  583,  10131227, 2202608, 305, 24,     12517,   633,   3,
                                 93145, 5683, 8351593,  3194,    27,  14992,  5461306, 10,    5652,
                                 2173,  4,    7046547,  18,      15,  286181, 105,     142572};

Index parse_rows(std::string_view text, const std::string& all) {
  Index rows = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
  if (error != std::errc() || stop != text.data() + text.size()) {
    throw ConfigError("malformed option value", "--data.rows '" + all + "'",
                      "expected: kaggle, a number of rows, or one number for each table, separated by commas");
  }
  check_range(rows, 1, most_rows, "--data.rows");
  return rows;
}

std::vector<Index> listed_rows(const std::string& text) {
  std::vector<Index> rows;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    rows.push_back(parse_rows(rest.substr(0, comma), text));
    if (comma == std::string_view::npos) return rows;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<BagTable> bag_tables(const DataConfig& config, Index slots) {
  check_range(config.tables, 0, most_tables, "--data.tables");
  check_range(slots, 1, most_slots, "--data.bag");
  std::vector<Index> rows;
  if (config.rows == "kaggle") {
    check_range(config.max_rows, 1, most_rows, "--data.max-rows");
    for (const Index each : kaggle_rows) rows.push_back(std::min(each, config.max_rows));
  } else {
    rows = listed_rows(config.rows);
    const auto listed = static_cast<Index>(rows.size());
    check_range(listed, 1, most_tables, "numbers in --data.rows");
    if (listed > 1 && config.tables != 0 && config.tables != listed) {
      throw ConfigError(std::to_string(listed) + " numbers of rows for " + std::to_string(config.tables) + " tables",
                        "--data.rows, --data.tables", "leave out --data.tables, or give one number for all tables");
    }
  }
  const Index own = rows.size() > 1 ? static_cast<Index>(rows.size()) : click_tables;
  std::vector<BagTable> tables(static_cast<std::size_t>(config.tables == 0 ? own : config.tables));
  for (std::size_t t = 0; t < tables.size(); ++t) tables[t] = {rows[t % rows.size()], slots};
  return tables;
}

void check_range(Index value, Index least, Index most, const std::string& option) {
  if (value >= least && value <= most) return;
  throw ConfigError("option out of range: " + std::to_string(value), option,
                    "from " + std::to_string(least) + " to " + std::to_string(most));
}

void check_range(double value, double least, double most, const std::string& option) {
  if (value >= least && value <= most) return;  // NaN is refused too
  throw ConfigError("option out of range: " + shortest(value), option,
                    "from " + shortest(least) + " to " + shortest(most));
}

void check_no_files(const DataConfig& config, const std::string& name) {
  for (const auto& [option, files] : {std::pair("--data.path", &config.paths), {"--data.test", &config.test}}) {
    if (!files->empty()) throw ConfigError(name + " data read no files", option, std::string("leave out ") + option);
  }
}

void check_memory(Index bytes, const std::string& where) {
  if (bytes <= device::available_memory()) return;
  throw ConfigError("the data take " + bytes_text(static_cast<double>(bytes)) + ", more memory than is available",
                    where, "give fewer examples or smaller tables");
}

std::string describe(const std::vector<BagTable>& tables) {
  const auto [least, most] = std::ranges::minmax(tables, {}, &BagTable::rows);
  Index all = 0;
  for (const BagTable& table : tables) all += table.rows;
  std::string text = std::to_string(tables.size());
  text.append(tables.size() == 1 ? " table of " : " tables of ").append(std::to_string(least.rows));
  if (least.rows != most.rows) text.append(" to ").append(std::to_string(most.rows));
  return text.append(" rows, ").append(std::to_string(all)).append(" in all");
}

Index slots_of(const std::vector<BagTable>& tables) {
  Index slots = 0;
  for (const BagTable& table : tables) slots += table.slots;
  return slots;
}

}  // namespace onebit::sim
