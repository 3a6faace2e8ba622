#pragma once
// gnuplot as a filter: a script goes in, a picture comes out. gnuplot is never given a file name, because it would run
// a name such as "|command" as a command.

#include <chrono>
#include <string>

namespace onebit::analysis {

/// The longest time that gnuplot may take for a picture. gnuplot is killed after that.
constexpr std::chrono::milliseconds kGnuplotLimit{60'000};

/// Whether gnuplot is installed and runs.
bool has_gnuplot();

/// Returns what gnuplot writes for a script that sets its terminal. gnuplot is started without a shell and creates no
/// files: its input and output stay in memory. Throws IoError if it fails, writes nothing, takes longer than `limit`,
/// or a signal reaches this program meanwhile; gnuplot is then killed.
std::string gnuplot_picture(const std::string& script, std::chrono::milliseconds limit = kGnuplotLimit);

}  // namespace onebit::analysis
