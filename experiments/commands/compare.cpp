#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

#include "analysis/compare/comparison.hpp"
#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "experiments/cli/output_name.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/study_input.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output/analysis/deepspeed_output.hpp"
#include "experiments/output/arm_runs_output.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/output/pictures.hpp"
#include "experiments/output/screen.hpp"
#include "experiments/output/summary_output.hpp"
#include "experiments/study/arm_runs.hpp"

namespace onebit::experiments {
namespace {

struct Options : StudyInput {
  std::optional<double> margin;
  bool dry_run = false;
};

std::vector<Option<Options>> rows() {
  return joined<Options>(
      {{out_row<Options>("folder for logs, table and pictures", made_up_form("compare"))},
       arms_rows<Options>(),
       {seeds_row<Options>(),
        margin_row<Options>("relative difference of final losses within which arms are equivalent",
                            ONEBIT_PLACE(margin)),
        json_row<Options>(), dry_run_row<Options>(), overwrite_row<Options>(ONEBIT_PLACE(output.overwrite)),
        resume_row<Options>(), resume_allow_row<Options>(), progress_row<Options>()}});
}

void check(const Options& options) {
  refuse_arguments(options);
  files::check_output(options.out + "/runs.csv", true);
}

/// Compares the arms by their logs. Throws ConfigError if a log holds too little or the arms cannot be compared.
analysis::Comparison compared(const Options& options, const std::vector<analysis::Arm>& arms) {
  for (const analysis::Arm& arm : arms) std::ranges::for_each(arm.runs, analysis::require_enough);
  return analysis::compare(arms, {.margin = options.margin.value_or(analysis::default_margin)});
}

/// Prints how the arms differ, which is the answer.
void print_answer(const Options& options, const std::vector<analysis::Arm>& arms) {
  if (arms.size() < 2) return;
  try {
    (options.seeds < 2 ? print_single_seed : print_verdicts)(compared(options, arms), std::cout);
  } catch (const ConfigError& error) {
    std::cout << "\n";
    print_paragraph(std::cout, std::string("no verdicts: ") + error.what());
  }
}

Json with_verdicts(const Json& json, const Options& options, const std::vector<analysis::Arm>& arms) {
  if (options.seeds < 2 || arms.size() < 2) return json;
  try {
    return json.with("comparison", to_json(compared(options, arms)));
  } catch (const ConfigError& error) {
    return json.with("no_verdicts", std::string(error.what()));
  }
}

/// Returns the exit status. A diverged run counts as a result; a failed run makes the command fail.
int comparison_status(const ArmResults& results) {
  int status = results.complete ? kExitDone : kExitStopped;
  for (const analysis::Arm& arm : results.arms) {
    for (const analysis::Run& run : arm.runs) {
      if (run.summary.status != sim::RunStatus::failed) continue;
      print_error(run.summary.reason + " (" + run.summary.path + ")");
      status = kExitFailed;
    }
  }
  return status;
}

int compare(const Options& options) {
  if (options.out.empty())
    return compare(with_made_up_name(options, "compare", "", options.output.resume ? "--resume" : ""));
  check(options);
  const Study study = study_of(options);
  const std::vector<Arm> arms = arms_of(study.run, study.arms);
  const PriceConfig price = price_config_of(options.price);
  const Prices prices = prices_of(price);
  sim::DataCache data;
  const Index examples = check_arms(study, arms, prices, data);
  warn_of(idle_price_options(options.price, price));
  if (options.dry_run) {
    std::vector<Json> names;
    for (const Arm& arm : arms) names.emplace_back(arm.name);
    if (options.json) {
      const Json plan = Json::object({{"arms", Json::array(names)}, {"seeds", options.seeds}});
      std::cout << with_deepspeed(plan, options.run).text() << "\n";
      return kExitDone;
    }
    print_deepspeed(options.run, std::cout);
    for (const Arm& arm : arms) std::cout << arm.name << ": " << options.seeds << " runs\n";
    return kExitDone;
  }
  const ArmResults results = run_arms(study, arms, examples, data);
  write_csv(results.arms, options.out + "/runs.csv");
  const analysis::PricedArms priced =
      analysis::price_arms(results.arms, std::nan(""), prices.clusters, prices.rules, *prices.model);
  // Pictures of time are drawn only for clusters that were requested.
  const std::vector<std::string> pictures = draw_pictures(results.arms, priced.arms, price.names_clusters, options.out);
  if (options.json) {
    const Json json = with_verdicts(to_json(results.arms, priced, pictures), options, results.arms);
    std::cout << with_deepspeed(json, options.run).text() << "\n";
  } else {
    print_deepspeed(options.run, std::cout);
    print_details(results.arms, priced, std::cout);
    print_pictures(pictures, std::cout);
    print_arms(results.arms, priced, std::cout);
    print_answer(options, results.arms);
  }
  if (!results.complete) tell_how_to_continue(options, options.out, "--resume");
  return comparison_status(results);
}

}  // namespace

Command compare_command() {
  return make_command(
      {.name = "compare",
       .doc = "train arms on the same data and initial weights; write a table and pictures",
       .accepts = {.run = true, .price = Accepts::Price::of_runs, .config = true, .preset = true, .deepspeed = true},
       .help = {.common = {"out",   "preset",    "optimizers", "arm",       "seeds",   "margin",       "model",
                           "data",  "data.path", "workers",    "batch",     "steps",   "optimizer.lr", "freeze",
                           "codec", "cluster",   "resume",     "overwrite", "dry-run", "json"},
                .examples = {"onebit compare --model mlp --data synthetic --steps 200 -o out",
                             "onebit compare --preset ngram-family --seeds 3"}}},
      rows(), compare);
}

}  // namespace onebit::experiments
