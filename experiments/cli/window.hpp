#pragma once
// The terminal to which a standard stream is connected.

#include "device/base/types.hpp"

namespace onebit::experiments {

/// Returns the current width of the terminal in characters; 0 if the stream is not a terminal. stream: STDOUT_FILENO or
/// STDERR_FILENO.
Index window_columns(int stream);

/// Whether the stream is a terminal on which colours are wanted: NO_COLOR is not set, and TERM is not "dumb".
bool has_colours(int stream);

}  // namespace onebit::experiments
