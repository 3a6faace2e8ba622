#include <filesystem>
#include <iostream>
#include <map>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "experiments/cli/output_name.hpp"
#include "experiments/cli/study_input.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/validation_options.hpp"
#include "experiments/output/analysis/analyze_output.hpp"
#include "experiments/output/analysis/validation_output.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/output/findings.hpp"
#include "experiments/output/pictures.hpp"
#include "experiments/output/pricing/fit_output.hpp"
#include "experiments/output/screen.hpp"
#include "experiments/study/prices.hpp"

namespace onebit::experiments {
namespace {

struct Options : StudyInput {
  std::string lags;  ///< list of lags; empty: the log's
  std::string fit;   ///< steps, workers or errors; empty: no fit
  std::string baseline;
  bool validate = false;
  ValidationOptions judging;  ///< its thresholds also apply to the analysis of one log
};

std::vector<Option<Options>> rows() {
  return joined<Options>(
      {{field<Options>(
            "lags",
            "lags of the stability ratio in steps, e.g. 10,100,1000; the thresholds use the last one; not given: "
            "the log's",
            ONEBIT_PLACE(lags)),
        field<Options>("thresholds",
                       "ratios at which the rule freezes the variance, e.g. 0.9,0.96,0.99; not given: ten values, "
                       "six with --validate",
                       ONEBIT_PLACE(judging.thresholds)),
        field<Options>("fit",
                       "fit the squared gradient as a power of one quantity (steps, workers or errors) over logs that "
                       "differ in it; -o: stem of the pictures' names",
                       ONEBIT_PLACE(fit)),
        field<Options>("baseline", "arm that the others are compared with; not given: each arm's parent",
                       ONEBIT_PLACE(baseline)),
        flag<Options>(
            "validate",
            "train one dense run per seed, and continue it with a frozen variance, with and without compression; "
            "needs -o DIR",
            ONEBIT_PLACE(validate)),
        field<Options>("freeze-at",
                       "--validate: numbers of dense updates to freeze after, instead of thresholds, e.g. 100,500,1000",
                       ONEBIT_PLACE(judging.freeze_at)),
        arm_after_freeze_row<Options>(), seeds_row<Options>(),
        out_row<Options>("--validate: folder for the logs; --fit: stem of the pictures' names"),
        overwrite_row<Options>(ONEBIT_PLACE(output.overwrite)), resume_row<Options>(), json_row<Options>(),
        progress_row<Options>()},
       judging_rows<Options>("relative difference of final losses within which arms are equivalent; --validate: "
                             "largest relative cost that counts as safe")});
}

analysis::VarianceOptions variance_options(const Options& options) {
  analysis::VarianceOptions view;
  for (const std::string& lag : split(options.lags, ',')) {
    view.lags.push_back(parse_integer("lags", lag));
    if (view.lags.back() < 1) throw ConfigError("option out of range", "lags " + lag, "at least 1 step");
  }
  if (options.judging.thresholds.empty()) return view;
  view.thresholds.clear();
  for (const std::string& text : split(options.judging.thresholds, ',')) view.thresholds.push_back(threshold_of(text));
  return view;
}

/// Analyses a log. Parts for which the log has no data are left out; `left_out` says why.
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

int analyze_one(const Options& options) {
  if (!options.baseline.empty() || options.judging.margin || !options.price.empty())
    throw ConfigError("options of a comparison need several logs", options.arguments.front(),
                      "leave out --baseline, --margin and pricing options, or name several logs or a folder");
  const LogAnalysis result = analyze(options.arguments.front(), variance_options(options));
  if (options.json) {
    std::cout << to_json(result).text() << "\n";
  } else {
    print_analysis(result, std::cout);
  }
  return kExitDone;
}

void print_lines(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::cout << "\n" << title << "\n";
  for (const std::string& line : lines) print_paragraph(std::cout, "  " + line);
}

int compare_logs(const Options& options) {
  if (!options.lags.empty() || !options.judging.thresholds.empty())
    throw ConfigError("these options apply only to a single log", "lags, thresholds",
                      "leave them out, or name one log");
  const PriceConfig price = price_config_of(options.price);
  const std::unique_ptr<netmodel::CostModel> model = netmodel::make_cost_model(price.cost_model);
  analysis::LogSet logs = analysis::read_logs(options.arguments);
  const std::vector<analysis::Arm> arms = analysis::arms_of(std::move(logs.runs));
  std::vector<std::string> problems;
  for (const SharedFinding& finding : findings_of(arms)) problems.push_back(line_of(finding, arms));
  const analysis::ComparisonRequest request{
      .baseline = options.baseline,
      .margin = options.judging.margin.value_or(analysis::default_margin),
      .target = price.target,
      .clusters = price.names_clusters ? clusters_of(price) : std::vector<netmodel::Cluster>(),
      .rules = rules_of(price)};
  const analysis::Comparison comparison = analysis::compare(arms, request, *model);
  if (options.json) {
    const Json json =
        to_json(comparison).with("findings", Json::texts(problems)).with("left_out", Json::texts(logs.left_out));
    std::cout << json.text() << "\n";
    return kExitDone;
  }
  print_figures(comparison, std::cout);
  print_lines("what went wrong", problems);
  print_lines("left out", logs.left_out);
  print_verdicts(comparison, std::cout);
  return kExitDone;
}

int validate(const Options& options) {
  if (!options.arguments.empty())
    throw ConfigError("--validate takes the options of a run, not logs", options.arguments.front());
  const bool priced = std::ranges::any_of(options.price, [](const auto& setting) { return setting.first != "target"; });
  if (!options.lags.empty() || !options.fit.empty() || !options.baseline.empty() || priced)
    throw ConfigError("--validate cannot be combined with options of other analyses", "analyze",
                      "leave out --lags, --fit, --baseline and pricing options other than --target");
  const Study study = study_of(options);
  const ValidationRequest request = request_of(options.judging, price_config_of(options.price).target);
  const auto [validation, reference, complete, problem] = run_validation(study, request);
  const std::vector<std::string> pictures = draw_validation(validation, options.out + "/validation");
  if (options.json) {
    const Json json =
        to_json(validation).with("reference", reference).with("complete", Json::boolean(complete && problem.empty()));
    std::cout << json.with("pictures", Json::texts(pictures)).text() << "\n";
  } else {
    print_validation(validation, reference, std::cout);
    print_pictures(pictures, std::cout);
  }
  if (!problem.empty()) print_error(problem);
  if (!complete) {
    tell_how_to_continue(options, options.out, "--resume");
    return kExitStopped;
  }
  return problem.empty() ? kExitDone : kExitFailed;
}

int fit_logs(const Options& options) {
  const std::map<std::string, analysis::Variable> variables = {{"steps", analysis::Variable::steps},
                                                               {"workers", analysis::Variable::workers},
                                                               {"errors", analysis::Variable::errors}};
  if (!variables.contains(options.fit))
    throw ConfigError("unknown variable of a fit", "fit " + options.fit, "steps, workers or errors");
  if (!options.lags.empty() || !options.judging.thresholds.empty() || !options.baseline.empty() ||
      options.judging.margin || !options.price.empty())
    throw ConfigError("--fit cannot be combined with options of other analyses", "fit " + options.fit,
                      "leave out --lags, --thresholds, --baseline, --margin and pricing options");
  for (const char* extension : {".svg", ".png"}) {
    if (!options.out.empty()) files::check_output(options.out + extension, options.output.overwrite);
  }
  const analysis::LogSet logs = analysis::read_logs(options.arguments);
  const std::vector<analysis::RateFit> fits = analysis::fit_rates(logs.runs, variables.at(options.fit));
  std::vector<std::string> pictures;
  if (!options.out.empty()) pictures = draw_fits(fits, options.fit, options.out);
  if (options.json) {
    const Json json = Json::object(
        {{"fits", to_json(fits)}, {"left_out", Json::texts(logs.left_out)}, {"pictures", Json::texts(pictures)}});
    std::cout << json.text() << "\n";
    return kExitDone;
  }
  print_fits(fits, options.fit, std::cout);
  print_lines("left out", logs.left_out);
  if (!options.out.empty()) print_pictures(pictures, std::cout);
  return kExitDone;
}

int analyze_logs(const Options& options) {
  if (options.validate) return validate(options);
  const bool of_validation =
      !options.judging.freeze_at.empty() || !options.judging.measure.empty() || !options.judging.reference.empty();
  if (of_validation || !options.arms.arms.empty() || options.output.resume)
    throw ConfigError("these options need --validate", "freeze-at, measure, reference, arm, resume",
                      "give --validate, or leave them out");
  if (!options.run.settings.empty() || options.seeds > 1)
    throw ConfigError("options of a run need --validate",
                      options.run.settings.empty() ? "seeds" : options.run.settings.front().first,
                      "give --validate, which trains, or leave them out");
  if ((!options.out.empty() || options.output.overwrite || options.progress) && options.fit.empty())
    throw ConfigError("nothing to write without --validate or --fit", "out, overwrite, progress",
                      "leave them out, or use 'onebit report' to write a page");
  if (options.arguments.empty()) throw ConfigError("no log named", "analyze", "onebit analyze FILE.h5");
  if (!options.fit.empty()) return fit_logs(options);
  const bool one = options.arguments.size() == 1 && !std::filesystem::is_directory(options.arguments.front());
  return one ? analyze_one(options) : compare_logs(options);
}

}  // namespace

Command analyze_command() {
  return make_command(
      {.name = "analyze",
       .usage = "LOG.h5|DIR...",
       .doc = "show the variance, theory and problems of a logged run; compare the arms of several logs over seeds",
       .accepts = {.run = true, .price = Accepts::Price::of_runs, .target = true, .config = true, .preset = true},
       .help = {.common = {"lags", "thresholds", "baseline", "margin", "target", "cluster", "fit", "validate",
                           "freeze-at", "seeds", "out", "overwrite", "json"},
                .examples = {"onebit analyze run.h5", "onebit analyze out --baseline adam --cluster eth10"}}},
      rows(), analyze_logs);
}

}  // namespace onebit::experiments
