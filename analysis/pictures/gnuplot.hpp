#pragma once
// gnuplot as a filter: a script goes in, a picture comes out. It is told no name: where it is given one, "|command" and
// "file" are the same to it.

#include <string>

namespace onebit::analysis {

/// Whether there is a gnuplot that runs.
bool has_gnuplot();

/// What it writes of the script, whose terminal is set. No shell starts it. Throws IoError where it fails or writes
/// nothing.
std::string gnuplot_picture(const std::string& script);

}  // namespace onebit::analysis
