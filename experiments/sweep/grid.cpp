#include "experiments/sweep/grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/compare/arm_names.hpp"
#include "device/base/text.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kRate = "optimizer.lr";

/// Returns the options that have several values, in order of appearance.
std::vector<std::string> keys_of(const std::vector<Point>& points) {
  std::vector<std::string> keys = varied_keys(points);
  std::erase_if(keys, [&](const std::string& key) {
    return std::ranges::all_of(points, [&](const Point& p) { return value_of(p, key) == value_of(points[0], key); });
  });
  return keys;
}

/// Returns the option that varies within an arm; empty if there is none, or if only the optimizer varies, because then
/// each optimizer is an arm.
std::string key_of(const std::vector<std::string>& keys, const std::string& tuned) {
  for (const std::string& key : {tuned, std::string(kRate)}) {
    if (std::ranges::find(keys, key) != keys.end()) return key;
  }
  return keys.empty() || keys == std::vector<std::string>{"optimizer"} ? "" : keys.back();
}

/// Returns the point's arm in words: its name, then the options in `keys`.
std::string label_in(const Point& point, const std::vector<std::string>& keys) {
  std::vector<std::string> words;
  if (!point.arm.empty()) words.push_back(point.arm);
  for (const std::string& key : keys) {
    const bool alone = key == "optimizer" || (keys.size() == 1 && point.arm.empty());
    words.push_back(alone ? value_of(point, key) : key + " " + value_of(point, key));
  }
  return join(words, ", ");
}

/// Returns the element with this text, and appends it if there is none.
template <class Items, class Member>
auto& place_in(Items& items, Member member, const std::string& text) {
  auto found = std::ranges::find(items, text, member);
  if (found == items.end()) {
    items.emplace_back();
    found = items.end() - 1;
    (*found).*member = text;
  }
  return *found;
}

void count(const PointResult& result, GridCell& cell) {
  ++cell.seeds;
  switch (result.status) {
    case PointStatus::done:
      ++cell.done;
      break;
    case PointStatus::diverged:
      ++cell.diverged;
      break;
    case PointStatus::waiting:
      ++cell.waiting;
      break;
    case PointStatus::failed:
    case PointStatus::timeout:
      ++cell.failed;
  }
}

/// Returns the index of the lowest loss; none if no loss is finite.
template <class Items, class Loss>
std::optional<std::size_t> lowest(const Items& items, const Loss& loss) {
  const auto best = std::ranges::min_element(items, {}, loss);
  if (best == items.end() || std::isinf(loss(*best))) return std::nullopt;
  return static_cast<std::size_t>(best - items.begin());
}

void find_best(SweepGrid& grid) {
  constexpr double none = std::numeric_limits<double>::infinity();
  for (GridArm& arm : grid.rows) {
    arm.best = lowest(arm.cells, [](const GridCell& cell) { return cell.whole() ? cell.loss.mean : none; });
  }
  grid.best = lowest(grid.rows, [](const GridArm& arm) { return arm.best ? arm.cells[*arm.best].loss.mean : none; });
}

/// Fills the arms and their cells, in the order of the points. others: the options that distinguish arms.
void fill(SweepGrid& grid, const std::vector<std::string>& others, const std::vector<Point>& points,
          const std::vector<PointResult>& results) {
  for (std::size_t p = 0; p < points.size(); ++p) {
    const std::string label = label_in(points[p], others);
    const std::string value = grid.key.empty() ? "" : value_of(points[p], grid.key);
    GridArm& arm = place_in(grid.rows, &GridArm::label, label);
    arm.optimizer = points[p].config.optimizer.name;
    GridCell& cell = place_in(arm.cells, &GridCell::value, value);
    count(results[p], cell);
    if (results[p].status == PointStatus::done) cell.losses[points[p].config.seed] = results[p].loss();
  }
  for (GridArm& arm : grid.rows) {
    for (GridCell& cell : arm.cells) {
      std::vector<double> losses;
      for (const auto& [seed, loss] : cell.losses) losses.push_back(loss);
      cell.loss = analysis::mean_interval(losses);
    }
  }
}

}  // namespace

bool GridCell::whole() const {
  return seeds > 0 && done == seeds && std::isfinite(loss.mean);
}

bool GridArm::ended() const {
  return std::ranges::none_of(cells, [](const GridCell& cell) { return cell.waiting > 0; });
}

bool GridArm::best_at_edge() const {
  return best && cells.size() > 1 && (*best == 0 || *best + 1 == cells.size());
}

std::vector<std::string> SweepGrid::values() const {
  std::vector<std::string> values;
  for (const GridArm& row : rows) {
    for (const GridCell& cell : row.cells) {
      if (std::ranges::find(values, cell.value) == values.end()) values.push_back(cell.value);
    }
  }
  if (numeric) std::ranges::sort(values, {}, analysis::number_in);
  return values;
}

SweepGrid grid_of(const std::vector<Point>& points, const std::vector<PointResult>& results, const std::string& tuned) {
  std::vector<std::string> others = keys_of(points);
  SweepGrid grid{.arms = "arm", .key = key_of(others, tuned), .numeric = false, .rows = {}, .best = {}};
  std::erase(others, grid.key);
  const bool has_arms = std::ranges::any_of(points, [](const Point& point) { return !point.arm.empty(); });
  if (!has_arms && others.size() == 1) grid.arms = others.front();
  fill(grid, others, points, results);
  grid.numeric = !grid.key.empty() && std::ranges::all_of(grid.values(), [](const std::string& value) {
    return !std::isnan(analysis::number_in(value));
  });
  for (GridArm& arm : grid.rows) {
    if (grid.numeric)
      std::ranges::stable_sort(arm.cells, {}, [](const GridCell& cell) { return analysis::number_in(cell.value); });
  }
  find_best(grid);
  return grid;
}

}  // namespace onebit::experiments
