#include "experiments/cli/waiting.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace onebit::experiments {

std::vector<std::pair<std::string, std::string>> waiting_variables() {
  for (const char* given : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"}) {
    if (std::getenv(given) != nullptr) return {};
  }
  // GOMP_SPINCOUNT counts iterations of libgomp's waiting loop, here a few microseconds in all. KMP_BLOCKTIME is in
  // milliseconds; LLVM's libomp yields the core meanwhile. Going to sleep immediately would take as long as this short
  // loop.
  return {{"GOMP_SPINCOUNT", "1000"}, {"KMP_BLOCKTIME", "1"}};
}

void wait_briefly(char** arguments) {
  const auto variables = waiting_variables();
  if (variables.empty()) return;
  for (const auto& [name, value] : variables) {
    if (setenv(name.c_str(), value.c_str(), 1) != 0) return;  // otherwise the new program would restart itself forever
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv(program.c_str(), arguments);  // by its path, so that lists of processes show its name
  execv("/proc/self/exe", arguments);             // if the file has been replaced in the meantime
}

}  // namespace onebit::experiments
