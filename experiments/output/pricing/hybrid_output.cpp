#include "experiments/output/pricing/hybrid_output.hpp"

#include <algorithm>
#include <ostream>

namespace onebit::experiments {
namespace {

using netmodel::HybridEstimate;
using netmodel::Seconds;
using netmodel::Stage;

double share(Seconds part, const HybridEstimate& hybrid) {
  return part / hybrid.step.step;
}

/// Returns a text such as "38.1% of the step (tables 36%, dense layers 2.1%)".
std::string shares_text(const HybridEstimate& hybrid) {
  return percent_text(share(hybrid.step.communication, hybrid)) + " of the step (tables " +
         percent_text(share(hybrid.model_parallel, hybrid)) + ", dense layers " +
         percent_text(share(hybrid.data_parallel, hybrid)) + ")";
}

void print_stages(const HybridEstimate& hybrid, std::ostream& out) {
  Table table({"stage", "on", "begins", "takes", "hidden", "critical"}, 2);
  for (const Stage& stage : hybrid.stages) {
    const bool network = netmodel::uses_network(stage.kind);
    table.add({stage.name, network ? "network" : "GPU", seconds_text(stage.begin.value), seconds_text(stage.time.value),
               network ? seconds_text(stage.hidden.value) : "", stage.critical ? "yes" : ""});
  }
  table.print(out);
}

/// Prints, in one line, what the table of the stages does not show.
void print_notes(const HybridEstimate& hybrid, const analysis::Job& job, std::ostream& out) {
  std::vector<std::string> notes;
  if (job.stages.back().kinds.size() > 1) notes.emplace_back("the stages are those of the busiest step");
  Seconds end;
  for (const Stage& stage : hybrid.stages) end = std::max(end, stage.end());
  const Seconds stretch = hybrid.step.step - end;
  if (stretch > 1e-9 * hybrid.step.step) {
    notes.push_back("not shown: exchanges slow computing down by " + seconds_text(stretch.value) + " (--step.stretch)");
  }
  if (!notes.empty()) out << "\n" << join(notes, "; ") << "\n";
}

}  // namespace

std::string_view name(netmodel::TableSplit split) {
  constexpr std::string_view names[] = {"table", "row", "column"};
  return names[static_cast<std::size_t>(split)];
}

std::string boundary_text(bool tables, const analysis::HybridRules& rules) {
  std::string text;
  if (tables && rules.codec != analysis::kNoCodec) text += ", " + rules.codec;
  if (tables && rules.model_ratio != 1) text += ", tables /" + number(rules.model_ratio);
  if (rules.data_ratio != 1) text += ", gradients /" + number(rules.data_ratio);
  return text;
}

std::string method_text(const std::string& optimizer, const netmodel::Workload& workload,
                        const analysis::HybridRules& rules) {
  return optimizer + boundary_text(workload.tables.count > 0, rules);
}

std::string method_text(const analysis::Job& job) {
  return method_text(job.optimizer, job.workload, job.rules.hybrid);
}

void print_hybrid(const analysis::ClusterPrice& price, const analysis::Job& job, std::ostream& out) {
  const HybridEstimate& last = price.hybrid.value();
  out << "\n"
      << method_text(job) << ": " << job.workload.tables.count << " tables split by " << name(job.rules.hybrid.split)
      << ", the largest share " << ratio_text(last.imbalance) << " the mean\n\n";
  print_stages(last, out);
  print_notes(last, job, out);
  out << "\nembeddings sent forward: " << bytes_text(last.pooled.value) << ", by the busiest GPU "
      << bytes_text(last.most_pooled.value) << "\n"
      << "waiting for exchanges: " << shares_text(last);
  if (!analysis::is_dense_adam(job)) out << "; with dense adam " << shares_text(price.dense_hybrid.value());
  out << "\n";
}

Json hybrid_json(const HybridEstimate& hybrid) {
  std::vector<Json> stages;
  for (const Stage& stage : hybrid.stages) {
    stages.push_back(Json::object({{"stage", stage.name},
                                   {"network", Json::boolean(netmodel::uses_network(stage.kind))},
                                   {"begin_seconds", stage.begin.value},
                                   {"seconds", stage.time.value},
                                   {"hidden_seconds", stage.hidden.value},
                                   {"critical", Json::boolean(stage.critical)}}));
  }
  return Json::object({{"imbalance", hybrid.imbalance},
                       {"pooled_bytes", hybrid.pooled.value},
                       {"most_pooled_bytes", hybrid.most_pooled.value},
                       {"step_seconds", hybrid.step.step.value},
                       {"communication_share", share(hybrid.step.communication, hybrid)},
                       {"model_parallel_share", share(hybrid.model_parallel, hybrid)},
                       {"data_parallel_share", share(hybrid.data_parallel, hybrid)},
                       {"stages", Json::array(stages)}});
}

}  // namespace onebit::experiments
