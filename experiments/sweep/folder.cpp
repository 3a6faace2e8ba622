#include "experiments/sweep/folder.hpp"

#include <filesystem>

#include "analysis/compare/arms.hpp"
#include "device/base/error.hpp"
#include "experiments/sweep/files.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

std::string file_of(const std::string& folder, std::size_t number) {
  const std::string base = folder + "/sweep";
  return number == 1 ? base + ".ini" : base + "-" + std::to_string(number) + ".ini";
}

SweepDefinition read_definition(const std::string& path) {
  return definition_of(sweep_options({"--config", path}));
}

[[noreturn]] void refuse(const std::string& folder, const std::string& text) {
  const std::string stored = file_of(folder, 1);
  throw ConfigError("the folder holds another sweep: " + difference(text, file_text(stored)), stored,
                    "give --extend to add the points, or another -o DIR");
}

/// Throws ConfigError for logs in a folder in which no sweep has begun: commands that read the folder would take them
/// for the sweep's.
[[noreturn]] void refuse_logs(const std::string& folder, const std::string& log) {
  throw ConfigError("the folder holds logs that do not belong to a sweep", log, "give an -o DIR other than " + folder);
}

}  // namespace

SweepOptions resumed(const SweepOptions& given) {
  const std::string stored = file_of(given.out, 1);
  if (!fs::exists(stored))
    throw ConfigError("there is no sweep to continue", stored, "check the folder, or give the options of a new sweep");
  const std::string asked = text_of(definition_of(given));
  if (given.extend || asked != text_of(SweepDefinition())) {
    throw ConfigError("--resume takes the definition of the sweep from the folder", stored,
                      "leave out --resume, or all options except the ones that control how the sweep runs");
  }
  SweepOptions options = sweep_options({"--config", stored});
  const Settings execution = execution_of(given.run);
  options.run.settings.insert(options.run.settings.end(), execution.begin(), execution.end());
  options.text = given.text;
  options.out = given.out;
  options.jobs = given.jobs;
  options.retries = given.retries;
  options.time_limit = given.time_limit;
  options.shard = given.shard;
  options.retry_failed = given.retry_failed;
  options.json = given.json;
  options.dry_run = given.dry_run;
  options.progress = given.progress;
  return options;
}

std::vector<SweepDefinition> definitions_in(const std::string& folder) {
  std::vector<SweepDefinition> definitions;
  for (std::size_t number = 1; fs::exists(file_of(folder, number)); ++number) {
    definitions.push_back(read_definition(file_of(folder, number)));
  }
  return definitions;
}

std::vector<SweepDefinition> definitions_in(const std::string& folder, const SweepDefinition& asked, bool extend,
                                            bool write) {
  const std::string text = text_of(asked);
  std::vector<SweepDefinition> definitions;
  bool known = false;
  while (true) {
    const std::string path = file_of(folder, definitions.size() + 1);
    if (fs::exists(path)) {
      definitions.push_back(read_definition(path));
      known = known || text_of(definitions.back()) == text;
      continue;
    }
    if (known) return definitions;
    if (!definitions.empty() && !extend) refuse(folder, text);
    if (definitions.empty()) {
      const auto logs = fs::is_directory(folder) ? analysis::logs_in(folder) : std::vector<std::string>();
      if (fs::exists(path)) continue;  // another shard has begun meanwhile
      if (!logs.empty()) refuse_logs(folder, logs.front());
    }
    if (write && !create_file(path, text)) continue;  // another shard was faster
    definitions.push_back(asked);
    return definitions;
  }
}

}  // namespace onebit::experiments
