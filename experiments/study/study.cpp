#include "experiments/study/study.hpp"

namespace onebit::experiments {

void warn_of_idle_options(const Study& study, const std::vector<GivenRun>& runs) {
  const std::string text = text_of(idle_options(given_options(study.run), runs));
  if (!text.empty()) study.training.watcher.on_warning(text);
}

}  // namespace onebit::experiments
