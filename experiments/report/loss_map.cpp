#include "experiments/report/loss_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/report/chart.hpp"
#include "experiments/report/html.hpp"
#include "experiments/report/varied.hpp"

namespace onebit::experiments {
namespace {

using analysis::ArmFigures;

/// The arms by row and column.
struct Grid {
  std::string row, column;  ///< what the rows and the columns stand for
  std::vector<std::string> rows, columns;
  std::map<std::pair<std::string, std::string>, std::size_t> arms;  ///< indices of arms
};

Grid grid_of_rates(const analysis::Comparison& comparison) {
  Grid grid{.row = "arm", .column = "learning rate", .rows = {}, .columns = {}, .arms = {}};
  std::set<double> rates;
  for (const analysis::RateGrid& each : comparison.grids) {
    grid.rows.push_back(each.name);
    for (std::size_t i = 0; i < each.arms.size(); ++i) {
      if (std::isnan(each.rates[i])) continue;
      rates.insert(each.rates[i]);
      grid.arms[{each.name, shortest(each.rates[i])}] = each.arms[i];
    }
  }
  for (const double rate : rates) grid.columns.push_back(shortest(rate));
  return grid;
}

Grid grid_of_options(std::span<const analysis::Arm> arms) {
  const std::vector<VariedOption> options = varied(arms);
  if (options.size() != 2) return {};
  const VariedOption &rows = options.front(), &columns = options.back();
  Grid grid{.row = rows.name, .column = columns.name, .rows = rows.values, .columns = columns.values, .arms = {}};
  for (std::size_t a = 0; a < arms.size(); ++a) {
    grid.arms[{value_of(arms[a], rows.name), value_of(arms[a], columns.name)}] = a;
  }
  return grid;
}

bool is_ranked(const ArmFigures& arm) {
  return arm.diverged == 0 && !arm.above_start && std::isfinite(arm.final_loss.mean);
}

/// Returns the share of ranked arms whose loss is not lower; 1 for the best.
double rank_of(const ArmFigures& arm, const std::vector<ArmFigures>& arms) {
  const auto not_lower = [&](const ArmFigures& other) {
    return is_ranked(other) && other.final_loss.mean >= arm.final_loss.mean;
  };
  return static_cast<double>(std::ranges::count_if(arms, not_lower)) /
         static_cast<double>(std::ranges::count_if(arms, is_ranked));
}

/// Returns a cell with a label, which a narrow screen shows next to it.
std::string cell(const std::string& label, const std::string& attributes, const std::string& text) {
  return "<td data-label=\"" + html::text(label) + "\"" + attributes + ">" + html::text(text) + "</td>";
}

std::string cell_of(const std::string& label, const ArmFigures& arm, const std::vector<ArmFigures>& arms,
                    bool best_of_row) {
  const std::string failed = " class=\"diverged\"";
  if (arm.diverged == arm.runs && arm.diverged > 0) return cell(label, failed, "diverged");
  if (arm.diverged > 0)
    return cell(label, failed, std::to_string(arm.diverged) + " of " + std::to_string(arm.runs) + " diverged");
  if (arm.above_start) return cell(label, failed, final_loss_text(arm));
  if (!is_ranked(arm)) return cell(label, " class=\"none\"", "not finished");
  const double rank = rank_of(arm, arms);
  return cell(label, (rank == 1 ? " class=\"least\"" : "") + std::string(" style=\"--rank:") + number(rank, 3) + "\"",
              interval_text(arm.final_loss) + (best_of_row ? " *" : ""));
}

/// Returns the lowest loss of a row.
double least_of(const Grid& grid, const std::string& row, const std::vector<ArmFigures>& arms) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [place, arm] : grid.arms) {
    if (place.first == row && is_ranked(arms[arm])) least = std::min(least, arms[arm].final_loss.mean);
  }
  return least;
}

bool has_several(const Grid& grid, const std::string& row) {
  return std::ranges::count_if(grid.arms, [&](const auto& each) { return each.first.first == row; }) > 1;
}

/// Whether a row has several arms: otherwise the map would only repeat the first table.
bool is_map(const Grid& grid) {
  return std::ranges::any_of(grid.rows, [&](const std::string& row) { return has_several(grid, row); });
}

}  // namespace

std::string loss_map_html(const Report& report) {
  const std::vector<ArmFigures>& arms = report.comparison.arms;
  Grid grid = grid_of_rates(report.comparison);
  if (!is_map(grid)) grid = grid_of_options(report.arms);
  if (!is_map(grid)) return "";
  std::string html = html::heading(2, "Final losses") +
                     "<div class=\"scroll\"><table class=\"map blocks\"><thead><tr><th class=\"text\">" +
                     html::text(grid.row + " \\ " + grid.column);
  for (const std::string& column : grid.columns) html += "</th><th>" + html::text(column);
  html += "</th></tr></thead><tbody>\n";
  for (const std::string& row : grid.rows) {
    html += "<tr><td class=\"text\">" + html::text(row) + "</td>";
    const double least = least_of(grid, row, arms);
    const bool several = has_several(grid, row);
    for (const std::string& column : grid.columns) {
      const auto found = grid.arms.find({row, column});
      const std::string label = grid.column + " " + column;
      if (found == grid.arms.end()) {
        html += cell(label, " class=\"none\"", "not run");
        continue;
      }
      const ArmFigures& arm = arms[found->second];
      html += cell_of(label, arm, arms, several && is_ranked(arm) && arm.final_loss.mean == least);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n" +
         html::paragraph(
             std::string("Mean final loss") +
                 (std::ranges::any_of(arms, [](const ArmFigures& arm) { return arm.finished > 1; })
                      ? " with its 95% interval over the seeds"
                      : "") +
                 ". The greener a cell, the better its loss ranks. * marks the lowest loss " +
                 (grid.row == "arm" ? "of an arm" : "at a value of " + grid.row) +
                 "; the frame marks the lowest of all, whose advantage may be noise (see the answers above). Italics "
                 "mark arms that "
                 "diverged, and arms whose mean loss ended above their starting loss (with the range over the seeds).",
             "facts");
}

}  // namespace onebit::experiments
