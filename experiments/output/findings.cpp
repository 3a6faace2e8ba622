#include "experiments/output/findings.hpp"

#include <algorithm>
#include <cstdlib>

#include "experiments/output/cost_output.hpp"

namespace onebit::experiments {
namespace {

using analysis::Arm;

bool is_number(const std::string& word) {
  char* end = nullptr;
  std::strtod(word.c_str(), &end);
  return !word.empty() && *end == '\0';
}

/// Returns a text with # for every number. Digits within a word, such as a tensor's name, stay.
std::string without_numbers(const std::string& text) {
  std::string pattern, word;
  for (const char c : text) {
    const bool ends = std::string_view(" (),;:%").find(c) != std::string_view::npos;
    if (!ends) {
      word += c;
      continue;
    }
    pattern += (is_number(word) ? "#" : word) + c;
    word.clear();
  }
  return pattern + (is_number(word) ? "#" : word);
}

bool is_of_one_arm(const SharedFinding& finding, std::size_t arm) {
  return finding.seeds.size() == 1 && finding.seeds.contains(arm);
}

void add(const analysis::Finding& finding, std::size_t arm, const analysis::Run& run,
         std::vector<SharedFinding>& findings) {
  const std::string text = std::string(analysis::name(finding.severity)) + ": " + finding.text;
  auto shared = std::ranges::find_if(findings, [&](const SharedFinding& each) {
    return each.text == text || (is_of_one_arm(each, arm) && without_numbers(each.text) == without_numbers(text));
  });
  if (shared == findings.end())
    shared = findings.insert(
        findings.end(),
        {.cause = finding.cause, .text = text, .hint = finding.hint, .varies = false, .seeds = {}, .paths = {}});
  shared->varies |= shared->text != text;
  shared->seeds[arm].push_back(run.summary.seed);
  shared->paths.push_back(run.summary.path);
}

std::string runs_text(const SharedFinding& finding, std::span<const Arm> arms) {
  std::vector<std::string> runs;
  for (const auto& [arm, seeds] : finding.seeds) runs.push_back(arms[arm].name + ", " + seeds_text(seeds));
  return join(runs, "; ");
}

}  // namespace

std::vector<SharedFinding> findings_of(std::span<const Arm> arms) {
  std::vector<SharedFinding> findings;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    for (const analysis::Run& run : arms[a].runs) {
      for (const analysis::Finding& finding : analysis::diagnose(sim::LogReader(run.summary.path))) {
        if (finding.severity == analysis::Severity::note) continue;
        add(finding, a, run, findings);
      }
    }
  }
  return findings;
}

std::string line_of(const SharedFinding& finding, std::span<const Arm> arms) {
  const std::size_t others = finding.paths.size() - 1;
  std::string logs = finding.paths.front();
  if (others > 0) logs += " and " + std::to_string(others) + " more";
  if (finding.varies) {
    logs = "numbers from " + finding.paths.front() + "; " + std::to_string(others) +
           (others == 1 ? " other run has the same finding with its own numbers"
                        : " other runs have the same finding with their own numbers");
  }
  const std::string hint = finding.hint.empty() ? "" : "; " + finding.hint;
  return runs_text(finding, arms) + ": " + finding.text + hint + " (" + logs + ")";
}

std::string line_on(const std::vector<std::string>& names, const SharedFinding& finding, std::span<const Arm> arms) {
  SharedFinding part = finding;
  std::erase_if(part.seeds,
                [&](const auto& runs) { return std::ranges::find(names, arms[runs.first].name) == names.end(); });
  if (part.seeds.empty()) return "";
  return runs_text(part, arms) + ": " + part.text + (part.varies ? " (numbers from the first run)" : "");
}

}  // namespace onebit::experiments
