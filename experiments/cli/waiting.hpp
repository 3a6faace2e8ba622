#pragma once
// How threads wait for each other. OpenMP's run-time libraries let them spin for milliseconds by default, which takes
// the cores from whatever else runs on the machine, and from the threads that are waited for: steps of a small model
// became 10 to 100 times slower. They read how long from the environment when the program is loaded.

#include <string>
#include <utility>
#include <vector>

namespace onebit::experiments {

/// The variables that let threads spin for microseconds before they sleep; none where the user has set one that is
/// about waiting.
std::vector<std::pair<std::string, std::string>> waiting_variables();

/// Starts this program anew with those variables, in this process, where there are any. Returns where there are none,
/// and where that is not possible: everything works without, but slowly on a busy machine. For the start of main,
/// before there are other threads. Programs that this one starts have the variables too.
void wait_briefly(char** arguments);

}  // namespace onebit::experiments
