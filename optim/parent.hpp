#pragma once
// What an optimizer is held against.

#include <string_view>

namespace onebit::optim {

/// The dense optimizer that an optimizer approximates and is to be compared with, by name: 1-bit LAMB's is LAMB. Empty
/// for one that is dense itself, and for a name that the registry does not have.
std::string_view parent_of(std::string_view optimizer);

/// The optimizer that freezes its variance as this one does and then exchanges what it does, uncompressed, by name:
/// 1-bit Adam's is onebit-adam-32. From the same checkpoint it goes on with what the freeze alone changes. Empty where
/// nothing is frozen once, or nothing is compressed.
std::string_view uncompressed_twin_of(std::string_view optimizer);

}  // namespace onebit::optim
