#pragma once
// A card: what somebody else needs to repeat the runs of a study and to check its results.

#include <span>
#include <string>
#include <vector>

#include "analysis/compare/verdict.hpp"
#include "experiments/study/expected.hpp"

namespace onebit::experiments {

inline constexpr const char* kCardFormat = "onebit-card";
inline constexpr Index kCardVersion = 1;

/// A run of a card.
struct CardRun {
  ExpectedRun result;
  std::string log;           ///< file name of its log
  sim::LogHeader header;     ///< its seed, options and origin, and the hash of its data; no tensors
  std::string not_repeated;  ///< why the run cannot be repeated; empty if it can
};

struct CardVerdict {
  std::string arm, baseline, judgement, sentence;
};

struct Card {
  std::string baseline = {};                 ///< the requested baseline of the verdicts; empty: each arm's parent
  double margin = analysis::default_margin;  ///< margin of the verdicts
  std::vector<CardRun> runs = {};            ///< runs, arm by arm
  std::vector<CardVerdict> verdicts = {};    ///< verdicts; none if no two runs can be compared
  std::string no_verdicts = {};              ///< why there are no verdicts; empty if there are some
  std::vector<std::string> left_out = {};    ///< unusable logs, one line for each
};

/// The arms of a card, and their verdicts.
struct CardSubject {
  std::vector<analysis::Arm> arms;
  Card card;
};

/// Makes a card from logs and from folders with logs. Throws what analysis::read_logs throws, and ConfigError if no run
/// can be repeated or `baseline` is not an arm.
CardSubject card_of(std::span<const std::string> paths, const std::string& baseline, double margin);

/// Returns the verdicts on arms by the card's criteria. Throws what analysis::compare throws.
std::vector<CardVerdict> verdicts_of(const std::vector<analysis::Arm>& arms, const std::string& baseline,
                                     double margin);

/// Reads a card. Throws ConfigError for a file that is not a card, was written in a newer format, or is incomplete.
Card read_card(const std::string& path);

}  // namespace onebit::experiments
