#pragma once
// A card as a file for programs and as a page for people.

#include "experiments/output/output.hpp"
#include "experiments/study/card.hpp"

namespace onebit::experiments {

/// Returns the card. Each option is written at the level at which it has a single value: for all runs, for the runs of
/// an arm, or for one run. written_by: version and commit of this program.
Json to_json(const Card& card, const std::string& written_by);

/// Returns the card as a page in Markdown. file: name of the JSON file whose runs `onebit verify` repeats.
std::string markdown_of(const CardSubject& subject, const std::string& title, const std::string& file);

}  // namespace onebit::experiments
