#pragma once
// What an optimizer is held against.

#include <string_view>

namespace onebit::optim {

/// The dense optimizer that an optimizer approximates and is to be compared with, by name: 1-bit LAMB's is LAMB. Empty
/// for one that is dense itself, and for a name that the registry does not have.
std::string_view parent_of(std::string_view optimizer);

}  // namespace onebit::optim
