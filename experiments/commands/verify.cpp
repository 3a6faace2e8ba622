#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>

#include "device/base/error.hpp"
#include "device/base/temporary_folder.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/study_input.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/verify_card.hpp"
#include "experiments/options/presets.hpp"
#include "experiments/output/analysis/agreement_output.hpp"
#include "experiments/study/arm_runs.hpp"
#include "experiments/study/expected.hpp"
#include "experiments/study/reference_case.hpp"

namespace onebit::experiments {
namespace {

std::vector<Option<StudyInput>> rows() {
  return joined<StudyInput>({{out_row<StudyInput>("folder for the logs; not given: they are not kept")},
                             arms_rows<StudyInput>(),
                             {seeds_row<StudyInput>(), json_row<StudyInput>(),
                              overwrite_row<StudyInput>(ONEBIT_PLACE(output.overwrite)), progress_row<StudyInput>()}});
}

/// Largest relative difference of the displacement at which a trace counts as reproduced, given 32-bit arithmetic.
constexpr double kTraceLimit = 1e-4;

/// Result of replaying a case of a golden trace, in the semantics that reproduce it best.
struct TraceCheck {
  std::string trace, name, optimizer, semantics;
  double worst = std::numeric_limits<double>::infinity();
  std::string reason;  ///< why it could not be replayed in any semantics
  bool reproduced() const { return worst <= kTraceLimit; }
};

double worst_of(const CaseDeviation& deviation) {
  const double worst = deviation.has_all ? std::max(deviation.first.worst, deviation.all.worst) : deviation.first.worst;
  return std::isfinite(worst) ? worst : std::numeric_limits<double>::infinity();
}

/// Returns the settings that decide where a replay computes.
Settings place_of(const Settings& run) {
  Settings place;
  for (const auto& setting : run) {
    if (setting.first == "devices" || setting.first == "threads") place.push_back(setting);
  }
  return place;
}

TraceCheck check_case(const sim::GradientTrace& trace, const std::string& path, const std::string& name,
                      const Settings& place) {
  TraceCheck best{.trace = path, .name = name, .optimizer = {}, .semantics = {}, .reason = {}};
  for (const char* semantics : {"paper", "deepspeed"}) {
    Settings more = place;
    more.emplace_back("optimizer.semantics", semantics);
    try {
      const ReplayPlan plan = plan_replay(trace, name, more);
      best.optimizer = plan.config.optimizer.name;
      const double worst = worst_of(replay_case(trace, plan, name));
      if (!best.semantics.empty() && worst >= best.worst) continue;
      best.semantics = semantics;
      best.worst = worst;
    } catch (const Error& error) {  // a case may be defined in only one of the semantics
      best.reason = error.what();
    }
  }
  if (!best.semantics.empty()) best.reason.clear();
  return best;
}

std::vector<TraceCheck> check_traces(const StudyInput& options) {
  std::vector<TraceCheck> checks;
  for (const std::string& path : options.arguments) {
    const sim::GradientTrace trace(path);
    if (trace.cases().empty()) throw ConfigError("the trace has no cases to compare with", path);
    for (const std::string& name : trace.cases()) {
      checks.push_back(check_case(sim::GradientTrace(path, name), path, name, place_of(options.run.settings)));
    }
  }
  return checks;
}

void print(const std::vector<TraceCheck>& checks, std::ostream& out) {
  if (checks.empty()) return;
  Table table({"trace", "case", "optimizer", "semantics", "largest difference", "reproduced"}, 4);
  for (const TraceCheck& check : checks) {
    table.add({check.trace, check.name, check.optimizer, check.semantics, number(check.worst, 3),
               check.reproduced() ? "yes" : ("no " + check.reason)});
  }
  table.print(out);
  out << "\n";
}

struct PresetCheck {
  std::vector<ArmAgreement> arms;
  bool complete = true;
};

PresetCheck check_preset(const StudyInput& options) {
  const std::vector<ExpectedRun> expected = read_expected(find_expected(options.run.preset));
  Study study = study_of(options);
  std::optional<TemporaryFolder> folder;
  if (study.folder.empty()) study.folder = folder.emplace("onebit-verify").path();
  const std::vector<Arm> arms = arms_of(study.run, study.arms);
  sim::DataCache data;
  const ArmResults results = run_arms(study, arms, check_arms(study, arms, prices_of({}), data), data);
  return {agreements(expected, results.arms), results.complete};
}

Json to_json(const TraceCheck& check) {
  return Json::object({{"trace", check.trace},
                       {"case", check.name},
                       {"optimizer", check.optimizer},
                       {"semantics", check.semantics},
                       {"worst_relative_difference", check.worst},
                       {"reproduced", Json::boolean(check.reproduced())},
                       {"reason", check.reason}});
}

Json to_json(const std::vector<TraceCheck>& checks) {
  std::vector<Json> items;
  for (const TraceCheck& check : checks) items.push_back(to_json(check));
  return Json::array(items);
}

/// Returns whether a file is a card, judging by its name or its first character; a trace is an HDF5 file.
bool is_card(const std::string& path) {
  if (std::filesystem::path(path).extension() == ".json") return true;
  return std::filesystem::is_regular_file(path) && std::ifstream(path).peek() == '{';
}

int verify(const StudyInput& options) {
  if (std::ranges::any_of(options.arguments, is_card)) return verify_card(options);
  const std::vector<TraceCheck> traces = check_traces(options);
  if (!options.json) print(traces, std::cout);
  const PresetCheck runs = check_preset(options);
  if (!runs.complete) {
    std::cerr << "onebit: stopped before all runs of the preset were done, so there is no verdict\n";
    return kExitStopped;
  }
  const bool agrees = std::ranges::all_of(traces, &TraceCheck::reproduced) && agree(runs.arms);
  if (options.json) {
    const Json json = Json::object({{"preset", options.run.preset},
                                    {"traces", to_json(traces)},
                                    {"arms", to_json(runs.arms)},
                                    {"agrees", Json::boolean(agrees)}});
    std::cout << json.text() << "\n";
  } else {
    print(runs.arms, "preset " + options.run.preset, std::cout);
    std::cout << sentence_of(agrees, runs.arms) << "\n";
  }
  return agrees ? kExitDone : kExitFailed;
}

}  // namespace

Command verify_command() {
  return make_command(
      {.name = "verify",
       .usage = "[TRACE.h5... | CARD.json]",
       .doc =
           "check whether this build on this machine gives the recorded numbers of a preset and of golden traces, or "
           "of a card",
       .accepts = {.run = true, .config = true, .preset = true, .default_preset = "verify"},
       .help = {.common = {"preset", "out", "seeds", "optimizers", "devices", "threads", "overwrite", "json"},
                .examples = {"onebit verify --preset onebit-adam-bert -o verify", "onebit verify card.json"}}},
      rows(), verify);
}

}  // namespace onebit::experiments
