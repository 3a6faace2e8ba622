#include "experiments/sweep/board.hpp"

#include <cstdio>

#include "experiments/output/output.hpp"

namespace onebit::experiments {

void Board::show(const Standing& standing) {
  if (before_ < 0) before_ = standing.ended;
  const auto now = Clock::now();
  if (!shown_ || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const std::chrono::duration<double> elapsed = now - start_;
  const auto count = [](Index value) { return std::to_string(value); };
  const Index ended = standing.ended - before_, left = standing.points - standing.ended;
  const double each = ended > 0 ? elapsed.count() / static_cast<double>(ended) : 0;
  std::string text =
      "sweep " + count(standing.ended) + "/" + count(standing.points) + "  " + count(standing.running) + " running";
  if (standing.failed > 0) text += "  " + count(standing.failed) + " failed";
  if (ended > 0) text += "  ETA " + number(each * static_cast<double>(left), 3) + " s";
  if (!standing.best_label.empty()) text += "  best " + number(standing.best, 5) + " (" + standing.best_label + ")";
  std::fprintf(stderr, "\r\033[K%.119s", printable(text).c_str());  // a line that wraps could not be overwritten
  std::fflush(stderr);
}

void Board::tell(const std::string& line) {
  clear();
  std::fprintf(stderr, "onebit: %s\n", printable(line).c_str());
}

void Board::clear() const {
  if (shown_) std::fputs("\r\033[K", stderr);
}

}  // namespace onebit::experiments
