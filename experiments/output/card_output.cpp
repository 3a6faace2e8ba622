#include "experiments/output/card_output.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "experiments/options/options.hpp"
#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/study/unfinished.hpp"

namespace onebit::experiments {
namespace {

using Runs = std::span<const CardRun>;
using Values = std::map<std::string, std::string>;

Values values_of(const CardRun& run) {
  return {run.header.config.begin(), run.header.config.end()};
}

/// Returns the options that have the same value in all runs.
Values shared(Runs runs) {
  Values values = values_of(runs.front());
  for (const CardRun& run : runs) {
    const Values own = values_of(run);
    std::erase_if(values, [&](const auto& option) {
      const auto found = own.find(option.first);
      return found == own.end() || found->second != option.second;
    });
  }
  return values;
}

Values without(Values values, const Values& others) {
  std::erase_if(values, [&](const auto& option) { return others.contains(option.first); });
  return values;
}

Json json_of(const Values& values) {
  std::vector<std::pair<std::string, Json>> members;
  for (const auto& [option, value] : values) members.emplace_back(option, value);
  return Json::object(members);
}

Json json_of(const CardRun& run, const Values& options) {
  const sim::LogHeader& header = run.header;
  return Json::object({{"log", run.log},
                       {"seed", static_cast<Index>(run.result.seed)},
                       {"status", run.result.status},
                       {"steps", run.result.steps},
                       {"freeze_step", run.result.freeze_step},
                       {"final_loss", run.result.final_loss},
                       {"bytes_per_worker", run.result.bytes},
                       {"curve_hash", run.result.curve},
                       {"data_hash", header.data_hash},
                       {"program_version", header.program_version},
                       {"git_commit", header.git_commit},
                       {"created_utc", header.created_utc},
                       {"host", header.host},
                       {"devices", header.devices},
                       {"command_line", header.command_line},
                       {"not_repeated", run.not_repeated},
                       {"options", json_of(options)}});
}

/// Returns the runs of each arm.
std::vector<Runs> arms_of(Runs runs) {
  std::vector<Runs> arms;
  while (!runs.empty()) {
    const auto other = [&](const CardRun& run) { return run.result.arm != runs.front().result.arm; };
    const auto count = static_cast<std::size_t>(std::ranges::find_if(runs, other) - runs.begin());
    arms.push_back(runs.first(count));
    runs = runs.subspan(count);
  }
  return arms;
}

Json json_of(Runs arm, const Values& of_all) {
  const Values of_arm = without(shared(arm), of_all);
  std::vector<Json> runs;
  for (const CardRun& run : arm) runs.push_back(json_of(run, without(without(values_of(run), of_all), of_arm)));
  return Json::object({{"name", arm.front().result.arm}, {"options", json_of(of_arm)}, {"runs", Json::array(runs)}});
}

Json json_of(const std::vector<CardVerdict>& verdicts) {
  std::vector<Json> items;
  for (const CardVerdict& verdict : verdicts) {
    items.push_back(Json::object({{"arm", verdict.arm},
                                  {"baseline", verdict.baseline},
                                  {"judgement", verdict.judgement},
                                  {"sentence", verdict.sentence}}));
  }
  return Json::array(items);
}

/// Returns a text as a cell of a table in Markdown.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : printable(text)) escaped.append(c == '|' ? "\\|" : std::string(1, c));
  return escaped;
}

/// Returns a table in Markdown.
std::string markdown(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (const std::string& each : rows[r]) text += "| " + cell(each) + " ";
    text += "|\n";
    if (r > 0) continue;
    for (std::size_t c = 0; c < rows[r].size(); ++c) text += "|---";
    text += "|\n";
  }
  return text;
}

std::string code(const std::string& text) {
  return "```\n" + text + "\n```\n";
}

std::string results_of(const std::vector<analysis::Arm>& arms) {
  std::vector<std::vector<std::string>> rows = {{"arm", "seeds", "finished", "final loss", "bytes per worker"}};
  for (const analysis::Arm& arm : arms) {
    std::vector<std::string> seeds;
    std::vector<double> losses, bytes;
    for (const analysis::Run& run : arm.runs) {
      seeds.push_back(std::to_string(run.summary.seed));
      if (analysis::outcome_of(run) != analysis::Outcome::finished) continue;
      losses.push_back(run.summary.final_loss);
      bytes.push_back(run.summary.bytes);
    }
    rows.push_back({arm.name, join(seeds, ", "), std::to_string(losses.size()),
                    interval_text(analysis::mean_interval(losses)), bytes_text(analysis::mean_interval(bytes).mean)});
  }
  return markdown(rows) + "\nThe number after ± is the half-width of the 95% interval over the seeds.\n";
}

std::string verdicts_of(const Card& card) {
  if (card.verdicts.empty()) return "None: " + printable(card.no_verdicts) + ".\n";
  std::string text;
  for (const CardVerdict& verdict : card.verdicts) text += "- " + printable(verdict.sentence) + "\n";
  return text;
}

std::string commands_of(const std::vector<analysis::Arm>& arms) {
  std::string text;
  for (const analysis::Arm& arm : arms) {
    const sim::LogHeader& header = arm.runs.front().header;
    const std::string command = command_to_repeat(header);
    text += (text.empty() ? "" : "\n") + printable(command.empty() ? header.command_line : command);
  }
  return code(text);
}

std::string runs_of(const Card& card) {
  std::vector<std::vector<std::string>> rows = {{"log", "seed", "status", "steps", "final loss", "hash of the curve",
                                                 "hash of the data", "made", "on", "repeated"}};
  for (const CardRun& run : card.runs) {
    const sim::LogHeader& header = run.header;
    rows.push_back({run.log, std::to_string(run.result.seed), run.result.status, std::to_string(run.result.steps),
                    number(run.result.final_loss, 8), run.result.curve, header.data_hash,
                    header.created_utc + ", onebit " + header.program_version + " (" + header.git_commit + ")",
                    header.host + ", " + header.devices, run.not_repeated.empty() ? "yes" : "no: " + run.not_repeated});
  }
  return markdown(rows);
}

}  // namespace

Json to_json(const Card& card, const std::string& written_by) {
  const Values of_all = shared(card.runs);
  std::vector<Json> arms;
  for (const Runs arm : arms_of(card.runs)) arms.push_back(json_of(arm, of_all));
  return Json::object({{"format", kCardFormat},
                       {"format_version", kCardVersion},
                       {"written_by", written_by},
                       {"criteria", Json::object({{"baseline", card.baseline}, {"margin", card.margin}})},
                       {"verdicts", json_of(card.verdicts)},
                       {"no_verdicts", card.no_verdicts},
                       {"left_out", Json::texts(card.left_out)},
                       {"options", json_of(of_all)},
                       {"arms", Json::array(arms)}});
}

std::string markdown_of(const CardSubject& subject, const std::string& title, const std::string& file) {
  const Card& card = subject.card;
  std::string text = "# " + printable(title) + "\n\nTo repeat the runs and check these results:\n\n" +
                     code("onebit verify " + shell_word(file.starts_with("-") ? "./" + file : file));
  text += "\n## Results\n\n" + results_of(subject.arms);
  text += "\n## Verdicts\n\n" + verdicts_of(card);
  text += "\n## One run of each arm\n\n" + commands_of(subject.arms);
  text += "\n## Runs\n\n" + runs_of(card);
  if (!card.left_out.empty()) text += "\n## Left out\n\n";
  for (const std::string& line : card.left_out) text += "- " + printable(line) + "\n";
  return text;
}

}  // namespace onebit::experiments
