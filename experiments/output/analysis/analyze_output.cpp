#include "experiments/output/analysis/analyze_output.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "device/base/error.hpp"
#include "experiments/output/screen.hpp"

namespace onebit::experiments {
namespace {

Tone tone_of(analysis::Severity severity) {
  switch (severity) {
    case analysis::Severity::problem:
      return Tone::bad;
    case analysis::Severity::warning:
      return Tone::warning;
    default:
      return Tone::plain;
  }
}

void print_findings(const std::vector<analysis::Finding>& findings, std::ostream& out) {
  if (findings.empty()) out << "nothing wrong was found\n";
  for (const analysis::Finding& finding : findings) {
    const std::string word(analysis::name(finding.severity));
    print_paragraph(out, word + ": " + finding.text + (finding.hint.empty() ? "" : "; " + finding.hint),
                    {word, tone_of(finding.severity)});
  }
}

/// Prints an empty line and a table, unless the table is empty.
void print_table(const Table& table, std::ostream& out) {
  if (table.empty()) return;
  out << "\n";
  table.print(out);
}

void print_variance(const analysis::VarianceView& view, std::ostream& out) {
  print_table(stability_table(view), out);
  out << "\n";
  print_paragraph(out, rule_of(view));
  thresholds_table(view).print(out);
  print_table(tensors_table(view), out);
  print_table(drift_table(view.drift), out);
}

void print_theory(const analysis::TheoryView& view, std::ostream& out) {
  constants_table(view.constants).print(out);
  print_table(bound_table(view.bound), out);
  for (const std::string& line : theory_lines(view)) print_paragraph(out, line);
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

Json numbers(const std::vector<double>& values) {
  return array_of(values, [](double number) { return Json(number); });
}

Json step_numbers(const std::vector<Index>& steps) {
  return array_of(steps, [](Index step) { return Json(step); });
}

Json variance_json(const analysis::VarianceView& view) {
  const auto threshold = [](const analysis::Threshold& row) {
    return Json::object({{"threshold", row.threshold},
                         {"published_step", row.published},
                         {"first", row.stay.first},
                         {"stays_from", row.stay.from},
                         {"stays_until", row.stay.until},
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
  const auto series = [&](const analysis::StabilitySeries& row) {
    return Json::object(
        {{"norm", row.norm}, {"lag", row.lag}, {"raw", Json::boolean(row.raw)}, {"ratio", numbers(row.ratio)}});
  };
  return Json::object({{"freeze_step", view.freeze_step},
                       {"rule_lag", view.rule_lag},
                       {"rule_dwell", view.rule_dwell},
                       {"steps", step_numbers(view.steps)},
                       {"stability", array_of(view.stability, series)},
                       {"thresholds", array_of(view.thresholds, threshold)},
                       {"tensors", array_of(view.tensors, tensor)},
                       {"drift", Json::array(drift)}});
}

Json steps_json(const analysis::StepSizes& sizes) {
  const auto tensor = [](const analysis::TensorSteps& row) {
    return Json::object({{"name", row.name},
                         {"size", row.size},
                         {"longest", numbers(row.longest)},
                         {"high", numbers(row.high)},
                         {"typical", numbers(row.typical)}});
  };
  return Json::object({{"steps", step_numbers(sizes.steps)},
                       {"longest", numbers(sizes.longest)},
                       {"tensors", array_of(sizes.tensors, tensor)}});
}

Json compression_json(const analysis::CompressionSeries& series) {
  return Json::object({{"steps", step_numbers(series.steps)},
                       {"worker_delta", numbers(series.worker_delta)},
                       {"server_delta", numbers(series.server_delta)},
                       {"error_share", numbers(series.error_share)},
                       {"loss_before", series.loss_before},
                       {"loss_after", series.loss_after}});
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

void print_analysis(const LogAnalysis& analysis, std::ostream& out) {
  out << analysis.path << "\n";
  print_findings(analysis.findings, out);
  if (analysis.variance) print_variance(*analysis.variance, out);
  if (analysis.steps) print_table(steps_table(*analysis.steps), out);
  print_table(compression_table(analysis.compression), out);
  if (analysis.theory) {
    out << "\n";
    print_theory(*analysis.theory, out);
  }
  for (const std::string& reason : analysis.left_out) {
    out << "\n";
    print_paragraph(out, reason);
  }
}

Json to_json(const LogAnalysis& analysis) {
  Json json = Json::object({{"log", analysis.path}, {"findings", array_of(analysis.findings, finding_json)}});
  if (analysis.variance) json = json.with("variance", variance_json(*analysis.variance));
  if (analysis.steps) json = json.with("one_bit_steps", steps_json(*analysis.steps));
  json = json.with("compression", compression_json(analysis.compression));
  if (analysis.theory) json = json.with("theory", theory_json(*analysis.theory));
  return json.with("left_out", array_of(analysis.left_out, [](const std::string& reason) { return Json(reason); }));
}

}  // namespace onebit::experiments
