#include "sim/run/pause_point.hpp"

#include <csignal>
#include <cstdlib>
#include <string>

namespace onebit::sim {

void pause_point(const char* name) {
  static const char* const wanted = std::getenv("ONEBIT_PAUSE_AT");
  if (wanted == nullptr) return;
  static const std::string text(wanted);
  static const std::size_t colon = text.find(':');
  static long passages = colon == std::string::npos ? 1 : std::strtol(text.c_str() + colon + 1, nullptr, 10);
  if (text.compare(0, colon, name) == 0 && --passages == 0) std::raise(SIGSTOP);
}

}  // namespace onebit::sim
