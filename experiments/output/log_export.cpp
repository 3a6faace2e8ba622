#include "experiments/output/log_export.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "device/base/csv.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {
namespace {

using sim::LogReader;

ExportColumn number_column(const LogReader& log, const std::string& path, const std::string& name, bool whole) {
  return {.name = name, .whole = whole, .numbers = log.column(path), .texts = {}};
}

/// Returns every value repeated `times` times.
std::vector<double> repeated(const std::vector<double>& values, std::size_t times) {
  std::vector<double> result;
  result.reserve(values.size() * times);
  for (const double value : values) result.insert(result.end(), times, value);
  return result;
}

/// Returns the numeric columns of a group. If each row of the group holds a list of `width` values, each value becomes
/// a row, and a column named `index` numbers the values of a list.
ExportTable numbers_of(const LogReader& log, const std::string& group, std::size_t width, const std::string& index) {
  ExportTable table{group, {}};
  const auto rows = static_cast<std::size_t>(log.committed_rows(group));
  const auto add = [&](const std::string& path, const std::string& name, bool whole) {
    ExportColumn column = number_column(log, path, name, whole);
    if (column.numbers.size() == rows) column.numbers = repeated(column.numbers, width);
    if (column.numbers.size() == rows * width) table.columns.push_back(std::move(column));
  };
  for (const sim::Column& column : sim::log_columns()) {
    if (column.group != group || !has(log.header(), column)) continue;
    add(path_of(column), std::string(column.name), column.type == sim::ColumnType::int64);
    if (index.empty() || table.columns.size() != 1) continue;
    ExportColumn which{.name = index, .whole = true};
    for (std::size_t i = 0; i < rows * width; ++i) which.numbers.push_back(static_cast<double>(i % width));
    table.columns.push_back(std::move(which));
  }
  for (const std::string& path : log.unknown_columns()) {
    if (!path.starts_with(group + "/")) continue;
    try {
      add(path, path.substr(group.size() + 1), false);
    } catch (const IoError&) {
      // Not a column of numbers: columns_left_out names it.
    }
  }
  return table;
}

ExportTable events_of(const LogReader& log) {
  ExportColumn step{.name = "step", .whole = true}, kind{.name = "kind"}, text{.name = "text"};
  for (const sim::Event& event : log.events()) {
    step.numbers.push_back(static_cast<double>(event.step));
    kind.texts.push_back(event.kind);
    text.texts.push_back(event.text);
  }
  return {"events", {step, kind, text}};
}

ExportTable traffic_of(const LogReader& log) {
  std::vector<ExportColumn> columns;
  for (const char* name : {"step", "group_size", "messages", "payload_bytes", "tensor", "overlaps_backward"}) {
    columns.push_back({.name = name, .whole = true});
  }
  for (const char* name : {"collective", "direction", "dtype"}) columns.push_back({.name = name});
  for (const sim::StepTraffic& row : log.traffic()) {
    const netmodel::Traffic& t = row.traffic;
    const Index numbers[] = {row.step,        t.group_size, t.messages,
                             t.payload_bytes, t.tensor,     t.overlaps_backward ? 1 : 0};
    for (std::size_t i = 0; i < std::size(numbers); ++i) columns[i].numbers.push_back(static_cast<double>(numbers[i]));
    columns[6].texts.emplace_back(netmodel::name(t.collective));
    columns[7].texts.emplace_back(netmodel::name(t.direction));
    columns[8].texts.emplace_back(netmodel::name(t.type));
  }
  return {"traffic", std::move(columns)};
}

/// Returns a number as text; empty if the value does not apply.
std::string number_text(const ExportColumn& column, std::size_t row) {
  const double value = column.numbers[row];
  if (std::isnan(value)) return "";
  return column.whole ? std::to_string(static_cast<Index>(value)) : shortest(value);
}

bool is_text(const ExportColumn& column) {
  return !column.texts.empty();
}

}  // namespace

std::size_t ExportTable::rows() const {
  if (columns.empty()) return 0;
  return std::max(columns.front().numbers.size(), columns.front().texts.size());
}

std::vector<std::string> exported_groups(const LogReader& log) {
  std::vector<std::string> groups = {"steps", "evaluations", "events", "traffic"};
  if (log.header().per_worker) groups.emplace_back("workers");
  if (log.header().per_tensor) groups.emplace_back("tensors");
  if (log.header().probed) groups.emplace_back("probes");
  return groups;
}

ExportTable export_table(const LogReader& log, const std::string& group) {
  if (group == "events") return events_of(log);
  if (group == "traffic") return traffic_of(log);
  if (group == "workers") return numbers_of(log, group, static_cast<std::size_t>(log.header().workers), "worker");
  if (group == "tensors") return numbers_of(log, group, log.header().tensors.size(), "tensor");
  return numbers_of(log, group, 1, "");
}

std::vector<std::string> columns_left_out(const LogReader& log, const ExportTable& table) {
  std::vector<std::string> left_out;
  for (const std::string& path : log.unknown_columns()) {
    if (!path.starts_with(table.group + "/")) continue;
    const std::string name = path.substr(table.group.size() + 1);
    if (std::ranges::find(table.columns, name, &ExportColumn::name) == table.columns.end()) left_out.push_back(path);
  }
  return left_out;
}

void write_csv(const ExportTable& table, std::ostream& out) {
  const char* comma = "";
  for (const ExportColumn& column : table.columns) {
    out << comma << csv_text(column.name);
    comma = ",";
  }
  out << "\n";
  for (std::size_t row = 0; row < table.rows(); ++row) {
    comma = "";
    for (const ExportColumn& column : table.columns) {
      out << comma << (is_text(column) ? csv_text(column.texts[row]) : number_text(column, row));
      comma = ",";
    }
    out << "\n";
  }
}

void write_json_lines(const ExportTable& table, std::ostream& out) {
  for (std::size_t row = 0; row < table.rows(); ++row) {
    out << "{\"group\": " << Json(table.group).text();
    for (const ExportColumn& column : table.columns) {
      out << ", " << Json(column.name).text() << ": ";
      if (is_text(column)) {
        out << Json(column.texts[row]).text();
      } else {
        const std::string number = number_text(column, row);
        out << (number.empty() || !std::isfinite(column.numbers[row]) ? "null" : number);
      }
    }
    out << "}\n";
  }
}

}  // namespace onebit::experiments
