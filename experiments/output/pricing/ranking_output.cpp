#include "experiments/output/pricing/ranking_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <sstream>

#include "experiments/output/pricing/hybrid_output.hpp"
#include "experiments/output/pricing/price_output.hpp"
#include "experiments/output/screen.hpp"

namespace onebit::experiments {
namespace {

using analysis::Ranged;
using analysis::RankedMethod;
using analysis::Ranking;

std::string waits_text(const RankedMethod& method) {
  switch (analysis::waits_for(method.price.stages.back().step)) {
    case analysis::WaitsFor::computing:
      return "computing";
    case analysis::WaitsFor::codec:
      return "codec";
    case analysis::WaitsFor::update:
      return "update";
    case analysis::WaitsFor::latency:
      return "latency";
    case analysis::WaitsFor::gpu_links:
      return "GPU links";
    case analysis::WaitsFor::network:
      return "network";
  }
  return "?";
}

/// Whether a method takes exactly as long as dense Adam, on any network.
bool is_dense(const RankedMethod& method) {
  return std::abs(method.speedup.low - 1) < 1e-9 && std::abs(method.speedup.high - 1) < 1e-9 && !method.rare;
}

std::string break_even_cell(const RankedMethod& method) {
  if (is_dense(method)) return "-";
  const analysis::ClusterPrice& price = method.price;
  if (price.break_even) return (price.faster_below ? "below " : "above ") + rate_text(*price.break_even);
  return price.always_faster ? "any rate" : "no rate";
}

/// Formats samples per second without an exponent.
std::string rate_number(double rate) {
  return rate >= 1000 ? std::to_string(std::llround(rate)) : number(rate);
}

/// Returns a text such as "0.957" or "1.35"; trailing zeros are kept.
std::string factor_text(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", factor < 1.1 ? 3 : factor < 9.995 ? 2 : 1, factor);
  return text;
}

std::string name_of(const RankedMethod& method) {
  return method.codec.empty() ? method.optimizer : method.optimizer + " with " + method.codec;
}

/// Returns what methods are compared with, such as "dense Adam" or "dense Adam with dct-mp at its tables".
std::string reference_of(const Ranking& ranking) {
  const analysis::HybridRules& rules = ranking.hybrid;
  std::string text = "dense Adam";
  if (!ranking.tables) return text;
  if (rules.codec != analysis::kNoCodec) text += " with " + rules.codec + " at its tables";
  if (rules.model_ratio != 1) text += " with tables /" + number(rules.model_ratio);
  return text;
}

/// Returns a text such as "1.35 times (1.30 to 1.39) as many samples per second as dense Adam.".
std::string figures_text(const Ranged& speedup, const std::string& reference) {
  std::string text = factor_text(speedup.value) + " times (" + factor_text(speedup.low);
  text += " to " + factor_text(speedup.high) + ") as many samples per second as " + reference + ".";
  return text;
}

const RankedMethod* first(const Ranking& ranking, const auto& matches) {
  const auto found = std::ranges::find_if(ranking.methods, matches);
  return found == ranking.methods.end() ? nullptr : &*found;
}

/// Differences of a few percent depend on what the model leaves out, whatever the rates.
constexpr double kLittle = 0.05;

std::string verdict(const RankedMethod& best, const std::string& reference) {
  const Ranged& speedup = best.speedup;
  const std::string figures = "the fastest method that exchanges in every step, " + name_of(best) + ", processes " +
                              figures_text(speedup, reference);
  if (speedup.high < 1) return "Compression does not pay here: " + figures;
  if (speedup.low >= 1 && speedup.value > 1 + kLittle) return "Compression pays here: " + figures;
  if (speedup.low >= 1 - kLittle && speedup.value <= 1 + kLittle)
    return "Compression makes little difference here: " + figures;
  return "The predictions are too uncertain to tell whether compression pays here, so measure the rates: " + figures;
}

/// Says how long a dense step and its exchange take; compression can shorten only the exchange.
std::string dense_text(const netmodel::StepEstimate& dense) {
  const netmodel::Seconds hidden = dense.all_communication - dense.communication;
  return "A dense step takes " + seconds_text(dense.step.value) + "; its exchange takes " +
         seconds_text(dense.all_communication.value) + ", of which " + seconds_text(hidden.value) +
         " are hidden behind computation.";
}

/// Says that the model does not fit, and what to do. Dense layers next to embedding tables are not sharded.
std::string too_large_text(const Ranking& ranking) {
  return std::string("The model does not fit in a GPU's memory; ") +
         (ranking.tables ? "use more GPUs" : "see --step.sharding") + ".\n";
}

/// The columns that matter most come first: a narrow terminal leaves out the last ones.
Table table_of(const Ranking& ranking) {
  Table table({"optimizer", "codec", "waits for", "speed-up", "faster on links", "samples/s", "range", "warmed up",
               "exchange", "coding"},
              3);
  for (const RankedMethod& method : ranking.methods) {
    const netmodel::StepEstimate& last = method.price.stages.back().step;
    table.add({method.optimizer, method.codec.empty() ? "none" : method.codec, waits_text(method),
               ratio_text(method.speedup.value), break_even_cell(method), rate_number(method.samples_per_second.value),
               number(method.speedup.low, 3) + " to " + number(method.speedup.high, 3),
               ratio_text(method.price.speedup), seconds_text(last.communication.value),
               seconds_text(last.codec.value)});
  }
  return table;
}

/// Explains the table, one line per item.
std::string notes_on(const Ranking& ranking) {
  std::ostringstream notes;
  notes << "speed-up: relative to " << reference_of(ranking)
        << ", over the whole run including its warm-up; range: the speed-up if "
        << "all times on the links are " << percent_text(netmodel::uncertainty_of(ranking.cluster))
        << " longer or shorter than estimated\n"
        << "'warmed up', 'exchange' and 'coding' describe a step after the warm-up; 'exchange' is the part that is not "
           "hidden\n"
        << "faster on links: the effective rates of a network link at which such a step is faster than dense Adam's; "
        << "here a link reaches " << rate_text(ranking.cluster.nic.effective) << "\n"
        << "memory of a GPU with dense Adam: " << memory_text(ranking.memory) << "\n";
  for (const RankedMethod& method : ranking.methods) {
    if (!method.same.empty())
      notes << "the same estimate as for " << name_of(method) << ": " << join(method.same, ", ") << "\n";
  }
  for (const RankedMethod& method : ranking.methods) {
    if (method.schedule && method.schedule->assumed && method.compresses)
      notes << method.optimizer << ": a run of " << method.schedule->steps << " steps is assumed; --steps sets it\n";
  }
  for (const auto& [optimizer, reason] : ranking.refused)
    notes << "not priced: " << optimizer << ": " << reason << "\n";
  return notes.str();
}

Json to_json(const Ranged& ranged) {
  return Json::object({{"value", ranged.value}, {"low", ranged.low}, {"high", ranged.high}});
}

Json to_json(const RankedMethod& method) {
  const analysis::ClusterPrice& price = method.price;
  return Json::object(
      {{"optimizer", method.optimizer},
       {"codec", method.codec},
       {"same", Json::array({method.same.begin(), method.same.end()})},
       {"compresses", Json::boolean(method.compresses)},
       {"exchanges_rarely", Json::boolean(method.rare)},
       {"samples_per_second", to_json(method.samples_per_second)},
       {"speedup", to_json(method.speedup)},
       {"last_stage_speedup", price.speedup},
       {"exchange_seconds", price.stages.back().step.communication.value},
       {"codec_seconds", price.stages.back().step.codec.value},
       {"waits_for", waits_text(method)},
       {"break_even_bytes_per_second", price.break_even ? price.break_even->value : sim::not_applicable},
       {"break_even", break_even_cell(method)}});
}

}  // namespace

std::string answer_of(const Ranking& ranking) {
  if (ranking.nodes * ranking.width == 1) return "A single GPU has nothing to exchange.";
  const RankedMethod* best = first(ranking, [](const RankedMethod& m) { return m.compresses && !m.rare; });
  const RankedMethod* rare = first(ranking, [](const RankedMethod& m) { return m.rare; });
  const std::string reference = reference_of(ranking);
  std::string text =
      best == nullptr ? "None of these methods compresses and exchanges in every step." : verdict(*best, reference);
  if (rare != nullptr && rare->speedup.low >= 1 && rare->speedup.value > 1 + kLittle &&
      (best == nullptr || rare->speedup.value > best->speedup.value)) {
    text += "\nA method that exchanges less often saves more: " + name_of(*rare) + " processes " +
            figures_text(rare->speedup, reference);
  }
  return text;
}

void print_ranking(const Ranking& ranking, std::ostream& out) {
  std::ostringstream before, after;
  before << cluster_text(ranking.cluster, ranking.nodes, ranking.width) << " (" << ranking.cluster.gpu << "), "
         << ranking.workload << " (times: " << ranking.methods.front().price.basis << "), batch " << ranking.batch
         << " x " << ranking.accumulation << boundary_text(ranking.tables, ranking.hybrid) << "\n\n";
  print_paragraphs(out, before.str());
  table_of(ranking).print(out);
  after << "\n"
        << notes_on(ranking) << "\n"
        << dense_text(ranking.methods.front().price.dense.step) << "\n"
        << (ranking.memory.fits() ? "" : too_large_text(ranking)) << answer_of(ranking) << "\n";
  print_paragraphs(out, after.str());
}

Json to_json(const Ranking& ranking) {
  std::vector<Json> methods, refused;
  for (const RankedMethod& method : ranking.methods) methods.push_back(to_json(method));
  for (const auto& [optimizer, reason] : ranking.refused) {
    refused.push_back(Json::object({{"optimizer", optimizer}, {"reason", reason}}));
  }
  return Json::object({{"cluster", ranking.cluster.name},
                       {"nodes", ranking.nodes},
                       {"gpus_per_node", ranking.width},
                       {"workload", ranking.workload},
                       {"boundary", ranking.tables ? ranking.hybrid.codec : ""},
                       {"batch", ranking.batch},
                       {"accumulation", ranking.accumulation},
                       {"uncertainty", netmodel::uncertainty_of(ranking.cluster)},
                       {"memory_bytes", ranking.memory.total().value},
                       {"fits", Json::boolean(ranking.memory.fits())},
                       {"answer", answer_of(ranking)},
                       {"dense_samples_per_second", to_json(ranking.dense)},
                       {"methods", Json::array(methods)},
                       {"refused", Json::array(refused)}});
}

}  // namespace onebit::experiments
