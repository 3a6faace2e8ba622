#include "experiments/cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "device/base/text.hpp"
#include "experiments/cli/window.hpp"
#include "experiments/output/screen.hpp"

namespace onebit::experiments {
namespace {

constexpr std::chrono::milliseconds kRefresh{100};  // between two updates of a line that overwrites itself
constexpr std::chrono::seconds kNewLine{10};        // between two lines elsewhere
constexpr std::chrono::milliseconds kWayToTerminal{100};

/// The progress line that is on the terminal now.
struct {
  bool there = false;
  Index columns = 0;  // of the terminal when the line was printed
} line;

/// Returns the sequence that erases the rest of the line. A terminal that has become narrower may have broken the line
/// in two: then everything from the cursor, which is at the start of the line, to the end of the screen is erased.
const char* erasing(Index columns) {
  return line.there && columns < line.columns ? "\033[J" : "\033[K";
}

std::string joined(const std::vector<ProgressPart>& parts) {
  std::string text;
  for (const ProgressPart& part : parts) {
    if (!part.text.empty()) text.append(text.empty() ? "" : "  ").append(printable(part.text));
  }
  return text;
}

}  // namespace

std::string progress_text(std::vector<ProgressPart> parts, Index columns) {
  const auto room = static_cast<std::size_t>(columns);
  while (columns > 0 && parts.size() > 1 && width_of(joined(parts)) > room) {
    parts.erase(std::ranges::max_element(parts, {}, &ProgressPart::leave_out));
  }
  return columns > 0 ? shortened(joined(parts), room) : joined(parts);
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(std::clamp(std::ceil(seconds), 0.0, 3.6e8));
  char text[64];
  if (whole < 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return text;
}

ProgressLine::ProgressLine(bool requested)
    : overwrites_(isatty(STDERR_FILENO) == 1 || std::getenv(kPassedOnVariable) != nullptr),
      shown_(overwrites_ || requested) {}

ProgressLine::~ProgressLine() {
  const bool is_passed_on = line.there && isatty(STDERR_FILENO) != 1;
  clear_progress();
  // The standard output of a rank takes another route to the terminal, and must not arrive before the line is erased.
  if (is_passed_on) std::this_thread::sleep_for(kWayToTerminal);
}

void ProgressLine::show(Index done, Index all, const Parts& parts) {
  const auto now = Clock::now();
  const bool last = done == all && last_done_ != all;
  if (!shown_ || (now - noted_ < kRefresh && !last)) return;
  noted_ = now;
  last_done_ = done;
  pace_.note(static_cast<double>(done), static_cast<double>(all), std::chrono::duration<double>(now - start_).count());
  if (!overwrites_ && now - printed_ < kNewLine && !last) return;
  printed_ = now;
  const Index columns = window_columns(STDERR_FILENO);
  const std::string text = progress_text(parts(pace_), std::max<Index>(columns - 1, 0));
  if (overwrites_) {
    std::fprintf(stderr, "\r%s%s\r", text.c_str(), erasing(columns));
    line = {true, columns};
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  std::fflush(stderr);
}

void clear_progress() {
  if (line.there) std::fprintf(stderr, "\r%s\r", erasing(window_columns(STDERR_FILENO)));
  std::fflush(stderr);
  line.there = false;
}

}  // namespace onebit::experiments
