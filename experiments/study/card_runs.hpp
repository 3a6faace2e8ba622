#pragma once
// Repeating the runs of a card.

#include "experiments/study/card.hpp"

namespace onebit::experiments {

/// Repeats the runs of a card that can be repeated: trains each of them into its own log in a folder. Returns the arms
/// in the order of the card. changes: settings that replace those of the card. Throws ConfigError if a change would
/// affect results, if the data differ from the card's, if the card would start a program that `changes` does not
/// name, or if this version of the program lacks an option of a run; throws whatever training throws.
ArmResults repeat(const Card& card, const Settings& changes, const std::string& folder, const Training& training);

}  // namespace onebit::experiments
