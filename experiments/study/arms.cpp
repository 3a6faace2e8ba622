#include "experiments/study/arms.hpp"

#include <set>

#include "device/base/error.hpp"
#include "experiments/options/deepspeed_batch.hpp"

namespace onebit::experiments {
namespace {

const char* const kForm = "write 'name:key=value,key=value'";

/// Checks a name, which becomes part of a file name.
void check_name(const std::string& name) {
  const bool plain =
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") == std::string::npos;
  if (name.empty() || name.front() == '.' || !plain) {
    throw ConfigError("bad arm name", "'" + name + "'", "use letters, digits and ._+-");
  }
}

Arm parse_arm(const std::string& text, const Settings& common) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw ConfigError("malformed arm", text, kForm);
  Arm arm{text.substr(0, colon), common};
  check_name(arm.name);
  for (auto& setting : parse_settings(text.substr(colon + 1), "arm", text, kForm))
    arm.settings.push_back(std::move(setting));
  return arm;
}

Arm optimizer_arm(const std::string& optimizer, const Settings& common) {
  Arm arm{optimizer, common};
  arm.settings.emplace_back("optimizer", optimizer);
  return arm;
}

/// Returns Adam and 1-bit Adam, or the optimizer that the common options name.
std::vector<std::string> default_optimizers(const Settings& common) {
  std::vector<std::string> named = {"adam", "onebit-adam"};
  for (const auto& [name, value] : common) {
    if (name == "optimizer") named = {value};
  }
  return named;
}

}  // namespace

Settings parse_settings(const std::string& text, const std::string& what, const std::string& where,
                        const std::string& form) {
  Settings settings;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals != std::string::npos) {
      settings.emplace_back(long_name(part.substr(0, equals)), part.substr(equals + 1));
    } else if (!settings.empty()) {
      settings.back().second += "," + part;
    } else {
      throw ConfigError("malformed " + what, where, form);
    }
  }
  return settings;
}

std::vector<Arm> arms_of(const RunSettings& common, const ArmTexts& texts) {
  std::vector<Arm> arms;
  std::vector<std::string> optimizers = texts.optimizers;
  if (optimizers.empty() && texts.arms.empty()) optimizers = default_optimizers(common.settings);
  for (const std::string& optimizer : optimizers) arms.push_back(optimizer_arm(optimizer, common.settings));
  for (const std::string& text : texts.arms) arms.push_back(parse_arm(text, common.settings));
  std::set<std::string> names;
  for (const Arm& arm : arms) {
    if (!names.insert(arm.name).second) throw ConfigError("duplicate arm name", arm.name, "give each arm its own name");
    const sim::RunConfig config = make_config(arm.settings);
    if (common.deepspeed) check_batch(*common.deepspeed, config, "arm " + arm.name);
  }
  return arms;
}

std::vector<GivenRun> given_runs(const RunSettings& common, const std::vector<Arm>& arms) {
  std::vector<GivenRun> runs;
  for (const Arm& arm : arms) {
    runs.push_back({make_config(arm.settings)});
    for (std::size_t i = common.settings.size(); i < arm.settings.size(); ++i) {
      runs.back().own.push_back(arm.settings[i].first);
    }
  }
  return runs;
}

}  // namespace onebit::experiments
