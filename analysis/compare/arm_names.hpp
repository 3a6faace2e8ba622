#pragma once
// Names of arms, made from the options in which they differ.

#include <map>
#include <span>
#include <string>
#include <vector>

namespace onebit::analysis {

/// Option that holds the name that a user gave to a run's arm.
inline constexpr const char* kLabel = "label";

/// Returns a name for each of several distinct configurations (maps from option to value). A name consists of differing
/// options, but only of as many as are needed to distinguish all configurations. kLabel comes first, then the optimizer
/// and its learning rate. The label and the optimizer appear as bare values; other options appear with the last part of
/// their name if that part is unambiguous: "onebit-adam, lr 0.001"; "lr" is always optimizer.lr. An option that a
/// configuration lacks appears as "unset". A single configuration is named after its label or else its optimizer, or
/// "run" if it has neither.
std::vector<std::string> arm_names(std::span<const std::map<std::string, std::string>> arms);

/// Explains each label of the configurations by the options that distinguish it from the others, except options that
/// vary within a label or have no effect with its optimizer and codec: "small is adam, batch 8; ef-sgd has codec
/// top-k". Returns an empty text if there are no labels, or if labels differ only in the optimizers that they name.
std::string label_meanings(std::span<const std::map<std::string, std::string>> arms);

/// Returns an arm's name as it appears in a sentence: "adam (lr 0.01, batch 8)" for "adam, lr 0.01, batch 8".
std::string spoken_name(const std::string& name);

/// Whether an arm's name contains the learning rate that its options give, as in "adam, lr 0.01".
bool names_rate(const std::string& name, const std::map<std::string, std::string>& arm);

/// Whether an option of an optimizer or a codec has an effect in this configuration, insofar as that depends on the
/// optimizer and the codec.
bool has_effect(const std::string& option, const std::map<std::string, std::string>& arm);

/// Whether value a of an option comes before value b. Numbers are ordered by size and come before words; values such as
/// fixed:20 and fixed:100 are ordered by what follows the colon.
bool value_before(const std::string& a, const std::string& b);

/// Whether configuration a comes before b. Compares the values of their options: first the label, then the optimizer,
/// then the learning rate, then all other options in the order of their names. Numbers are ordered by size and come
/// before other values.
bool options_before(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b);

/// Returns the number that the whole text represents; NaN if the text is not a number.
double number_in(const std::string& text);

}  // namespace onebit::analysis
