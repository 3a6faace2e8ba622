#include "experiments/output/findings.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "analysis/compare/rate_grid.hpp"
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

  bool takes(const std::string& text, std::size_t arm) const {
    const bool of_one_arm = seeds.size() == 1 && seeds.contains(arm);
    const bool equal = std::ranges::count(texts, text) == std::ssize(texts);
    return equal || (of_one_arm && differ_in_numbers(texts.front(), text));
  }
};

void add(const analysis::Finding& finding, std::size_t arm, const analysis::Run& run, std::vector<Group>& groups) {
  auto group = std::ranges::find_if(
      groups, [&](const Group& each) { return each.severity == finding.severity && each.takes(finding.text, arm); });
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

bool all_finished(const Arm& arm) {
  return std::ranges::all_of(arm.runs, [](const analysis::Run& run) {
    return outcome_of(run) == analysis::Outcome::finished && !(!run.evaluations.empty() && losses_of(run).rose());
  });
}

/// Returns the highest learning rate below an arm's, with otherwise the same options, at which every run finished below
/// its starting loss; nothing if there is none.
std::optional<double> safe_rate(std::span<const analysis::RateGrid> grids, std::span<const Arm> arms, std::size_t arm) {
  std::optional<double> safe;
  const auto grid =
      std::ranges::find_if(grids, [&](const auto& each) { return std::ranges::count(each.arms, arm) > 0; });
  for (std::size_t i = 0; grid->arms[i] != arm; ++i) {
    if (all_finished(arms[grid->arms[i]])) safe = grid->rates[i];
  }
  return safe;
}

/// Adds to the advice on exploding steps that a lower learning rate avoids them, if runs show this.
void advise(std::optional<double> safe, analysis::Finding& finding) {
  if (!safe || finding.cause != analysis::Cause::compressed_steps_explode || finding.hint.empty()) return;
  finding.hint = "lower optimizer.lr (at " + shortest(*safe) + ", every run finished); at this rate, " + finding.hint;
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
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const std::optional<double> safe = safe_rate(grids, arms, a);
    for (const analysis::Run& run : arms[a].runs) {
      for (analysis::Finding& finding : causes(analysis::diagnose(sim::LogReader(run.summary.path)))) {
        advise(safe, finding);
        add(finding, a, run, groups);
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
  return std::string(part.severity == analysis::Severity::problem ? "Problem: " : "Warning: ") + runs_text(part, arms) +
         ": " + part.text;
}

}  // namespace onebit::experiments
