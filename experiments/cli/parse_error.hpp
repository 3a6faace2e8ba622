#pragma once
// Errors of Boost.Program_options in our words.

#include <boost/program_options/errors.hpp>
#include <string>

namespace onebit::experiments {

/// What the parser found fault with. Its own text must not be asked for: Boost 1.74 never ends where the user's text
/// holds one of its placeholders, such as %option%.
std::string reason_of(const boost::program_options::error& error);

}  // namespace onebit::experiments
