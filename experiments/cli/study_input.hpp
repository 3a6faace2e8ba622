#pragma once
// Options that are common to the commands that train a study.

#include <string>

#include "experiments/cli/command.hpp"
#include "experiments/study/study.hpp"

namespace onebit::experiments {

struct StudyInput : CommandInput {
  std::string out;
  ArmTexts arms;
  Index seeds = 1;
  OutputPolicy output;
  bool json = false, progress = false;
};

/// Returns the study that the options describe; training_of says how its runs are trained. The options must outlive it.
Study study_of(const StudyInput& input);

}  // namespace onebit::experiments
