#include "experiments/sweep/board.hpp"

#include <cmath>

#include "device/base/text.hpp"
#include "experiments/cli/terminal.hpp"

namespace onebit::experiments {
namespace {

std::vector<ProgressPart> parts_of(const Standing& standing, const Pace& pace) {
  std::vector<ProgressPart> parts = {
      {"sweep " + std::to_string(standing.ended) + "/" + std::to_string(standing.points), 0},
      {std::to_string(standing.running) + " running", 3}};
  if (standing.failed > 0) parts.push_back({std::to_string(standing.failed) + " failed", 2});
  if (!std::isnan(pace.seconds_left())) parts.push_back({"ETA " + clock_text(pace.seconds_left()), 1});
  if (!standing.best_label.empty()) {
    parts.push_back({"best " + number(standing.best, 5), 4});
    parts.push_back({"(" + standing.best_label + ")", 5});
  }
  return parts;
}

}  // namespace

void Board::show(const Standing& standing) {
  line_.show(standing.ended, standing.points, [&](const Pace& pace) { return parts_of(standing, pace); });
}

void Board::tell(const std::string& line) {
  say(line);
}

}  // namespace onebit::experiments
