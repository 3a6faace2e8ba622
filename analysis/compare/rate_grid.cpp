#include "analysis/compare/rate_grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/compare/arm_names.hpp"
#include "device/base/text.hpp"

namespace onebit::analysis {
namespace {

constexpr const char* kRate = "optimizer.lr";

double rate_of(const Arm& arm) {
  const auto found = arm.options.find(kRate);
  return found == arm.options.end() ? std::numeric_limits<double>::quiet_NaN() : number_in(found->second);
}

OptionValues without_rate(const Arm& arm) {
  OptionValues options = arm.options;
  options.erase(kRate);
  return options;
}

/// Returns the mean final loss; infinite if a run diverged or none finished.
double mean_loss(const Arm& arm) {
  double sum = 0, count = 0;
  for (const Run& run : arm.runs) {
    if (outcome_of(run) == Outcome::diverged) return std::numeric_limits<double>::infinity();
    if (outcome_of(run) != Outcome::finished) continue;
    sum += run.summary.final_loss;
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::infinity();
}

void complete(RateGrid& grid, std::span<const Arm> arms) {
  std::ranges::stable_sort(grid.arms, {}, [&](std::size_t arm) {
    const double rate = rate_of(arms[arm]);
    return std::isnan(rate) ? std::numeric_limits<double>::infinity() : rate;
  });
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < grid.arms.size(); ++i) {
    grid.rates.push_back(rate_of(arms[grid.arms[i]]));
    const double loss = mean_loss(arms[grid.arms[i]]);
    if (loss < least) grid.best = i;
    least = std::min(least, loss);
  }
}

}  // namespace

bool RateGrid::best_at_edge() const {
  return rates.size() > 1 && best && (*best == 0 || *best + 1 == rates.size());
}

double RateGrid::gap_at_best() const {
  if (!best || std::isnan(rates.back())) return 1;
  const double below = *best > 0 ? rates[*best] / rates[*best - 1] : 1;
  const double above = *best + 1 < rates.size() ? rates[*best + 1] / rates[*best] : 1;
  return std::max(below, above);
}

bool RateGrid::is_coarse() const {
  constexpr double coarse = 5 * (1 + 1e-9);  // ratios of decimal numbers are rounded
  return gap_at_best() > coarse;
}

std::vector<RateGrid> rate_grids(std::span<const Arm> arms) {
  std::vector<RateGrid> grids;
  std::vector<OptionValues> keys;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const OptionValues key = without_rate(arms[i]);
    const auto place = static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
    if (place == keys.size()) {
      keys.push_back(key);
      grids.emplace_back();
    }
    grids[place].arms.push_back(i);
  }
  const std::vector<std::string> names = arm_names(keys);
  for (std::size_t i = 0; i < grids.size(); ++i) {
    grids[i].name = grids[i].arms.size() == 1 ? arms[grids[i].arms.front()].name : names[i];
    complete(grids[i], arms);
  }
  return grids;
}

std::string edge_text(const RateGrid& grid) {
  return shortest(grid.rates[*grid.best]) + " is the best learning rate of " + grid.name + " and the " +
         (*grid.best == 0 ? "smallest" : "largest") + " that was tried; a better one may be beyond it";
}

std::string gap_factor(double gap) {
  return shortest(std::round(10 * gap) / 10);
}

std::string gap_text(const RateGrid& grid) {
  return "the learning rates next to the best one of " + grid.name + ", " + shortest(grid.rates[*grid.best]) +
         ", differ from it by a factor of up to " + gap_factor(grid.gap_at_best()) +
         "; rates between them may be better";
}

std::vector<std::string> warnings_of(const RateGrid& baseline, const RateGrid& other) {
  std::vector<std::string> warnings;
  if (baseline.rates.size() != other.rates.size()) {
    const bool more = other.rates.size() > baseline.rates.size();
    const RateGrid& larger = more ? other : baseline;
    const RateGrid& smaller = more ? baseline : other;
    warnings.push_back(larger.name + " had " + std::to_string(larger.rates.size()) +
                       " learning rates to choose from, " + smaller.name + " had " +
                       std::to_string(smaller.rates.size()));
  }
  for (const RateGrid* grid : {&baseline, &other}) {
    if (grid->best_at_edge()) warnings.push_back(edge_text(*grid));
  }
  for (const RateGrid* grid : {&baseline, &other}) {
    if (grid->is_coarse()) warnings.push_back(gap_text(*grid));
  }
  return warnings;
}

}  // namespace onebit::analysis
