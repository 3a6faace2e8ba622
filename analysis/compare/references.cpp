#include "analysis/compare/references.hpp"

#include <algorithm>
#include <tuple>

#include "analysis/compare/arm_names.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "optim/parent.hpp"

namespace onebit::analysis {
namespace {

std::string value_of(const OptionValues& options, const std::string& option) {
  const auto found = options.find(option);
  return found == options.end() ? "" : found->second;
}

std::string optimizer_of(const Arm& arm) {
  return value_of(arm.options, "optimizer");
}

/// Counts the options, besides the label, the optimizer and its learning rate, in which two arms differ.
Index distance(const OptionValues& a, const OptionValues& b) {
  const auto missing = [](const OptionValues& from, const OptionValues& in, bool count_values) {
    return std::ranges::count_if(from, [&](const auto& option) {
      if (option.first == "optimizer" || option.first == "optimizer.lr" || option.first == kLabel) return false;
      const auto other = in.find(option.first);
      return other == in.end() || (count_values && other->second != option.second);
    });
  };
  return missing(a, b, true) + missing(b, a, false);
}

/// Returns the arm at the best rate of the nearest grid of an arm's parent; none if the parent is missing.
std::optional<std::size_t> parent_arm(std::span<const Arm> arms, std::span<const RateGrid> grids, const Arm& arm) {
  const std::string_view parent = optim::parent_of(optimizer_of(arm));
  std::optional<std::size_t> best;
  Index least = 0;
  for (const RateGrid& grid : grids) {
    const Arm& candidate = arms[grid.arms.front()];
    if (parent.empty() || optimizer_of(candidate) != parent) continue;
    const Index apart = distance(arm.options, candidate.options);
    if (best && apart >= least) continue;
    best = best_arm(grid);
    least = apart;
  }
  return best;
}

/// Whether an arm is useless as a reference: one of its runs diverged, or it ended above its starting loss.
bool has_failed(const Arm& arm) {
  const auto diverged = [](const Run& run) { return outcome_of(run) == Outcome::diverged; };
  return std::ranges::any_of(arm.runs, diverged) || start_and_end(arm).rose();
}

/// Returns the arm at the best rate of the grid of an optimizer that is nearest to an arm; `fallback` unless one is
/// nearer.
std::size_t nearest_arm(std::span<const Arm> arms, std::span<const RateGrid> grids, const Arm& arm,
                        const std::string& optimizer, std::size_t fallback) {
  std::size_t best = fallback;
  for (const RateGrid& grid : grids) {
    const Arm& candidate = arms[best_arm(grid)];
    const bool failed = has_failed(candidate) && !has_failed(arms[fallback]);
    if (optimizer_of(candidate) == optimizer && !failed &&
        distance(arm.options, candidate.options) < distance(arm.options, arms[best].options))
      best = best_arm(grid);
  }
  return best;
}

/// Returns the arm of this name, or the one at the best rate of the grid of this name.
std::size_t arm_called(std::span<const Arm> arms, std::span<const RateGrid> grids, const std::string& name) {
  const auto found = std::ranges::find(arms, name, &Arm::name);
  if (found != arms.end()) return static_cast<std::size_t>(found - arms.begin());
  const auto grid = std::ranges::find(grids, name, &RateGrid::name);
  if (grid != grids.end()) return best_arm(*grid);
  std::vector<std::string_view> names;
  for (const Arm& arm : arms) names.push_back(arm.name);
  throw ConfigError("no arm of this name", "baseline " + name, suggestion(name, names));
}

/// Compares all other arms with the requested one.
References with_baseline(std::span<const Arm> arms, std::span<const RateGrid> grids, std::size_t baseline) {
  References references;
  references.baseline = baseline;
  references.of.assign(arms.size(), baseline);
  references.of[baseline].reset();
  const std::size_t best = best_arm(grid_with(grids, baseline));
  if (best != baseline) {
    references.notes.push_back("the baseline " + arms[baseline].name +
                               " is not at the best of its learning rates: " + arms[best].name + " is");
  }
  return references;
}

/// Whether an arm is called "dense", as studies of freezes call the uncompressed runs.
bool is_dense(const Arm& arm) {
  return arm.name == "dense" || arm.name.starts_with("dense, ");
}

/// Returns the number of arms whose optimizer has this arm's as its parent.
Index children_of(const Arm& arm, std::span<const Arm> arms) {
  return std::ranges::count_if(
      arms, [&](const Arm& other) { return optim::parent_of(optimizer_of(other)) == optimizer_of(arm); });
}

/// Returns the baseline of the arms that have no parent among the runs. It has no parent itself. Preferably it has not
/// failed (has_failed); among such arms, it is the one called "dense", or else one whose optimizer has no parent at
/// all, because it compresses nothing; among these, it is the parent of most other arms, or the first of several.
std::size_t root_of(std::span<const Arm> arms, std::span<const std::optional<std::size_t>> of) {
  const auto rank = [&](std::size_t i) {
    const bool original = optim::parent_of(optimizer_of(arms[i])).empty();
    return std::tuple(of[i].has_value(), has_failed(arms[i]),
                      is_dense(arms[i]) ? 0
                      : original        ? 1
                                        : 2,
                      -children_of(arms[i], arms));
  };
  std::size_t root = 0;
  for (std::size_t i = 1; i < arms.size(); ++i) {
    if (rank(i) < rank(root)) root = i;
  }
  return root;
}

/// Returns "QSGD (ef-sgd)"; only the name if it begins with the optimizer.
std::string with_optimizer(const std::string& name, const std::string& optimizer) {
  return name.starts_with(optimizer) ? name : name + " (" + optimizer + ")";
}

/// Returns the note on optimizers whose parents are not among the arms.
std::string missing_parents(const std::vector<std::string>& optimizers, const std::vector<std::string>& parents,
                            const std::string& baseline, const std::string& baseline_optimizer) {
  const bool one = optimizers.size() == 1, one_parent = parents.size() == 1;
  const std::string all = enumerated(parents);
  return enumerated(optimizers) + (one ? " is" : " are") + " compared with " + baseline + ", because " +
         (one ? "its" : "their") + (one_parent ? " parent " : " parents ") + all + (one_parent ? " is" : " are") +
         " not among the arms; the " + (one ? "result includes" : "results include") + " the difference between " +
         (one_parent ? all : "a parent") + " and " + baseline_optimizer;
}

}  // namespace

std::size_t best_arm(const RateGrid& grid) {
  return grid.arms[grid.best.value_or(0)];
}

const RateGrid& grid_with(std::span<const RateGrid> grids, std::size_t arm) {
  return *std::ranges::find_if(
      grids, [&](const RateGrid& grid) { return std::ranges::find(grid.arms, arm) != grid.arms.end(); });
}

References references_of(std::span<const Arm> arms, std::span<const RateGrid> grids, const std::string& baseline) {
  if (!baseline.empty()) return with_baseline(arms, grids, arm_called(arms, grids, baseline));
  References references;
  for (const Arm& arm : arms) references.of.push_back(parent_arm(arms, grids, arm));
  references.baseline = best_arm(grid_with(grids, root_of(arms, references.of)));
  std::vector<std::string> orphans, names, parents;  // optimizers, their arms in words, their parents
  bool one_reference = true;                         // whether all arms without a parent are compared with one arm
  const bool any_parent = std::ranges::any_of(references.of, [](const auto& of) { return of.has_value(); });
  const std::string root = optimizer_of(arms[references.baseline]);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (references.of[i] || i == references.baseline) continue;
    references.of[i] = references.baseline;
    if (optimizer_of(arms[i]) != root) references.of[i] = nearest_arm(arms, grids, arms[i], root, references.baseline);
    one_reference = one_reference && references.of[i] == references.baseline;
    const std::string optimizer = optimizer_of(arms[i]), parent(optim::parent_of(optimizer));
    const bool own = optimizer == root;
    if (own || parent.empty() || std::ranges::find(orphans, optimizer) != orphans.end()) continue;
    orphans.push_back(optimizer);
    const auto is_of = [&](const RateGrid& grid) { return optimizer_of(arms[grid.arms.front()]) == optimizer; };
    const std::string& grid = grid_with(grids, i).name;
    names.push_back(std::ranges::count_if(grids, is_of) == 1 ? with_optimizer(grid, optimizer) : optimizer);
    if (std::ranges::find(parents, parent) == parents.end()) parents.push_back(parent);
  }
  if (!orphans.empty()) {
    const std::string stand_in = one_reference ? with_optimizer(arms[references.baseline].name, root) : root;
    references.notes.push_back(missing_parents(names, parents, stand_in, root));
  }
  if (!any_parent && orphans.empty() && grids.size() > 1 && !is_dense(arms[references.baseline])) {
    references.notes.push_back(
        "no arm is the parent of another, so the others are compared with " +
        (one_reference ? grid_with(grids, references.baseline).name : "the nearest arm of " + root) +
        "; --baseline chooses another arm");
  }
  return references;
}

}  // namespace onebit::analysis
