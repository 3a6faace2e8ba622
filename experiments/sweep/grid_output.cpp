#include "experiments/sweep/grid_output.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/compare/verdict.hpp"
#include "device/base/text.hpp"
#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/output/screen.hpp"
#include "optim/parent.hpp"

namespace onebit::experiments {
namespace {

constexpr int kDigits = 4;

const GridCell* cell_at(const GridArm& arm, const std::string& value) {
  const auto found = std::ranges::find(arm.cells, value, &GridCell::value);
  return found == arm.cells.end() ? nullptr : &*found;
}

bool is_best(const GridArm& arm, const GridCell& cell) {
  return arm.best && &arm.cells[*arm.best] == &cell;
}

/// Returns "diverged", or "diverged 1/3" if not all runs did.
std::string state_text(const std::string& state, Index runs, Index seeds) {
  return runs == seeds ? state : state + " " + std::to_string(runs) + "/" + std::to_string(seeds);
}

std::string cell_text(const GridCell& cell) {
  if (cell.diverged > 0) return state_text("diverged", cell.diverged, cell.seeds);
  if (cell.failed > 0) return state_text("failed", cell.failed, cell.seeds);
  if (cell.waiting > 0) return state_text("not run", cell.waiting, cell.seeds);
  return interval_text(cell.loss, kDigits);
}

/// Returns the text of a cell with a place for the mark; "-" if the sweep has no such run.
std::string marked_text(const GridArm& arm, const std::string& value) {
  const GridCell* cell = cell_at(arm, value);
  return (cell == nullptr ? "-" : cell_text(*cell)) + (cell != nullptr && is_best(arm, *cell) ? " *" : "  ");
}

Table by_arm(const SweepGrid& grid) {
  std::vector<std::string> header = {grid.arms + " / " + grid.key};
  for (const std::string& value : grid.values()) header.push_back(value + "  ");
  Table table(header);
  for (std::size_t a = 0; a < grid.rows.size(); ++a) {
    std::vector<std::string> row = {grid.rows[a].label};
    for (const std::string& value : grid.values()) row.push_back(marked_text(grid.rows[a], value));
    table.add(row);
    if (grid.best == a) table.mark_best();
  }
  return table;
}

Table by_value(const SweepGrid& grid) {
  std::vector<std::string> header = {grid.key};
  for (const GridArm& arm : grid.rows) header.push_back(arm.label + "  ");
  Table table(header);
  for (const std::string& value : grid.values()) {
    std::vector<std::string> row = {value};
    for (const GridArm& arm : grid.rows) row.push_back(marked_text(arm, value));
    table.add(row);
    const GridCell* cell = grid.best ? cell_at(grid.rows[*grid.best], value) : nullptr;
    if (cell != nullptr && is_best(grid.rows[*grid.best], *cell)) table.mark_best();
  }
  return table;
}

/// Returns one row per cell.
Table as_list(const SweepGrid& grid) {
  const bool arms = grid.rows.size() > 1 || !grid.rows.front().label.empty();
  const auto cells = [&](const std::string& arm, const std::string& value, const std::vector<std::string>& rest) {
    std::vector<std::string> row;
    if (arms) row.push_back(arm);
    if (!grid.key.empty()) row.push_back(value);
    row.insert(row.end(), rest.begin(), rest.end());
    return row;
  };
  Table table(cells(grid.arms, grid.key, {"final loss", "done", ""}), arms ? 1 : 0);
  for (std::size_t a = 0; a < grid.rows.size(); ++a) {
    const GridArm& arm = grid.rows[a];
    for (const GridCell& cell : arm.cells) {
      const std::string done = std::to_string(cell.done) + "/" + std::to_string(cell.seeds);
      table.add(cells(arm.label, cell.value, {cell_text(cell), done, is_best(arm, cell) ? "*" : ""}));
      if (grid.best == a && is_best(arm, cell)) table.mark_best();
    }
  }
  return table;
}

/// Whether at least three quarters of the table with all arms and values would be filled.
bool is_dense(const SweepGrid& grid) {
  std::size_t cells = 0;
  for (const GridArm& arm : grid.rows) cells += arm.cells.size();
  return 4 * cells >= 3 * grid.rows.size() * grid.values().size();
}

Table table_of(const SweepGrid& grid, Index columns) {
  const bool crossed = grid.rows.size() > 1 && grid.values().size() > 1 && is_dense(grid);
  const auto fits = [&](const Table& table) { return columns == 0 || static_cast<Index>(table.width()) <= columns; };
  if (crossed && fits(by_arm(grid))) return by_arm(grid);
  return crossed && fits(by_value(grid)) ? by_value(grid) : as_list(grid);
}

Index most_seeds(const SweepGrid& grid) {
  Index seeds = 0;
  for (const GridArm& arm : grid.rows) {
    for (const GridCell& cell : arm.cells) seeds = std::max(seeds, cell.seeds);
  }
  return seeds;
}

/// Returns the arm with the second lowest loss.
const GridArm* next_arm(const SweepGrid& grid) {
  const GridArm* next = nullptr;
  const auto loss = [](const GridArm& arm) { return arm.cells[*arm.best].loss.mean; };
  for (const GridArm& arm : grid.rows) {
    if (!arm.best || &arm == &grid.rows[*grid.best]) continue;
    if (next == nullptr || loss(arm) < loss(*next)) next = &arm;
  }
  return next;
}

/// Returns a text such as "adam at optimizer.lr 0.01" or "steps 200 at optimizer.lr 0.01", without the parts that are
/// empty.
std::string place_text(const SweepGrid& grid, const GridArm& arm) {
  const std::string at = grid.key.empty() ? "" : grid.key + " " + arm.cells[*arm.best].value;
  const bool named = grid.arms == "arm" || grid.arms == "optimizer" || arm.label.empty();
  return (named ? "" : grid.arms + " ") + arm.label + (arm.label.empty() || at.empty() ? "" : " at ") + at;
}

const GridCell& best_of(const GridArm& arm) {
  return arm.cells[*arm.best];
}

/// Returns how far the arm with the second lowest loss is from the best: "; the next best, sgd, ends at a final loss
/// 5.8% higher", or "; compared with the next best, adam, it ends at a final loss 5.8% lower" if the next best is the
/// parent of the best. The difference is that of paired seeds, as in the verdicts of analyze. It is left out if its
/// sign differs from that of the difference of the means, by which the arms are ranked.
std::string next_text(const SweepGrid& grid, const GridArm& best, const GridArm& next) {
  std::vector<double> low, high;
  for (const auto& [seed, loss] : best_of(best).losses) {
    const auto other = best_of(next).losses.find(seed);
    if (other == best_of(next).losses.end()) continue;
    low.push_back(loss);
    high.push_back(other->second);
  }
  const bool is_child = optim::parent_of(best.optimizer) == next.optimizer;
  const analysis::Difference difference =
      is_child ? analysis::paired_difference(high, low) : analysis::paired_difference(low, high);
  const double higher = is_child ? -difference.mean : difference.mean;
  const bool ranks_higher = best_of(next).loss.mean > best_of(best).loss.mean;
  const std::string place = place_text(grid, next);
  if (!std::isfinite(higher) || higher < 0 || (higher > 0) != ranks_higher) return "; the next best is " + place;
  const std::string shift = (higher == 0 ? "" : "a ") + analysis::shift_text(difference);
  return is_child ? "; compared with the next best, " + place + ", it ends at " + shift
                  : "; the next best, " + place + ", ends at " + shift;
}

}  // namespace

void print_grid(const SweepGrid& grid, std::ostream& out) {
  const Index seeds = most_seeds(grid);
  std::string title = "final loss";
  if (seeds > 1) title += ", mean ± 95% interval over " + std::to_string(seeds) + " seeds";
  print_paragraph(out, title + (grid.rows.size() > 1 ? "; *: the arm's lowest" : "; *: the lowest"));
  table_of(grid, columns_of(out)).print(out);
}

void print_reasons(const std::vector<Point>& points, const std::vector<PointResult>& results, std::ostream& out) {
  std::vector<std::pair<std::string, std::vector<std::string>>> labels;  // by reason
  for (std::size_t p = 0; p < points.size(); ++p) {
    if (results[p].reason.empty()) continue;
    const std::string reason = status_text(results[p].status) + ": " + results[p].reason;
    auto found = std::ranges::find(labels, reason, &decltype(labels)::value_type::first);
    if (found == labels.end()) found = labels.insert(labels.end(), {reason, {}});
    found->second.push_back(label_of(points[p]));
  }
  for (const auto& [reason, of] : labels) {
    const std::string more = of.size() > 1 ? " and " + std::to_string(of.size() - 1) + " more " : " ";
    print_paragraph(out, of.front() + more + reason);
  }
}

void print_edges(const SweepGrid& grid, bool tuned, std::ostream& out) {
  if (!tuned && grid.key != "optimizer.lr") return;
  std::vector<std::string> arms;
  for (const GridArm& arm : grid.rows) {
    if (!arm.ended() || !arm.best_at_edge()) continue;
    const std::string which = *arm.best == 0 ? "smallest" : "largest";
    arms.push_back(arm.label.empty() ? which : arm.label + " (" + which + ")");
  }
  if (arms.empty()) return;
  const std::string text = "warning: the best " + grid.key + " is at the end of the values tried: " + join(arms, ", ");
  print_paragraph(out, text + (tuned ? "; widen the range of --tune" : "; a better one may be beyond it"),
                  {"warning", Tone::warning});
}

std::string answer_of(const SweepGrid& grid, const std::string& folder) {
  const bool ended = std::ranges::all_of(grid.rows, &GridArm::ended);
  if (!grid.best) return std::string(ended ? "No" : "So far, no") + " arm has a finite loss with all of its seeds.";
  const GridArm& best = grid.rows[*grid.best];
  const GridCell& cell = best.cells[*best.best];
  const bool several = cell.seeds > 1;
  const std::string what = several ? "mean final loss" : "final loss", place = place_text(grid, best);
  std::string text = ended ? "" : "So far, ";
  text += place.empty() ? "the lowest " + what + " is " : place + " has the lowest " + what + ", ";
  if (place.empty() && ended) text.front() = 'T';
  text.append(interval_text(cell.loss, kDigits));
  if (several) text.append(" over ").append(std::to_string(cell.seeds)).append(" seeds");
  const GridArm* next = next_arm(grid);
  if (next == nullptr) return text + ".";
  text.append(next_text(grid, best, *next));
  if (several) text.append(" ('onebit analyze ").append(folder).append("' judges the difference)");
  return text + ".";
}

}  // namespace onebit::experiments
