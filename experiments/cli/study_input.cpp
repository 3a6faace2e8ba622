#include "experiments/cli/study_input.hpp"

#include "experiments/cli/terminal.hpp"

namespace onebit::experiments {

Study study_of(const StudyInput& input) {
  return {input.run, input.arms, input.seeds, input.out, training_of(input, input.output, input.progress)};
}

}  // namespace onebit::experiments
