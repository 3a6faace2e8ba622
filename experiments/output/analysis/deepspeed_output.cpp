#include "experiments/output/analysis/deepspeed_output.hpp"

#include <ostream>

namespace onebit::experiments {
namespace {

std::string value_in(const Settings& settings, const std::string& option) {
  std::string last;
  for (const auto& [name, value] : settings) {
    if (name == option) last = value;
  }
  return last;
}

Json to_json(const DeepspeedConfig& config, const Settings& run) {
  std::vector<Json> mapped, ignored;
  for (const DeepspeedConfig::Mapped& row : config.mapped) {
    mapped.push_back(Json::object({{"key", row.key},
                                   {"option", row.option},
                                   {"value", row.value},
                                   {"given", Json::boolean(row.given)},
                                   {"used", value_in(run, row.option)}}));
  }
  for (const auto& [key, reason] : config.ignored) {
    ignored.push_back(Json::object({{"key", key}, {"reason", reason}}));
  }
  return Json::object({{"file", config.path}, {"mapped", Json::array(mapped)}, {"ignored", Json::array(ignored)}});
}

}  // namespace

void print_deepspeed(const RunSettings& run, std::ostream& out) {
  if (!run.deepspeed) return;
  const DeepspeedConfig& config = *run.deepspeed;
  Table table({config.path, "option", "value", ""}, 4);
  for (const DeepspeedConfig::Mapped& row : config.mapped) {
    const std::string used = value_in(run.settings, row.option);
    const std::string note = used != row.value ? "overridden: " + used : row.given ? "" : "DeepSpeed's default";
    table.add({row.key, row.option, row.value, note});
  }
  table.print(out);
  if (!config.ignored.empty()) {
    Table ignored({"ignored", "why"}, 2);
    for (const auto& [key, reason] : config.ignored) ignored.add({key, reason});
    out << "\n";
    ignored.print(out);
  }
  out << "\n";
}

Json with_deepspeed(const Json& object, const RunSettings& run) {
  return run.deepspeed ? object.with("deepspeed_config", to_json(*run.deepspeed, run.settings)) : object;
}

}  // namespace onebit::experiments
