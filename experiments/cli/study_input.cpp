#include "experiments/cli/study_input.hpp"

#include "experiments/cli/output_name.hpp"
#include "experiments/cli/terminal.hpp"

namespace onebit::experiments {

Study study_of(const StudyInput& input) {
  Study study{input.run, input.arms, input.seeds, input.out, training_of(input, input.output, input.progress)};
  study.training.watcher.on_start = [&input, start = study.training.watcher.on_start] {
    tell_made_up_name(input, input.out);
    start();
  };
  return study;
}

}  // namespace onebit::experiments
