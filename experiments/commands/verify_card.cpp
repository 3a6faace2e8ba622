#include "experiments/commands/verify_card.hpp"

#include <algorithm>
#include <iostream>
#include <optional>

#include "device/base/error.hpp"
#include "device/base/temporary_folder.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/output/analysis/agreement_output.hpp"
#include "experiments/study/card_runs.hpp"

namespace onebit::experiments {
namespace {

/// Throws ConfigError for an option that says which runs to train, because the card determines that. The command's
/// default preset has such options, too, so this checks the words of the command line, not the settings.
void check_options(const StudyInput& options) {
  if (options.arguments.size() > 1)
    throw ConfigError("a card must be the only argument", options.arguments[1], "give one CARD.json and nothing else");
  for (const std::string& word : options.words) {
    for (const std::string option : {"--preset", "--config", "--seeds", "--optimizers", "--arm"}) {
      if (word == option || word.starts_with(option + "="))
        throw ConfigError("the card determines which runs to train", word, "leave the option out");
    }
  }
}

/// A verdict that is not the recorded one.
struct Change {
  CardVerdict recorded, now;
};

std::vector<Change> changes_of(const std::vector<CardVerdict>& recorded, const std::vector<CardVerdict>& now) {
  std::vector<Change> changes;
  for (const CardVerdict& before : recorded) {
    const auto found = std::ranges::find_if(
        now, [&](const CardVerdict& each) { return each.arm == before.arm && each.baseline == before.baseline; });
    const CardVerdict after = found == now.end() ? CardVerdict{before.arm, before.baseline, "none", "none"} : *found;
    if (after.judgement != before.judgement) changes.push_back({before, after});
  }
  return changes;
}

/// Result of checking the verdicts of a card.
struct VerdictCheck {
  std::vector<Change> changes;
  std::string left_out;  ///< why they are not checked; empty if they are
};

VerdictCheck check_verdicts(const Card& card, const std::vector<analysis::Arm>& arms) {
  if (card.verdicts.empty()) return {{}, card.no_verdicts};
  const auto missing = [](const CardRun& run) { return !run.not_repeated.empty(); };
  if (std::ranges::any_of(card.runs, missing)) return {{}, "the card has runs that cannot be repeated"};
  return {changes_of(card.verdicts, verdicts_of(arms, card.baseline, card.margin)), ""};
}

void print(const VerdictCheck& check, std::size_t count, std::ostream& out) {
  if (!check.left_out.empty()) {
    out << "verdicts are not checked: " << check.left_out << "\n";
    return;
  }
  for (const Change& change : check.changes) {
    out << "different verdict: " << change.now.sentence << "\n";
    out << "  the card says: " << change.recorded.sentence << "\n";
  }
  if (check.changes.empty()) out << "all verdicts (" << count << ") have the same judgement as on the card\n";
}

Json json_of(const std::vector<Change>& changes) {
  std::vector<Json> items;
  for (const Change& change : changes) {
    items.push_back(Json::object({{"arm", change.recorded.arm},
                                  {"baseline", change.recorded.baseline},
                                  {"recorded", change.recorded.judgement},
                                  {"now", change.now.judgement}}));
  }
  return Json::array(items);
}

/// Returns one line for each run of the card that cannot be repeated, and one for each log that was left out of it.
std::vector<std::string> gaps_of(const Card& card) {
  std::vector<std::string> lines;
  for (const CardRun& run : card.runs) {
    if (!run.not_repeated.empty()) lines.push_back("not repeated: " + run.log + ": " + run.not_repeated);
  }
  for (const std::string& line : card.left_out) lines.push_back("left out of the card: " + line);
  return lines;
}

/// Returns the settings that the command line gives, without those of the command's default preset.
Settings given(const RunSettings& run) {
  return {run.settings.begin() + static_cast<std::ptrdiff_t>(run.from_preset), run.settings.end()};
}

std::vector<ExpectedRun> expected_runs(const Card& card) {
  std::vector<ExpectedRun> expected;
  for (const CardRun& run : card.runs) {
    if (run.not_repeated.empty()) expected.push_back(run.result);
  }
  return expected;
}

}  // namespace

int verify_card(const StudyInput& options) {
  check_options(options);
  const Card card = read_card(options.arguments.front());
  for (const std::string& line : gaps_of(card)) warn(line);
  const std::optional<TemporaryFolder> folder =
      options.out.empty() ? std::make_optional<TemporaryFolder>("onebit-verify") : std::nullopt;
  const ArmResults results = repeat(card, given(options.run), folder ? folder->path() : options.out,
                                    training_of(options, options.output, options.progress));
  if (!results.complete) {
    say(std::string("stopped before all runs of the card were done, so there is no verdict") +
        (folder ? "" : "; --overwrite starts again"));
    return kExitStopped;
  }
  const std::vector<ExpectedRun> expected = expected_runs(card);
  const std::vector<ArmAgreement> arms = agreements(expected, results.arms);
  const VerdictCheck verdicts = check_verdicts(card, results.arms);
  const bool agrees = agree(arms) && verdicts.changes.empty();
  if (options.json) {
    std::cout << Json::object({{"card", options.arguments.front()},
                               {"arms", to_json(arms)},
                               {"changed_verdicts", json_of(verdicts.changes)},
                               {"verdicts_not_checked", verdicts.left_out},
                               {"not_repeated", Json::texts(gaps_of(card))},
                               {"agrees", Json::boolean(agrees)}})
                     .text()
              << "\n";
  } else {
    print(arms, "card", std::cout);
    print(verdicts, card.verdicts.size(), std::cout);
    std::cout << expected.size() << " of " << card.runs.size() << " runs were repeated; " << sentence_of(agrees, arms)
              << "\n";
  }
  return agrees ? kExitDone : kExitFailed;
}

}  // namespace onebit::experiments
