#include <iostream>

#include "experiments/cli/rows.hpp"
#include "experiments/cli/study_input.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/validation_options.hpp"
#include "experiments/output/freeze_output.hpp"
#include "experiments/study/freeze_answer.hpp"

namespace onebit::experiments {
namespace {

struct Options : StudyInput {
  Options() { seeds = 5; }
  ValidationOptions judging;
};

std::vector<Option<Options>> rows() {
  return joined<Options>(
      {{field<Options>("out", "folder for the logs", ONEBIT_PLACE(out)),
        seeds_row<Options>("number of seeds, at least 3: the first chooses the freeze step, the others judge it"),
        arm_after_freeze_row<Options>(), json_row<Options>(), overwrite_row<Options>(ONEBIT_PLACE(output.overwrite)),
        resume_row<Options>(), progress_row<Options>()},
       judging_rows<Options>()});
}

int answer(const Options& options) {
  const PriceConfig price = price_config_of(options.price);
  const Study study = study_of(options);
  const FreezeAnswer found = answer_freeze(study, request_of(options.judging, price.target), prices_of(price));
  if (!found.complete) return kExitStopped;
  if (options.json) {
    std::cout << to_json(found).text() << "\n";
  } else {
    print_answer(found, std::cout);
  }
  return kExitDone;
}

}  // namespace

Command freeze_command() {
  return make_command(
      {.name = "freeze",
       .doc = "use trial runs to find how soon the variance may be frozen, and what that costs and saves",
       .accepts = {.run = true, .price = Accepts::Price::of_runs, .target = true, .config = true, .preset = true}},
      rows(), answer);
}

}  // namespace onebit::experiments
