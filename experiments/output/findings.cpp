#include "experiments/output/findings.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "analysis/compare/references.hpp"
#include "experiments/output/pricing/cost_output.hpp"

namespace onebit::experiments {
namespace {

using analysis::Arm;

bool is_number(const std::string& word) {
  char* end = nullptr;
  std::strtod(word.c_str(), &end);
  return !word.empty() && *end == '\0';
}

/// Returns a text in pieces: words, and the characters between them.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces = {""};
  for (const char c : text) {
    if (std::string_view(" (),;:%").find(c) == std::string_view::npos) {
      pieces.back() += c;
    } else {
      pieces.insert(pieces.end(), {std::string(1, c), ""});
    }
  }
  return pieces;
}

/// Whether two texts are equal but for their numbers. Digits within a word, such as a tensor's name, count as text.
bool differ_in_numbers(const std::string& a, const std::string& b) {
  return std::ranges::equal(pieces_of(a), pieces_of(b), [](const std::string& left, const std::string& right) {
    return left == right || (is_number(left) && is_number(right));
  });
}

/// Returns texts that differ only in numbers as one text with their ranges: "ended at 11.9–14.2".
std::string merged(const std::vector<std::string>& texts) {
  std::vector<std::vector<std::string>> all;
  for (const std::string& text : texts) all.push_back(pieces_of(text));
  std::string text;
  for (std::size_t i = 0; i < all.front().size(); ++i) {
    const auto at = [i](const std::vector<std::string>& pieces) -> const std::string& { return pieces[i]; };
    const auto value = [&](const std::vector<std::string>& pieces) { return std::strtod(at(pieces).c_str(), nullptr); };
    const bool same = std::ranges::all_of(all, [&](const auto& pieces) { return at(pieces) == at(all.front()); });
    text += same ? at(all.front())
                 : at(*std::ranges::min_element(all, {}, value)) + "–" + at(*std::ranges::max_element(all, {}, value));
  }
  return text;
}

/// Findings with one cause, on several runs.
struct Group {
  analysis::Cause cause;
  analysis::Severity severity;
  std::string hint;                ///< that of the first run
  std::vector<std::string> texts;  ///< equal but for numbers
  std::map<std::size_t, std::vector<std::uint32_t>> seeds;
  std::vector<std::string> paths;

  bool takes(const analysis::Finding& finding, std::size_t arm) const {
    const bool of_one_arm = seeds.size() == 1 && seeds.contains(arm);
    const bool equal = std::ranges::count(texts, finding.text) == std::ssize(texts);
    return severity == finding.severity && ((equal && (of_one_arm || hint == finding.hint)) ||
                                            (of_one_arm && differ_in_numbers(texts.front(), finding.text)));
  }
};

void add(const analysis::Finding& finding, std::size_t arm, const analysis::Run& run, std::vector<Group>& groups) {
  auto group = std::ranges::find_if(groups, [&](const Group& each) { return each.takes(finding, arm); });
  if (group == groups.end()) {
    group = groups.insert(groups.end(), {.cause = finding.cause,
                                         .severity = finding.severity,
                                         .hint = finding.hint,
                                         .texts = {},
                                         .seeds = {},
                                         .paths = {}});
  }
  group->texts.push_back(finding.text);
  group->seeds[arm].push_back(run.summary.seed);
  group->paths.push_back(run.summary.path);
}

/// Returns findings without notes. If exploding compressed steps explain a divergence or a final loss above the
/// starting loss, this becomes part of the finding on these steps, because the advice on one would contradict that on
/// the other. Likewise, a rise at the freeze becomes part of the finding that the run ended above its start, which then
/// gives the advice on the rise.
std::vector<analysis::Finding> causes(std::vector<analysis::Finding> findings) {
  const auto cause = [&](analysis::Cause wanted) {
    return std::ranges::find(findings, wanted, &analysis::Finding::cause);
  };
  for (const analysis::Cause harm : {analysis::Cause::diverged, analysis::Cause::ended_above_start}) {
    const auto explosion = cause(analysis::Cause::compressed_steps_explode), end = cause(harm);
    if (explosion == findings.end() || end == findings.end()) continue;
    explosion->text += (harm == analysis::Cause::diverged ? "; the run diverged: " : "; ") + end->text;
    explosion->severity = std::max(explosion->severity, end->severity);
    findings.erase(end);
  }
  const auto rise = cause(analysis::Cause::loss_rose_at_freeze), risen = cause(analysis::Cause::ended_above_start);
  if (rise != findings.end() && risen != findings.end()) {
    risen->text += "; " + rise->text;
    risen->hint = rise->hint;
    risen->cause = rise->cause;
    findings.erase(rise);
  }
  std::erase_if(findings, [](const auto& finding) { return finding.severity == analysis::Severity::note; });
  return findings;
}

/// An arm's findings, one list for each of its runs.
using RunFindings = std::vector<std::vector<analysis::Finding>>;

RunFindings findings_on(const Arm& arm) {
  RunFindings findings;
  for (const analysis::Run& run : arm.runs)
    findings.push_back(causes(analysis::diagnose(sim::LogReader(run.summary.path))));
  return findings;
}

/// Whether every run of an arm finished below its starting loss.
bool all_trained(const Arm& arm) {
  return std::ranges::all_of(arm.runs, [](const analysis::Run& run) {
    return outcome_of(run) == analysis::Outcome::finished && !ended_above_start(run);
  });
}

bool explodes(const RunFindings& findings) {
  return std::ranges::any_of(findings, [](const std::vector<analysis::Finding>& run) {
    return std::ranges::count(run, analysis::Cause::compressed_steps_explode, &analysis::Finding::cause) > 0;
  });
}

/// Returns the highest learning rate below an arm's, with otherwise the same options, at which every run finished below
/// its starting loss and no compressed steps exploded; nothing if there is none.
std::optional<double> safe_rate(const analysis::RateGrid& grid, std::span<const Arm> arms,
                                std::span<const RunFindings> findings, std::size_t arm) {
  const double own = grid.rates[static_cast<std::size_t>(std::ranges::find(grid.arms, arm) - grid.arms.begin())];
  std::optional<double> safe;
  for (std::size_t i = 0; i < grid.arms.size(); ++i) {
    const std::size_t other = grid.arms[i];
    if (grid.rates[i] < own && all_trained(arms[other]) && !explodes(findings[other])) safe = grid.rates[i];
  }
  return safe;
}

/// Adds to advice on the learning rate, or on exploding steps, that runs at a lower learning rate went well.
void advise(double safe, analysis::Finding& finding) {
  const std::string lower = "lower optimizer.lr";
  const std::string at = " (at " + shortest(safe) + ", every run ended below its starting loss)";
  if (finding.hint.starts_with(lower)) {
    finding.hint.insert(lower.size(), at);
  } else if (finding.cause == analysis::Cause::compressed_steps_explode) {
    finding.hint = lower + at + "; if you keep this rate, " + finding.hint;
  }
}

std::string runs_text(const SharedFinding& finding, std::span<const Arm> arms) {
  std::vector<std::string> runs;
  for (const auto& [arm, seeds] : finding.seeds) runs.push_back(arms[arm].name + ", " + seeds_text(seeds));
  return join(runs, "; ");
}

/// Returns "out/adam-1.h5 and 1 more".
std::string files_text(const SharedFinding& finding) {
  const std::size_t others = finding.paths.size() - 1;
  return finding.paths.front() + (others > 0 ? " and " + std::to_string(others) + " more" : "");
}

/// Returns "problem: the loss ended at 11.9–14.2, ...".
std::string severe_text(const SharedFinding& finding) {
  return std::string(analysis::name(finding.severity)) + ": " + finding.text;
}

}  // namespace

std::vector<SharedFinding> findings_of(std::span<const Arm> arms) {
  std::vector<Group> groups;
  const std::vector<analysis::RateGrid> grids = analysis::rate_grids(arms);
  std::vector<RunFindings> all;
  for (const Arm& arm : arms) all.push_back(findings_on(arm));
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const std::optional<double> safe =
        all_trained(arms[a]) ? std::nullopt : safe_rate(analysis::grid_with(grids, a), arms, all, a);
    for (std::size_t r = 0; r < arms[a].runs.size(); ++r) {
      for (analysis::Finding finding : all[a][r]) {
        if (safe) advise(*safe, finding);
        add(finding, a, arms[a].runs[r], groups);
      }
    }
  }
  std::vector<SharedFinding> findings;
  for (Group& group : groups) {
    findings.push_back({group.cause, group.severity, merged(group.texts), std::move(group.hint), std::move(group.seeds),
                        std::move(group.paths)});
  }
  return findings;
}

std::string plain_line_of(const SharedFinding& finding, std::span<const Arm> arms) {
  return runs_text(finding, arms) + ": " + finding.text + " (" + files_text(finding) + ")";
}

std::string line_of(const SharedFinding& finding, std::span<const Arm> arms) {
  const std::string hint = finding.hint.empty() ? "" : "; " + finding.hint;
  return runs_text(finding, arms) + ": " + severe_text(finding) + hint + " (" + files_text(finding) + ")";
}

std::string line_on(const std::vector<std::string>& names, const SharedFinding& finding, std::span<const Arm> arms) {
  SharedFinding part = finding;
  std::erase_if(part.seeds,
                [&](const auto& runs) { return std::ranges::find(names, arms[runs.first].name) == names.end(); });
  if (part.seeds.empty()) return "";
  return capitalised(std::string(analysis::name(part.severity))) + ": " + runs_text(part, arms) + ": " + part.text;
}

}  // namespace onebit::experiments
