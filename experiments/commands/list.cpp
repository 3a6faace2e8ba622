#include <algorithm>
#include <iostream>

#include "compress/codec.hpp"
#include "device/error.hpp"
#include "device/text.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output.hpp"
#include "experiments/presets.hpp"
#include "netmodel/cluster.hpp"

namespace onebit::experiments {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

template <class Entries>
Rows rows_of(const Entries& entries) {
  Rows rows;
  for (const auto& entry : entries) rows.emplace_back(entry.name, entry.doc);
  return rows;
}

const std::vector<std::pair<std::string_view, Rows (*)()>>& registries() {
  static const std::vector<std::pair<std::string_view, Rows (*)()>> table = {
      {"optimizers", [] { return rows_of(optim::optimizers()); }},
      {"codecs", [] { return rows_of(compress::codecs()); }},
      {"schedules", [] { return rows_of(optim::schedules()); }},
      {"models", [] { return rows_of(sim::models()); }},
      {"data", [] { return rows_of(sim::data_sources()); }},
      {"clusters", [] { return rows_of(netmodel::clusters()); }},
      {"devices", device::list_devices},
      {"presets", [] { return rows_of(presets()); }},
  };
  return table;
}

Json to_json(const Rows& rows) {
  std::vector<Json> items;
  for (const auto& [name, doc] : rows) items.push_back(Json::object({{"name", name}, {"doc", doc}}));
  return Json::array(items);
}

}  // namespace

int list_command(const CommandLine& line) {
  std::vector<std::string_view> names;
  for (const auto& [name, rows] : registries()) names.push_back(name);
  const std::vector<std::string> wanted =
      line.arguments.empty() ? std::vector<std::string>(names.begin(), names.end()) : line.arguments;
  std::vector<std::pair<std::string, Json>> members;
  for (const std::string& want : wanted) {
    const auto found = std::find(names.begin(), names.end(), want);
    if (found == names.end()) throw ConfigError("nothing to list by that name", want, suggestion(want, names));
    const Rows rows = registries()[static_cast<std::size_t>(found - names.begin())].second();
    members.emplace_back(want, to_json(rows));
    if (line.json) continue;
    Table table({want, ""}, 2);
    for (const auto& [name, doc] : rows) table.add({"  " + name, doc});
    table.print(std::cout);
  }
  if (line.json) std::cout << Json::object(members).text() << "\n";
  return 0;
}

}  // namespace onebit::experiments
