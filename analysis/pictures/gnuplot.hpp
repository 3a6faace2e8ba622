#pragma once
// gnuplot as a filter: a script goes in, a picture comes out. It is never given a file name, because gnuplot would run
// a name such as "|command" as a command.

#include <string>

namespace onebit::analysis {

/// Whether gnuplot is installed and runs.
bool has_gnuplot();

/// Returns what gnuplot writes for a script that sets its terminal. gnuplot is started without a shell. Throws IoError
/// where it fails or writes nothing.
std::string gnuplot_picture(const std::string& script);

}  // namespace onebit::analysis
