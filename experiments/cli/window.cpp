#include "experiments/cli/window.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "device/comm/process_group.hpp"

namespace onebit::experiments {
namespace {

constexpr Index kUsual = 80;  // of a terminal that does not report its width

}  // namespace

Index window_columns(int stream) {
  if (isatty(stream) != 1) return 0;
  struct winsize size {};
  return ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? Index{size.ws_col} : kUsual;
}

bool has_colours(int stream) {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool plain = terminal == nullptr || std::string_view(terminal) == "dumb";
  const bool passed_on = device::mpi_environment().size > 1;  // mpirun gives ranks a terminal of its own
  return (refused == nullptr || *refused == '\0') && !plain && !passed_on && isatty(stream) == 1;
}

}  // namespace onebit::experiments
