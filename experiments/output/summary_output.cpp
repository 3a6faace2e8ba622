#include "experiments/output/summary_output.hpp"

#include <cmath>
#include <ostream>

#include "experiments/output/pricing/time_output.hpp"
#include "sim/models/constant_names.hpp"

namespace onebit::experiments {

namespace {

/// Returns the known constants of the model; most models have none.
std::vector<std::pair<std::string, double>> known_constants(const analysis::Summary& s) {
  std::vector<std::pair<std::string, double>> known;
  for (const auto& [name, value] : sim::kConstants) {
    if (s.constants && !std::isnan(*s.constants.*value)) known.emplace_back(name, *s.constants.*value);
  }
  return known;
}

std::string status_of(const analysis::Summary& s) {
  return sim::name_of(s.status);
}

Json constants_json(const analysis::Summary& s) {
  std::vector<std::pair<std::string, Json>> members;
  for (const auto& [name, value] : known_constants(s)) members.emplace_back(name, value);
  return Json::object(members);
}

}  // namespace

std::vector<netmodel::Cluster> shown_clusters() {
  std::vector<netmodel::Cluster> shown;
  for (const char* name : {"eth1", "eth10", "eth25", "ib100"}) shown.push_back(netmodel::find_cluster(name));
  return shown;
}

Json to_json(const analysis::Summary& s, const std::string& status) {
  return Json::object({{"log", s.path},
                       {"status", status.empty() ? status_of(s) : status},
                       {"reason", s.reason},
                       {"seed", static_cast<long>(s.seed)},
                       {"workers", s.workers},
                       {"parameters", s.parameters},
                       {"steps", s.steps},
                       {"freeze_step", s.freeze_step},
                       {"masked", s.masked},
                       {"final_loss", s.final_loss},
                       {"best_loss", s.best_loss},
                       {"accuracy", s.accuracy},
                       {"auc", s.auc},
                       {"boundary_bytes", s.boundary_bytes},
                       {"boundary_loss", s.boundary_loss},
                       {"boundary_auc", s.boundary_auc},
                       {"boundary_sent_share", s.boundary_sent_share},
                       {"boundary_forward_kept", s.boundary_forward_kept},
                       {"boundary_backward_kept", s.boundary_backward_kept},
                       {"boundary_gradient_cosine", s.boundary_gradient_cosine},
                       {"bytes_per_worker", s.bytes},
                       {"dense_step_bytes", s.dense_step_bytes},
                       {"compressed_step_bytes", s.compressed_step_bytes},
                       {"ratio_fp16", s.ratio_fp16},
                       {"ratio_fp32", s.ratio_fp32},
                       {"wall_seconds", s.wall_seconds},
                       {"constants", constants_json(s)},
                       {"communication", communication_json(s.communication)}});
}

void print_summary(const analysis::Summary& s, std::ostream& out, const std::string& status) {
  Table table({"log", s.path}, 2);
  const std::string recorded = s.reason.empty() ? status_of(s) : status_of(s) + ": " + s.reason;
  table.add({"status", status.empty() ? recorded : status});
  table.add({"workers, parameters, steps",
             std::to_string(s.workers) + ", " + std::to_string(s.parameters) + ", " + std::to_string(s.steps)});
  for (const auto& [name, value] : known_constants(s)) table.add({"  " + name, number(value)});
  const bool stopped = s.is_outdated();
  table.add({stopped ? "loss at the evaluation of step " + std::to_string(s.evaluated) + ", and best"
                     : "evaluated loss, final and best",
             number(s.final_loss, 5) + ", " + number(s.best_loss, 5)});
  table.add({"accuracy", percent_text(s.accuracy)});
  if (std::isfinite(s.auc)) table.add({"AUC", number(s.auc, 4)});
  table.add({"variance frozen after step", s.freeze_step > 0 ? std::to_string(s.freeze_step) : "never"});
  table.add({"sent per worker", bytes_text(s.bytes)});
  if (std::isfinite(s.boundary_bytes)) table.add({"  across the boundary", bytes_text(s.boundary_bytes)});
  if (std::isfinite(s.boundary_gradient_cosine)) {
    table.add({"boundary: share of norm^2 kept (forward, back); cosine",
               percent_text(s.boundary_forward_kept) + ", " + percent_text(s.boundary_backward_kept) + "; " +
                   number(s.boundary_gradient_cosine, 3)});
  }
  table.add({"  in a dense step", bytes_text(s.dense_step_bytes)});
  table.add({"  in a compressed step", bytes_text(s.compressed_step_bytes)});
  table.add({"volume of dense fp16, fp32 / volume sent", ratio_text(s.ratio_fp16) + ", " + ratio_text(s.ratio_fp32)});
  for (const analysis::CommunicationTime& time : s.communication) {
    table.add({"communication per step on " + time.cluster, seconds_text(time.mean_seconds)});
  }
  table.add({"wall time of the steps", seconds_text(s.wall_seconds)});
  table.print(out);
}

}  // namespace onebit::experiments
