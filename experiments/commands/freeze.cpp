#include <cmath>
#include <iostream>

#include "experiments/cli/output_name.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/study_input.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/validation_options.hpp"
#include "experiments/output/analysis/freeze_output.hpp"
#include "experiments/study/freeze_answer.hpp"

namespace onebit::experiments {
namespace {

struct Options : StudyInput {
  Options() { seeds = 5; }
  ValidationOptions judging;
};

std::vector<Option<Options>> rows() {
  return joined<Options>(
      {{out_row<Options>("folder for the logs", made_up_form("freeze")),
        seeds_row<Options>(
            "number of seeds, at least 3: the first is used to choose the freeze step, the others to judge it"),
        arm_after_freeze_row<Options>(), json_row<Options>(), overwrite_row<Options>(ONEBIT_PLACE(output.overwrite)),
        resume_row<Options>(), progress_row<Options>()},
       judging_rows<Options>()});
}

/// Returns a command that judges freezes at twice and at four times the step that cost too much, or halfway from there
/// to the end of the run if both are too late.
std::string command_for_later_steps(const Options& options, const FreezeAnswer& found) {
  std::vector<std::string> steps;
  for (const Index step : {2 * found.freeze_step, 4 * found.freeze_step}) {
    if (step < found.steps) steps.push_back(std::to_string(step));
  }
  if (steps.empty()) steps = {std::to_string((found.freeze_step + found.steps) / 2)};
  std::string text = "onebit analyze --validate --freeze-at " + join(steps, ",");
  const auto add = [&text](const std::string& name, const std::string& value) {
    if (!value.empty()) text += " --" + name + " " + shell_word(value);
  };
  add("preset", options.run.preset);
  for (std::size_t i = options.run.from_preset; i < options.run.settings.size(); ++i) {
    add(options.run.settings[i].first, options.run.settings[i].second);
  }
  for (const std::string& arm : options.arms.arms) add("arm", arm);
  add("seeds", std::to_string(options.seeds));
  add("measure", options.judging.measure);
  add("reference", options.judging.reference);
  if (const double target = price_config_of(options.price).target; std::isfinite(target))
    add("target", shortest(target));
  if (options.judging.margin) add("margin", shortest(*options.judging.margin));
  add("out", options.out.substr(0, options.out.find_last_not_of('/') + 1) + "-later");
  return text;
}

int answer(const Options& options) {
  if (options.out.empty())
    return answer(with_made_up_name(options, "freeze", "", options.output.resume ? "--resume" : ""));
  const PriceConfig price = price_config_of(options.price);
  const Study study = study_of(options);
  const FreezeAnswer found = answer_freeze(study, request_of(options.judging, price.target), prices_of(price));
  if (!found.complete) {
    tell_how_to_continue(options, options.out, "--resume");
    return kExitStopped;
  }
  if (options.json) {
    std::cout << to_json(found).text() << "\n";
  } else {
    print_answer(found, command_for_later_steps(options, found), std::cout);
  }
  return kExitDone;
}

}  // namespace

Command freeze_command() {
  return make_command(
      {.name = "freeze",
       .doc = "use trial runs to find how soon the variance may be frozen, and what that costs and saves",
       .accepts = {.run = true, .price = Accepts::Price::of_runs, .target = true, .config = true, .preset = true},
       .help = {.common = {"out", "preset", "optimizer", "optimizer.lr", "model", "data", "data.path", "workers",
                           "batch", "steps", "seeds", "margin", "measure", "target", "cluster", "resume", "overwrite",
                           "json"},
                .examples = {"onebit freeze --preset freeze-validation --seeds 5 -o freeze",
                             "onebit freeze --model mlp --data synthetic --optimizer onebit-adam"}}},
      rows(), answer);
}

}  // namespace onebit::experiments
