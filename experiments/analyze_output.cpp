#include "experiments/analyze_output.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>

namespace onebit::experiments {
namespace {

constexpr std::size_t kTensorsShown = 12;
constexpr std::size_t kRowsShown = 8;

std::string step_text(Index step) {
  return step > 0 ? std::to_string(step) : "never";
}

/// Some `most` indices of `count`, evenly spread, the last among them.
std::vector<std::size_t> spread(std::size_t count, std::size_t most) {
  std::vector<std::size_t> indices;
  const std::size_t shown = std::min(count, most);
  for (std::size_t i = 1; i <= shown; ++i) indices.push_back(count * i / shown - 1);
  return indices;
}

void print_findings(const std::vector<analysis::Finding>& findings, std::ostream& out) {
  if (findings.empty()) out << "nothing wrong was found\n";
  for (const analysis::Finding& finding : findings) {
    out << analysis::name(finding.severity) << ": " << finding.text;
    if (!finding.hint.empty()) out << "; " << finding.hint;
    out << "\n";
  }
}

/// Rows in which some ratio is known.
std::vector<std::size_t> known_rows(const analysis::VarianceView& view) {
  std::vector<std::size_t> known;
  for (std::size_t row = 0; row < view.steps.size(); ++row) {
    const auto has_ratio = [row](const analysis::Stability& series) { return !std::isnan(series.ratio[row]); };
    if (std::ranges::any_of(view.stability, has_ratio)) known.push_back(row);
  }
  return known;
}

}  // namespace

Table stability_table(const analysis::VarianceView& view) {
  std::vector<std::string> header = {"stability of the variance at step"};
  for (const analysis::Stability& series : view.stability)
    header.push_back(series.norm + ", lag " + std::to_string(series.lag));
  Table table(header);
  const std::vector<std::size_t> known = known_rows(view);
  for (const std::size_t i : spread(known.size(), kRowsShown)) {
    const std::size_t row = known[i];
    std::vector<std::string> cells = {std::to_string(view.steps[row])};
    for (const analysis::Stability& series : view.stability) cells.push_back(number(series.ratio[row]));
    table.add(std::move(cells));
  }
  return table;
}

std::string rule_of(const analysis::VarianceView& view) {
  std::string text = "first step with a ratio of ||v||_1 over " + std::to_string(view.rule_lag) +
                     " steps at the threshold, after " + std::to_string(view.rule_after) +
                     " steps of learning-rate warm-up";
  if (view.freeze_step > 0) text += "; the run froze its variance after step " + std::to_string(view.freeze_step);
  return text;
}

Table thresholds_table(const analysis::VarianceView& view) {
  Table table({"threshold", "freeze step", "DeepSpeed freeze_step", "of the run", "vs fp16", "loss then"});
  for (const analysis::Threshold& row : view.thresholds) {
    const bool reached = row.freeze_step > 0;
    table.add({number(row.threshold), step_text(row.freeze_step), reached ? std::to_string(row.deepspeed_step) : "-",
               reached ? percent_text(row.share) : "-", ratio_text(row.volume_ratio), number(row.loss_then)});
  }
  return table;
}

Table tensors_table(std::vector<analysis::TensorStability> tensors) {
  const auto late = [](const analysis::TensorStability& tensor) {
    return tensor.stable_step > 0 ? tensor.stable_step : std::numeric_limits<Index>::max();
  };
  std::ranges::stable_sort(tensors, [&](const auto& a, const auto& b) { return late(a) > late(b); });
  Table table({"tensor, last stable first", "elements", "stable from", "last ratio", "shadow / frozen"});
  for (std::size_t i = 0; i < std::min(tensors.size(), kTensorsShown); ++i) {
    const analysis::TensorStability& tensor = tensors[i];
    table.add({tensor.name, std::to_string(tensor.size), step_text(tensor.stable_step), number(tensor.last_ratio),
               number(tensor.drift)});
  }
  if (tensors.size() > kTensorsShown)
    table.add({std::to_string(tensors.size() - kTensorsShown) + " more, stable earlier"});
  return table;
}

Table drift_table(const analysis::Drift& drift) {
  Table table({"since the freeze, at step", "||shadow|| / ||frozen||", "typical change of the rate", "moved"});
  for (const std::size_t row : spread(drift.steps.size(), kRowsShown)) {
    table.add({std::to_string(drift.steps[row]), number(drift.norm_ratio[row]),
               "x " + number(std::exp(drift.rate_drift[row])), percent_text(drift.moved_share[row])});
  }
  return table;
}

namespace {

/// With an empty line behind it, where there is something in it.
void print_table(const Table& table, std::ostream& out) {
  if (table.empty()) return;
  out << "\n";
  table.print(out);
}

void print_variance(const analysis::VarianceView& view, std::ostream& out) {
  print_table(stability_table(view), out);
  out << "\n" << rule_of(view) << "\n";
  thresholds_table(view).print(out);
  print_table(tensors_table(view.tensors), out);
  print_table(drift_table(view.drift), out);
}

/// Name, what it is, and the values.
struct NamedMeasure {
  const char* name;
  const char* key;
  analysis::Measured measured;
};

std::vector<NamedMeasure> measures_of(const analysis::TheoryConstants& c) {
  return {{"L along the path, largest", "path_smoothness", c.path_smoothness},
          {"L by power iteration, largest", "smoothness", c.smoothness},
          {"sigma of a worker's gradient", "noise", c.noise},
          {"zeta between workers", "heterogeneity", c.heterogeneity},
          {"delta of the workers' codec, mean", "worker_delta", c.worker_delta},
          {"delta of the servers' codec, mean", "server_delta", c.server_delta},
          {"||e|| of the workers, largest rms", "worker_error", c.worker_error},
          {"||e|| of the servers, largest", "server_error", c.server_error},
          {"least denominator, mean", "least_denominator", c.least_denominator}};
}

}  // namespace

Table constants_table(const analysis::TheoryConstants& constants) {
  Table table({"measured", "value", "least", "most", "known"});
  for (const NamedMeasure& row : measures_of(constants)) {
    table.add({row.name, number(row.measured.value), number(row.measured.least), number(row.measured.most),
               number(row.measured.known)});
  }
  table.add({"epsilon, twice the larger error", number(constants.epsilon), "-", "-", "-"});
  return table;
}

Table bound_table(const std::vector<analysis::BoundRow>& rows) {
  Table table({"bound of 1-bit Adam to step", "factor", "left", "right", "start", "errors", "noise", "momentum"});
  for (const std::size_t i : spread(rows.size(), kRowsShown)) {
    const analysis::BoundRow& row = rows[i];
    table.add({std::to_string(row.step), number(row.factor), number(row.left), number(row.right()), number(row.start),
               number(row.errors), number(row.noise), number(row.momentum)});
  }
  return table;
}

std::vector<std::string> theory_lines(const analysis::TheoryView& view) {
  std::vector<std::string> lines;
  if (!view.bound.empty() && view.bound.back().factor <= 0)
    lines.emplace_back("the factor is not positive: at this learning rate the theorem promises nothing");
  const analysis::Telescoping& telescoping = view.telescoping;
  if (telescoping.probes > 0) {
    lines.push_back("telescoping of errors: what is missing is at most " + number(telescoping.worst, 2) +
                    " of what entered an exchange (step " + std::to_string(telescoping.step) + ", " +
                    std::to_string(telescoping.probes) + " probes)");
  }
  if (std::isfinite(view.error.bound)) {
    lines.push_back("error feedback: E||e||^2 " + number(view.error.error_square) + ", bound 4(1-delta)G^2/delta^2 " +
                    number(view.error.bound) + " (delta " + number(view.error.delta) + ", G^2 " +
                    number(view.error.input_square) + ")");
  }
  return lines;
}

namespace {

void print_theory(const analysis::TheoryView& view, std::ostream& out) {
  constants_table(view.constants).print(out);
  print_table(bound_table(view.bound), out);
  for (const std::string& line : theory_lines(view)) out << line << "\n";
}

Json finding_json(const analysis::Finding& finding) {
  return Json::object(
      {{"severity", std::string(analysis::name(finding.severity))}, {"text", finding.text}, {"hint", finding.hint}});
}

template <class Rows, class Make>
Json array_of(const Rows& rows, const Make& make) {
  std::vector<Json> items;
  for (const auto& row : rows) items.push_back(make(row));
  return Json::array(items);
}

Json variance_json(const analysis::VarianceView& view) {
  const auto threshold = [](const analysis::Threshold& row) {
    return Json::object({{"threshold", row.threshold},
                         {"freeze_step", row.freeze_step},
                         {"deepspeed_freeze_step", row.deepspeed_step},
                         {"share", row.share},
                         {"ratio_fp16", row.volume_ratio},
                         {"loss", row.loss_then}});
  };
  const auto tensor = [](const analysis::TensorStability& row) {
    return Json::object({{"name", row.name},
                         {"size", row.size},
                         {"stable_step", row.stable_step},
                         {"last_ratio", row.last_ratio},
                         {"shadow_over_frozen", row.drift}});
  };
  std::vector<Json> drift;
  for (std::size_t i = 0; i < view.drift.steps.size(); ++i) {
    drift.push_back(Json::object({{"step", view.drift.steps[i]},
                                  {"norm_ratio", view.drift.norm_ratio[i]},
                                  {"rate_drift", view.drift.rate_drift[i]},
                                  {"moved_share", view.drift.moved_share[i]}}));
  }
  const auto value = [](double number) { return Json(number); };
  const auto series = [&](const analysis::Stability& row) {
    return Json::object({{"norm", row.norm}, {"lag", row.lag}, {"ratio", array_of(row.ratio, value)}});
  };
  return Json::object({{"freeze_step", view.freeze_step},
                       {"rule_lag", view.rule_lag},
                       {"steps", array_of(view.steps, [](Index step) { return Json(step); })},
                       {"stability", array_of(view.stability, series)},
                       {"thresholds", array_of(view.thresholds, threshold)},
                       {"tensors", array_of(view.tensors, tensor)},
                       {"drift", Json::array(drift)}});
}

Json theory_json(const analysis::TheoryView& view) {
  std::vector<std::pair<std::string, Json>> constants;
  for (const NamedMeasure& row : measures_of(view.constants)) {
    constants.emplace_back(row.key, Json::object({{"value", row.measured.value},
                                                  {"least", row.measured.least},
                                                  {"most", row.measured.most},
                                                  {"known", row.measured.known}}));
  }
  constants.emplace_back("epsilon", view.constants.epsilon);
  const auto bound = [](const analysis::BoundRow& row) {
    return Json::object({{"step", row.step},
                         {"factor", row.factor},
                         {"left", row.left},
                         {"right", row.right()},
                         {"start", row.start},
                         {"errors", row.errors},
                         {"noise", row.noise},
                         {"momentum", row.momentum}});
  };
  return Json::object({{"constants", Json::object(constants)},
                       {"bound", array_of(view.bound, bound)},
                       {"telescoping", Json::object({{"worst", view.telescoping.worst},
                                                     {"step", view.telescoping.step},
                                                     {"probes", view.telescoping.probes}})},
                       {"error_bound", Json::object({{"error_square", view.error.error_square},
                                                     {"bound", view.error.bound},
                                                     {"delta", view.error.delta},
                                                     {"input_square", view.error.input_square}})}});
}

}  // namespace

void print_fits(const std::vector<analysis::RateFit>& fits, const std::string& variable, std::ostream& out) {
  Table table({"optimizer", variable, "mean ||grad f||^2", "on the line"});
  for (const analysis::RateFit& fit : fits) {
    for (const analysis::RatePoint& point : fit.points) {
      table.add({fit.optimizer, number(point.x, 6), number(point.gradient_square),
                 number(fit.fit.factor * std::pow(point.x, fit.fit.exponent))});
    }
  }
  table.print(out);
  out << "\n";
  for (const analysis::RateFit& fit : fits) {
    out << fit.optimizer << ": ||grad f||^2 goes with " << variable << " to the power of "
        << number(fit.fit.exponent, 3) << " +- " << number(fit.fit.half_width, 2) << " (95%, " << fit.fit.points
        << " runs)\n";
  }
}

Json to_json(const std::vector<analysis::RateFit>& fits) {
  return array_of(fits, [](const analysis::RateFit& fit) {
    const auto point = [](const analysis::RatePoint& at) {
      return Json::object({{"x", at.x}, {"gradient_square", at.gradient_square}});
    };
    return Json::object({{"optimizer", fit.optimizer},
                         {"exponent", fit.fit.exponent},
                         {"half_width", fit.fit.half_width},
                         {"factor", fit.fit.factor},
                         {"points", array_of(fit.points, point)}});
  });
}

/// Runs of which the same is found share a line.
std::vector<std::string> problems_of(const analysis::LogSet& logs) {
  std::map<std::string, std::vector<std::string>> runs;
  std::vector<std::string> order;
  for (const analysis::Run& run : logs.runs) {
    for (const analysis::Finding& finding : analysis::diagnose(sim::LogReader(run.summary.path))) {
      if (finding.severity == analysis::Severity::note) continue;
      const std::string text = std::string(analysis::name(finding.severity)) + ": " + finding.text;
      if (!runs.contains(text)) order.push_back(text);
      runs[text].push_back(run.summary.path);
    }
  }
  std::vector<std::string> lines;
  for (const std::string& text : order) {
    const std::vector<std::string>& paths = runs[text];
    const std::string more = paths.size() == 1 ? "" : " and " + std::to_string(paths.size() - 1) + " more";
    lines.push_back(paths.front() + more + ": " + text);
  }
  return lines;
}

void print_analysis(const LogAnalysis& analysis, std::ostream& out) {
  out << analysis.path << "\n";
  print_findings(analysis.findings, out);
  if (analysis.variance) print_variance(*analysis.variance, out);
  if (analysis.theory) {
    out << "\n";
    print_theory(*analysis.theory, out);
  }
  for (const std::string& reason : analysis.left_out) out << "\n" << reason << "\n";
}

Json to_json(const LogAnalysis& analysis) {
  Json json = Json::object({{"log", analysis.path}, {"findings", array_of(analysis.findings, finding_json)}});
  if (analysis.variance) json = json.with("variance", variance_json(*analysis.variance));
  if (analysis.theory) json = json.with("theory", theory_json(*analysis.theory));
  return json.with("left_out", array_of(analysis.left_out, [](const std::string& reason) { return Json(reason); }));
}

}  // namespace onebit::experiments
