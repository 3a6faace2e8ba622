#pragma once
// Error messages for what Boost.Program_options rejects.

#include <boost/program_options/errors.hpp>
#include <string>

namespace onebit::experiments {

/// Describes what the parser rejected. Never call the error's what(): Boost 1.74 loops forever if the user's text
/// contains one of its placeholders, such as %option%.
std::string reason_of(const boost::program_options::error& error);

}  // namespace onebit::experiments
