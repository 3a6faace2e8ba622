#pragma once
// Errors of Boost.Program_options in this program's words.

#include <boost/program_options/errors.hpp>
#include <string>

namespace onebit::experiments {

/// Returns what the parser rejected. Never ask the error for its own text: Boost 1.74 loops forever where the user's
/// text holds one of its placeholders, such as %option%.
std::string reason_of(const boost::program_options::error& error);

}  // namespace onebit::experiments
