#pragma once
// What an optimizer is held against.

#include <string_view>

#include "optim/config.hpp"

namespace onebit::optim {

/// The dense optimizer that an optimizer approximates and is to be compared with, by name: 1-bit LAMB's is LAMB. Empty
/// for one that is dense itself, and for a name that the registry does not have.
std::string_view parent_of(std::string_view optimizer);

/// The optimizer that freezes its variance as this one does and then exchanges what it does, uncompressed, by name:
/// 1-bit Adam's is onebit-adam-32, 0/1 Adam's zeroone-adam-32. What it costs against the dense optimizer is what the
/// freeze alone changes. Empty where nothing is frozen once, or nothing is compressed.
std::string_view uncompressed_twin_of(std::string_view optimizer);

/// Whether a run that freezes its variance has, up to that step, the bits of one that never does, so that it can branch
/// off: those that take a freeze policy. 0/1 Adam updates its variance rarely and compresses from the start.
bool is_dense_until_freeze(std::string_view optimizer);

/// The dense run that freezes are held against: the same optimizer, never frozen, or its parent where it is not dense
/// until the freeze.
OptimizerConfig never_frozen(OptimizerConfig config);

/// The same with its variance frozen after so many steps.
OptimizerConfig frozen_after(OptimizerConfig config, Index steps);

}  // namespace onebit::optim
