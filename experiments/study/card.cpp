#include "experiments/study/card.hpp"

#include <filesystem>
#include <map>

#include "analysis/compare/comparison.hpp"
#include "device/base/error.hpp"
#include "experiments/study/log_settings.hpp"

namespace onebit::experiments {
namespace {

using analysis::Run;

/// Says why a run cannot be repeated; empty if it can.
std::string obstacle(const Run& run, const sim::LogReader& log) {
  const sim::RunStatus status = run.summary.status;
  if (status != sim::RunStatus::finished && status != sim::RunStatus::diverged)
    return "it did not finish: its status is " + sim::name_of(status);
  if (!has_first_options(log)) return "it was continued with other options, which its log does not record";
  if (!settings_of(run.header)) return "it is a replay, or this version of the program lacks one of its options";
  return "";
}

CardRun card_run(const analysis::Arm& arm, const Run& run, const std::string& not_repeated) {
  CardRun result{.result = expected_of(arm.name, run),
                 .log = std::filesystem::path(run.summary.path).filename().string(),
                 .header = run.header,
                 .not_repeated = not_repeated};
  result.header.tensors.clear();
  return result;
}

}  // namespace

std::vector<CardVerdict> verdicts_of(const std::vector<analysis::Arm>& arms, const std::string& baseline,
                                     double margin) {
  const analysis::Comparison comparison =
      analysis::compare(arms, {.baseline = baseline, .margin = margin, .clusters = {}, .rules = {}});
  std::vector<CardVerdict> verdicts;
  for (const auto* list : {&comparison.verdicts, &comparison.other_rates}) {
    for (const analysis::Verdict& verdict : *list) {
      verdicts.push_back({verdict.arm, verdict.baseline, std::string(name(verdict.judgement)), verdict.sentence});
    }
  }
  return verdicts;
}

CardSubject card_of(std::span<const std::string> paths, const std::string& baseline, double margin) {
  std::map<std::string, std::string> obstacles;  // by path
  analysis::LogSet set = analysis::read_logs(paths, [&](const std::string& path) {
    const sim::LogReader log(path);
    Run run = analysis::load_run(log);
    obstacles[run.summary.path] = obstacle(run, log);
    return run;
  });
  CardSubject subject{analysis::arms_of(std::move(set.runs)), {.baseline = baseline, .margin = margin}};
  Card& card = subject.card;
  card.left_out = std::move(set.left_out);
  for (const analysis::Arm& arm : subject.arms) {
    for (const Run& run : arm.runs) card.runs.push_back(card_run(arm, run, obstacles.at(run.summary.path)));
  }
  if (std::ranges::none_of(card.runs, [](const CardRun& run) { return run.not_repeated.empty(); })) {
    throw ConfigError("no run can be repeated", card.runs.front().log + ": " + card.runs.front().not_repeated,
                      "a card needs a run that finished or diverged");
  }
  try {
    card.verdicts = verdicts_of(subject.arms, baseline, margin);
    if (card.verdicts.empty()) card.no_verdicts = "there is only one arm";
  } catch (const ConfigError& error) {
    if (!baseline.empty()) throw;
    card.no_verdicts = error.what();
  }
  return subject;
}

}  // namespace onebit::experiments
