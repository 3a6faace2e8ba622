#include "experiments/sweep/index.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "device/base/csv.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/sweep/files.hpp"
#include "sim/log/table_file.hpp"

namespace onebit::experiments {
namespace {

using sim::TableColumn;
using Texts = std::vector<std::string>;
using Numbers = std::vector<double>;

/// Returns the values as numbers if all of them are numbers.
std::optional<Numbers> numbers_in(const Texts& texts) {
  Numbers numbers;
  for (const std::string& text : texts) {
    double number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

/// Returns the columns that identify the points: name, arm, axes, seed.
std::vector<TableColumn> point_columns(const std::vector<Point>& points) {
  const auto texts = [&](const auto& value) {
    Texts values;
    for (const Point& point : points) values.push_back(value(point));
    return values;
  };
  std::vector<TableColumn> columns;
  columns.push_back({"name", "", "name of the point; the names of its files begin with it",
                     texts([](const Point& p) { return p.name; })});
  const Texts arms = texts([](const Point& point) { return point.arm; });
  if (arms != Texts(points.size())) columns.push_back({"arm", "", "name of the arm", arms});
  for (const std::string& key : varied_keys(points)) {
    const Texts values = texts([&](const Point& point) { return value_of(point, key); });
    const std::string doc = run_option(key).help;
    if (const auto numbers = numbers_in(values)) {
      columns.push_back({key, "1", doc, *numbers});
    } else {
      columns.push_back({key, "", doc, values});
    }
  }
  std::vector<Index> seeds;
  for (const Point& point : points) seeds.push_back(point.config.seed);
  columns.push_back({"seed", "1", "seed of initial weights and sampling", seeds});
  return columns;
}

/// Whether a point's model may have a boundary between workers.
bool may_cross(const Point& point) {
  const sim::ModelConfig& model = point.config.model;
  return model.cut > 0 || sim::model_entry(model.name).input == sim::Input::bags;
}

/// Returns the columns of the results, times last. crosses: whether there are boundaries between workers.
std::vector<TableColumn> result_columns(const std::vector<PointResult>& results, bool crosses) {
  Texts statuses;
  std::vector<Index> steps;
  for (const PointResult& result : results) {
    statuses.push_back(status_text(result.status));
    steps.push_back(result.steps);
  }
  const auto numbers = [&](double PointResult::*member) {
    Numbers values;
    for (const PointResult& result : results) values.push_back(result.*member);
    return values;
  };
  std::vector<TableColumn> columns = {
      {"status", "", "waiting, done, diverged, failed or timeout", statuses},
      {"last_step", "1", "last logged step", steps},
      {"train_loss", "1", "loss of the last logged step", numbers(&PointResult::train_loss)},
      {"eval_loss", "1", "loss of the last evaluation; NaN if the run diverged", numbers(&PointResult::eval_loss)},
      {"accuracy", "1", "accuracy of the last evaluation; NaN if the run diverged", numbers(&PointResult::accuracy)},
      {"bytes_per_worker", "byte", "bytes sent by one worker over the run", numbers(&PointResult::bytes)}};
  const auto add = [&](const char* name, const char* doc, double PointResult::*member) {
    columns.push_back({name, "1", doc, numbers(member)});
  };
  if (crosses) {
    add("auc", "AUC of the last evaluation; NaN if the run diverged", &PointResult::auc);
    add("boundary_loss", "loss of the last evaluation through the boundary's codec", &PointResult::boundary_loss);
    add("boundary_auc", "AUC of the last evaluation through the boundary's codec", &PointResult::boundary_auc);
    for (const auto& [name, member] : kBoundaryMeans) {
      add(name, "mean over the run of the column of /steps with this name", member);
    }
  }
  columns.push_back({"wall_seconds", "s", "wall time of the steps", numbers(&PointResult::wall_seconds)});
  return columns;
}

std::vector<TableColumn> all_columns(const std::vector<Point>& points, const std::vector<PointResult>& results) {
  std::vector<TableColumn> columns = point_columns(points);
  for (TableColumn& column : result_columns(results, std::ranges::any_of(points, may_cross)))
    columns.push_back(std::move(column));
  return columns;
}

std::string cell(const std::string& text) {
  return csv_text(text);
}
std::string cell(Index value) {
  return std::to_string(value);
}
std::string cell(double value) {
  if (std::isnan(value)) return "nan";
  const bool whole = std::abs(value) < 1e15 && value == std::floor(value);
  return whole ? std::to_string(std::llround(value)) : shortest(value);
}

std::string csv_of(const std::vector<TableColumn>& columns, std::size_t rows) {
  std::ostringstream text;
  for (std::size_t c = 0; c < columns.size(); ++c) text << (c > 0 ? "," : "") << columns[c].name;
  text << "\n";
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      text << (c > 0 ? "," : "")
           << std::visit([&](const auto& values) { return cell(values[row]); }, columns[c].values);
    }
    text << "\n";
  }
  return text.str();
}

}  // namespace

std::string index_csv(const std::vector<Point>& points, const std::vector<PointResult>& results) {
  return csv_of(all_columns(points, results), points.size());
}

std::vector<PointResult> results_of(const std::vector<Point>& points, Results& results) {
  std::vector<PointResult> all;
  for (const Point& point : points) all.push_back(results.of(point.name));
  return all;
}

void write_index(const std::string& folder, const std::vector<Point>& points, Results& results) {
  std::string written;
  while (true) {
    const std::vector<TableColumn> columns = all_columns(points, results_of(points, results));
    const std::string text = csv_of(columns, points.size());
    if (text == written) return;
    write_table_file(folder + "/index.h5", "onebit-sweep-index", columns);
    files::write(folder + "/index.csv", text);
    written = text;
  }
}

}  // namespace onebit::experiments
