#include <algorithm>
#include <iostream>

#include "compress/codecs/codec.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/presets.hpp"
#include "experiments/output/output.hpp"
#include "netmodel/cost/cost_model.hpp"
#include "netmodel/step/workload.hpp"
#include "optim/parent.hpp"

namespace onebit::experiments {
namespace {

struct Options : CommandInput {
  bool json = false;
};

/// An entry of a registry, with additional columns for codecs and optimizers.
struct Row {
  std::string name, doc;
  std::vector<std::string> traits = {};
  double bits = 0;          ///< bits per element; codecs only
  std::string parent = {};  ///< optimizers only
};
using Rows = std::vector<Row>;

template <class Entries>
Rows rows_of(const Entries& entries) {
  Rows rows;
  for (const auto& entry : entries) rows.push_back({std::string(entry.name), std::string(entry.doc)});
  return rows;
}

Rows optimizer_rows() {
  Rows rows = rows_of(optim::optimizers());
  for (Row& row : rows) row.parent = optim::parent_of(row.name);
  return rows;
}

Rows device_rows() {
  Rows rows;
  for (const auto& [name, doc] : device::list_devices()) rows.push_back({name, doc});
  return rows;
}

std::vector<std::string> words(const compress::Traits& traits) {
  std::vector<std::string> result;
  const auto add = [&](bool holds, const char* word) {
    if (holds) result.emplace_back(word);
  };
  add(traits.deterministic, "deterministic");
  add(traits.unbiased, "unbiased");
  add(traits.contraction, "contraction");
  add(traits.sparse, "sparse");
  add(traits.linear, "linear");
  return result;
}

/// Returns the codecs, with default parameters and the bits per element for a vector of a million elements.
Rows codec_rows() {
  constexpr Index size = Index{1} << 20;
  Rows rows;
  for (const compress::CodecEntry& entry : compress::codecs()) {
    compress::CodecConfig config;
    config.name = entry.name;
    const auto codec = entry.make(config);
    const compress::Segment segment{.real = size, .active = size, .padded = size};
    const Index bytes = codec->body_bytes(segment) + codec->scale_bytes(segment);
    rows.push_back({std::string(entry.name), std::string(entry.doc), words(codec->traits()),
                    8 * static_cast<double>(bytes) / static_cast<double>(size)});
  }
  return rows;
}

const std::vector<std::pair<std::string_view, Rows (*)()>>& registries() {
  static const std::vector<std::pair<std::string_view, Rows (*)()>> table = {
      {"optimizers", optimizer_rows},
      {"codecs", codec_rows},
      {"schedules", [] { return rows_of(optim::schedules()); }},
      {"models", [] { return rows_of(sim::models()); }},
      {"data", [] { return rows_of(sim::data_sources()); }},
      {"clusters", [] { return rows_of(netmodel::clusters()); }},
      {"gpus", [] { return rows_of(netmodel::gpus()); }},
      {"gpu-links", [] { return rows_of(netmodel::gpu_links()); }},
      {"workloads", [] { return rows_of(netmodel::workloads()); }},
      {"cost-models", [] { return rows_of(netmodel::cost_models()); }},
      {"devices", device_rows},
      {"presets", [] { return rows_of(presets()); }},
  };
  return table;
}

Json to_json(const Rows& rows) {
  std::vector<Json> items;
  for (const Row& row : rows) {
    Json item = Json::object({{"name", row.name}, {"doc", row.doc}});
    if (row.bits > 0) {
      const std::vector<Json> traits(row.traits.begin(), row.traits.end());
      item = item.with("traits", Json::array(traits)).with("bits_per_element", row.bits);
    }
    if (!row.parent.empty()) item = item.with("parent", row.parent);
    items.push_back(item);
  }
  return Json::array(items);
}

void print(const std::string& what, const Rows& rows) {
  const bool codecs = !rows.empty() && rows.front().bits > 0;
  Table table(
      codecs ? std::vector<std::string>{what, "bits, at most", "traits", ""} : std::vector<std::string>{what, ""}, 4);
  for (const Row& row : rows) {
    std::vector<std::string> cells = {"  " + row.name};
    if (codecs) cells.insert(cells.end(), {number(row.bits, 3), join(row.traits, ", ")});
    cells.push_back(row.doc);
    table.add(cells);
  }
  table.print(std::cout);
}

int list_all(const Options& options) {
  std::vector<std::string_view> names;
  for (const auto& [name, rows] : registries()) names.push_back(name);
  const std::vector<std::string> wanted =
      options.arguments.empty() ? std::vector<std::string>(names.begin(), names.end()) : options.arguments;
  std::vector<std::pair<std::string, Json>> members;
  for (const std::string& want : wanted) {
    const auto found = std::find(names.begin(), names.end(), want);
    if (found == names.end()) throw ConfigError("no list of that name", want, suggestion(want, names));
    const Rows rows = registries()[static_cast<std::size_t>(found - names.begin())].second();
    members.emplace_back(want, to_json(rows));
    if (!options.json) print(want, rows);
  }
  if (options.json) std::cout << Json::object(members).text() << "\n";
  return kExitDone;
}

}  // namespace

Command list_command() {
  return make_command({.name = "list",
                       .usage = "[WHAT...]",
                       .doc = "list what is available: optimizers, codecs, models, data, clusters, ...",
                       .help = {.common = {"json"},
                                .examples = {"onebit list", "onebit list optimizers codecs"},
                                .arguments =
                                    [] {
                                      std::vector<std::string> names;
                                      for (const auto& [name, rows] : registries()) names.emplace_back(name);
                                      return names;
                                    }}},
                      {json_row<Options>()}, list_all);
}

}  // namespace onebit::experiments
