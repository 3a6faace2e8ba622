#include "experiments/output/pricing/memory_output.hpp"

#include <ostream>

namespace onebit::experiments {

void print_memory(const sim::PreparedRun& run, std::ostream& out) {
  const auto text = [](Index bytes) { return bytes_text(static_cast<double>(bytes)); };
  Table table({"memory", "planned"});
  for (const sim::MemoryPlan::Row& row : run.plan.rows) {
    const bool grouped = row.name == "gradients";
    const std::string group = " of " + std::to_string(run.plan.worker_group) + " workers at a time";
    if (row.bytes > 0) table.add({row.name + (grouped ? group : ""), text(row.bytes)});
  }
  table.add({"total, of " + text(run.plan.limit), text(run.plan.total())});
  table.print(out);
}

Json to_json(const sim::MemoryPlan& plan) {
  std::vector<std::pair<std::string, Json>> rows;
  for (const sim::MemoryPlan::Row& row : plan.rows) rows.emplace_back(row.name, row.bytes);
  return Json::object({{"bytes", Json::object(rows)},
                       {"total", plan.total()},
                       {"limit", plan.limit},
                       {"worker_group", plan.worker_group}});
}

}  // namespace onebit::experiments
