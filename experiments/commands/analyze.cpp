#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/session.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output/analyze_output.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/output/fit_output.hpp"
#include "experiments/output/pictures.hpp"
#include "experiments/output/validation_output.hpp"
#include "experiments/study/price.hpp"
#include "experiments/study/validation.hpp"

namespace onebit::experiments {
namespace {

analysis::VarianceOptions variance_options(const CommandLine& line) {
  analysis::VarianceOptions options;
  for (const std::string& lag : split(line.lags, ',')) {
    options.lags.push_back(parse_integer("lags", lag));
    if (options.lags.back() < 1) throw ConfigError("option out of range", "lags " + lag, "at least 1 step");
  }
  if (line.thresholds.empty()) return options;
  options.thresholds.clear();
  for (const std::string& text : split(line.thresholds, ',')) {
    const double threshold = parse_real("thresholds", text);
    if (!(threshold > 0 && threshold <= 1)) throw ConfigError("option out of range", "thresholds " + text, "in (0, 1]");
    options.thresholds.push_back(threshold);
  }
  return options;
}

/// Analyses a log. A part for which the log has no data is left out with the reason.
LogAnalysis analyze(const std::string& path, const analysis::VarianceOptions& options) {
  const sim::LogReader log(path);
  LogAnalysis result{.path = path,
                     .findings = analysis::diagnose(log),
                     .variance = {},
                     .steps = {},
                     .compression = analysis::view_compression(log),
                     .theory = {},
                     .left_out = {}};
  try {
    result.variance = analysis::view_variance(log, options);
  } catch (const ConfigError& error) {
    result.left_out.emplace_back(error.what());
  }
  try {
    result.steps = analysis::view_step_sizes(log);
  } catch (const ConfigError& error) {
    result.left_out.emplace_back(error.what());
  }
  try {
    result.theory = analysis::view_theory(log);
  } catch (const ConfigError& error) {
    result.left_out.emplace_back(error.what());
  }
  return result;
}

int analyze_one(const CommandLine& line) {
  if (!line.baseline.empty() || line.margin || !line.price.empty())
    throw ConfigError("options of a comparison with one log", line.arguments.front(), "name several logs, or a folder");
  const LogAnalysis result = analyze(line.arguments.front(), variance_options(line));
  if (line.json) {
    std::cout << to_json(result).text() << "\n";
  } else {
    print_analysis(result, std::cout);
  }
  return kExitDone;
}

/// Returns the requested clusters.
std::vector<netmodel::Cluster> clusters_of(const PriceConfig& price) {
  std::vector<netmodel::Cluster> clusters;
  if (!price.names_clusters) return clusters;
  for (const std::string& name : price.clusters) clusters.push_back(load_cluster(name, price.cluster_settings));
  return clusters;
}

void print_lines(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::cout << "\n" << title << "\n";
  for (const std::string& line : lines) std::cout << "  " << line << "\n";
}

Json array_of(const std::vector<std::string>& lines) {
  return Json::array(std::vector<Json>(lines.begin(), lines.end()));
}

int compare_logs(const CommandLine& line) {
  if (!line.lags.empty() || !line.thresholds.empty())
    throw ConfigError("options of a single log with several", "lags, thresholds", "name one log");
  const PriceConfig price = make_price_config(line.price);
  const std::unique_ptr<netmodel::CostModel> model = netmodel::make_cost_model(price.cost_model);
  analysis::LogSet logs = analysis::read_logs(line.arguments);
  const std::vector<std::string> problems = problems_of(logs);
  const std::vector<analysis::Arm> arms = analysis::arms_of(std::move(logs.runs));
  const analysis::ComparisonRequest request{.baseline = line.baseline,
                                            .margin = line.margin.value_or(analysis::default_margin),
                                            .target = price.target,
                                            .clusters = clusters_of(price),
                                            .rules = rules_of(price)};
  const analysis::Comparison comparison = analysis::compare(arms, request, *model);
  if (line.json) {
    const Json json =
        to_json(comparison).with("findings", array_of(problems)).with("left_out", array_of(logs.left_out));
    std::cout << json.text() << "\n";
    return kExitDone;
  }
  print_comparison(comparison, std::cout);
  print_lines("what went wrong", problems);
  print_lines("left out", logs.left_out);
  return kExitDone;
}

int validate(const CommandLine& line) {
  if (!line.arguments.empty())
    throw ConfigError("--validate takes the options of a run, not logs", line.arguments.front());
  const bool priced = std::ranges::any_of(line.price, [](const auto& setting) { return setting.first != "target"; });
  if (!line.lags.empty() || !line.fit.empty() || !line.baseline.empty() || priced)
    throw ConfigError("options of other analyses with --validate", "analyze", "leave them out");
  const auto [validation, reference, complete, problem] = run_validation(line, validation_request(line));
  const std::vector<std::string> pictures = draw_validation(validation, line.out + "/validation");
  if (line.json) {
    const Json json =
        to_json(validation).with("reference", reference).with("complete", Json::boolean(complete && problem.empty()));
    std::cout << json.with("pictures", array_of(pictures)).text() << "\n";
  } else {
    print_validation(validation, reference, std::cout);
    print_pictures(pictures, std::cout);
  }
  if (!problem.empty()) std::cerr << "onebit: error: " << problem << "\n";
  if (!complete) return kExitStopped;
  return problem.empty() ? kExitDone : kExitFailed;
}

int fit_logs(const CommandLine& line) {
  const std::map<std::string, analysis::Variable> variables = {{"steps", analysis::Variable::steps},
                                                               {"workers", analysis::Variable::workers},
                                                               {"errors", analysis::Variable::errors}};
  if (!variables.contains(line.fit))
    throw ConfigError("nothing to fit against", "fit " + line.fit, "steps, workers or errors");
  if (!line.lags.empty() || !line.thresholds.empty() || !line.baseline.empty() || line.margin || !line.price.empty())
    throw ConfigError("options that a fit does not take", "fit " + line.fit, "leave out those of other analyses");
  for (const char* extension : {".svg", ".png"}) {
    if (!line.out.empty()) files::check_output(line.out + extension, line.overwrite);
  }
  const analysis::LogSet logs = analysis::read_logs(line.arguments);
  const std::vector<analysis::RateFit> fits = analysis::fit_rates(logs.runs, variables.at(line.fit));
  std::vector<std::string> pictures;
  if (!line.out.empty()) pictures = draw_fits(fits, line.fit, line.out);
  if (line.json) {
    const Json json = Json::object(
        {{"fits", to_json(fits)}, {"left_out", array_of(logs.left_out)}, {"pictures", array_of(pictures)}});
    std::cout << json.text() << "\n";
    return kExitDone;
  }
  print_fits(fits, line.fit, std::cout);
  print_lines("left out", logs.left_out);
  if (!line.out.empty()) print_pictures(pictures, std::cout);
  return kExitDone;
}

}  // namespace

int analyze_command(const CommandLine& line) {
  if (line.validate) return validate(line);
  const bool of_validation = !line.freeze_at.empty() || !line.measure.empty() || !line.reference.empty();
  if (of_validation || !line.arms.empty() || line.resume)
    throw ConfigError("options of --validate without it", "freeze-at, measure, reference, arm, resume",
                      "give --validate, or leave them out");
  if (!line.run.empty() || line.seeds > 1)
    throw ConfigError("options of a run without one", line.run.empty() ? "seeds" : line.run.front().first,
                      "give --validate to train, or leave them out");
  if ((!line.out.empty() || line.overwrite || line.progress) && line.fit.empty())
    throw ConfigError("nothing to write", "analyze", "--validate writes logs, --fit a picture; or see 'onebit report'");
  if (line.arguments.empty()) throw ConfigError("no log named", "analyze", "onebit analyze FILE.h5");
  if (!line.fit.empty()) return fit_logs(line);
  const bool one = line.arguments.size() == 1 && !std::filesystem::is_directory(line.arguments.front());
  return one ? analyze_one(line) : compare_logs(line);
}

}  // namespace onebit::experiments
