#pragma once
// The options that commands which train a study have in common.

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

/// Returns the study of a command; see training_of.
Study study_of(const StudyInput& input);

}  // namespace onebit::experiments
