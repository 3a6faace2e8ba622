#include "experiments/sweep/output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>

#include "device/base/text.hpp"

namespace onebit::experiments {
namespace {

bool has_arms(const std::vector<Point>& points) {
  return std::any_of(points.begin(), points.end(), [](const Point& point) { return !point.arm.empty(); });
}

/// Returns the column headings of the settings that distinguish points.
std::vector<std::string> point_head(const std::vector<Point>& points) {
  std::vector<std::string> head;
  if (has_arms(points)) head.emplace_back("arm");
  for (const std::string& key : varied_keys(points)) head.push_back(key);
  head.emplace_back("seed");
  return head;
}

std::vector<std::string> point_cells(const Point& point, const std::vector<std::string>& head) {
  std::vector<std::string> cells;
  for (std::size_t c = 0; c + 1 < head.size(); ++c) {
    cells.push_back(c == 0 && head[c] == "arm" ? point.arm : value_of(point, head[c]));
  }
  cells.push_back(std::to_string(point.config.seed));
  return cells;
}

std::vector<std::string> with(std::vector<std::string> cells, const std::vector<std::string>& more) {
  cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

}  // namespace

std::vector<Grid> grids_of(const std::vector<TunedArm>& arms, const LossOfPoint& loss) {
  std::vector<Grid> grids;
  for (const TunedArm& arm : arms) {
    Grid grid{.label = arm.label, .key = arm.tuning.key, .rows = {}};
    for (const TunedArm::Trial& trial : arm.trials) {
      Grid::Row row{trial.value, 0, 0, static_cast<Index>(trial.names.size())};
      for (const std::string& name : trial.names) {
        const std::optional<double> one = loss(name);
        row.ended += one ? 1 : 0;
        const bool known = one && std::isfinite(*one);
        row.loss += known ? *one / static_cast<double>(row.seeds) : std::numeric_limits<double>::infinity();
      }
      grid.rows.push_back(row);
    }
    const auto number_of = [](const Grid::Row& row) { return std::strtod(row.value.c_str(), nullptr); };
    std::stable_sort(grid.rows.begin(), grid.rows.end(),
                     [&](const Grid::Row& a, const Grid::Row& b) { return number_of(a) < number_of(b); });
    const auto best = std::min_element(grid.rows.begin(), grid.rows.end(),
                                       [](const Grid::Row& a, const Grid::Row& b) { return a.loss < b.loss; });
    grid.best = static_cast<std::size_t>(best - grid.rows.begin());
    grid.found = std::isfinite(best->loss);
    grid.at_edge = grid.found && (grid.best == 0 || grid.best + 1 == grid.rows.size());
    grid.complete =
        static_cast<Index>(grid.rows.size()) == arm.tuning.evaluations &&
        std::all_of(grid.rows.begin(), grid.rows.end(), [](const auto& row) { return row.ended == row.seeds; });
    grids.push_back(std::move(grid));
  }
  return grids;
}

Json to_json(const std::vector<Point>& points, const std::vector<PointResult>& results) {
  std::vector<Json> rows;
  const std::vector<std::string> head = point_head(points);
  for (std::size_t p = 0; p < points.size(); ++p) {
    const std::vector<std::string> cells = point_cells(points[p], head);
    std::vector<std::pair<std::string, Json>> members = {{"name", points[p].name}};
    for (std::size_t c = 0; c + 1 < cells.size(); ++c) members.emplace_back(head[c], cells[c]);
    const PointResult& result = results[p];
    members.emplace_back("seed", static_cast<long>(points[p].config.seed));
    members.emplace_back("status", status_text(result.status));
    members.emplace_back("steps", result.steps);
    members.emplace_back("train_loss", result.train_loss);
    members.emplace_back("eval_loss", result.eval_loss);
    members.emplace_back("accuracy", result.accuracy);
    members.emplace_back("bytes_per_worker", result.bytes);
    members.emplace_back("wall_seconds", result.wall_seconds);
    members.emplace_back("reason", result.reason);
    rows.push_back(Json::object(members));
  }
  return Json::array(rows);
}

Json to_json(const std::vector<Grid>& grids) {
  std::vector<Json> arms;
  for (const Grid& grid : grids) {
    std::vector<Json> rows;
    for (const Grid::Row& row : grid.rows) {
      rows.push_back(
          Json::object({{"value", row.value}, {"mean_loss", row.loss}, {"ended", row.ended}, {"seeds", row.seeds}}));
    }
    arms.push_back(Json::object({{"arm", grid.label},
                                 {"key", grid.key},
                                 {"grid", Json::array(rows)},
                                 {"best", grid.found ? grid.rows[grid.best].value : ""},
                                 {"at_edge", Json::boolean(grid.at_edge)},
                                 {"complete", Json::boolean(grid.complete)}}));
  }
  return Json::array(arms);
}

void print_plan(const std::vector<Point>& points, const std::vector<PointResult>& results,
                const std::map<std::string, PointPlan>& plans, std::ostream& out) {
  const std::vector<std::string> head = point_head(points);
  Table table(with(head, {"status", "memory", "point"}));
  for (std::size_t p = 0; p < points.size(); ++p) {
    const auto plan = plans.find(points[p].name);
    const bool fits = plan != plans.end() && plan->second.unfit.empty();
    const std::string refusal = plan == plans.end() ? "-" : "does not fit";
    table.add(with(point_cells(points[p], head),
                   {status_text(results[p].status),
                    fits ? bytes_text(static_cast<double>(plan->second.bytes)) : refusal, points[p].name}));
  }
  table.print(out);
  out << points.size() << " points\n";
}

Json plan_json(const std::vector<Point>& points, const std::map<std::string, PointPlan>& plans) {
  std::vector<Json> rows;
  for (const Point& point : points) {
    const auto plan = plans.find(point.name);
    const bool fits = plan != plans.end() && plan->second.unfit.empty();
    rows.push_back(Json::object({{"name", point.name},
                                 {"label", label_of(point)},
                                 {"memory", fits ? Json(plan->second.bytes) : Json(std::nan(""))}}));
  }
  return Json::object({{"points", Json::array(rows)}});
}

}  // namespace onebit::experiments
