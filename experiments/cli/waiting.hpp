#pragma once
// How threads wait for each other. By default OpenMP's run-time libraries spin for milliseconds, which takes the cores
// from everything else on the machine, including the threads they wait for. This made steps of a small model 10 to 100
// times slower. The libraries read the spin time from the environment when the program is loaded.

#include <string>
#include <utility>
#include <vector>

namespace onebit::experiments {

/// Returns the environment variables that make threads spin for microseconds before they sleep. Returns none if the
/// user has already set a variable that controls waiting.
std::vector<std::pair<std::string, std::string>> waiting_variables();

/// Restarts this program in the same process with waiting_variables() set. Returns if there are no variables to set, or
/// if the restart fails; the program works without these variables, but slowly on a busy machine. Call it at the start
/// of main, before there are other threads. Child processes inherit the variables.
void wait_briefly(char** arguments);

}  // namespace onebit::experiments
