#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/compare/arm_names.hpp"
#include "experiments/report/figures.hpp"

namespace onebit::experiments {
namespace {

using analysis::Arm;
using analysis::ArmFigures;

/// Arms that differ only in the density of the boundary's codec.
struct Family {
  std::string name;  ///< common beginning of the arms' names
  std::vector<const ArmFigures*> arms;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Whether a name has a separator here: a space, a comma, or a dash that is not the sign of an exponent (1e-05).
bool separates(const std::string& name, std::size_t i) {
  if (name[i] != '-') return name[i] == ' ' || name[i] == ',';
  return !(i > 1 && name[i - 1] == 'e' && is_digit(name[i - 2]));
}

/// Returns the whole words that both names begin with.
std::string common_start(const std::string& a, const std::string& b) {
  const auto ends_in = [](const std::string& name, std::size_t i) { return i == name.size() || separates(name, i); };
  auto end = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  while (end > 0 && !(ends_in(a, end) && ends_in(b, end))) --end;
  while (end > 0 && separates(a, end - 1)) --end;
  return a.substr(0, end);
}

std::vector<Family> families(std::span<const Arm> arms, std::span<const ArmFigures> figures) {
  std::vector<Family> all;
  std::map<analysis::OptionValues, std::size_t> known;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    if (!std::isfinite(figures[a].boundary_bytes.mean) || !std::isfinite(figures[a].auc.mean)) continue;
    analysis::OptionValues options = arms[a].options;
    std::erase_if(options,
                  [](const auto& option) { return option.first == "boundary.k" || option.first == analysis::kLabel; });
    const auto [place, added] = known.try_emplace(options, all.size());
    if (added) all.push_back({arms[a].name, {}});
    Family& family = all[place->second];
    const std::string shared = common_start(family.name, arms[a].name);
    if (!shared.empty()) family.name = shared;
    family.arms.push_back(&figures[a]);
  }
  return all;
}

}  // namespace

std::vector<Figure> boundary_figures(std::span<const Arm> arms, const analysis::Comparison& comparison) {
  Figure figure{.name = "auc-boundary",
                .caption =
                    "Held-out AUC at the end and the bytes that one worker sent across the boundary, both as means "
                    "over the seeds. A line joins arms that differ only in boundary.k."};
  figure.plot = {.title = "AUC against bytes at the boundary",
                 .x_label = "bytes at the boundary, per worker",
                 .y_label = "AUC",
                 .log_x = true,
                 .legend = "outside right top",
                 .curves = {}};
  for (const Family& family : families(arms, comparison.arms)) {
    analysis::Curve curve{.label = family.name, .x = {}, .y = {}, .marks = true};
    std::vector<const ArmFigures*> sorted = family.arms;
    std::ranges::sort(sorted, {}, [](const ArmFigures* arm) { return arm->boundary_bytes.mean; });
    for (const ArmFigures* arm : sorted) {
      curve.x.push_back(arm->boundary_bytes.mean);
      curve.y.push_back(arm->auc.mean);
    }
    figure.plot.curves.push_back(curve);
  }
  return figure.plot.curves.empty() ? std::vector<Figure>() : std::vector<Figure>{figure};
}

}  // namespace onebit::experiments
