#include "netmodel/plan/selector.hpp"

#include <cstdio>
#include <vector>

#include "device/base/error.hpp"
#include "netmodel/plan/nccl.hpp"

namespace onebit::netmodel {
namespace {

std::string milliseconds(Seconds time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g ms", 1e3 * time.value);
  return text;
}

Request all_reduce(Algorithm algorithm, Bytes payload, const Fabric& fabric) {
  Request request{Collective::all_reduce, Scope::all, algorithm, payload};
  request.protocol = best_protocol(request, fabric);
  return request;
}

/// Chooses the algorithm with the smallest time according to `time_of`. The reason lists all times.
template <class Time>
Choice fastest(const std::vector<Algorithm>& candidates, Bytes payload, const Fabric& fabric, const std::string& rule,
               const Time& time_of) {
  Choice best;
  Seconds least;
  std::string times;
  for (const Algorithm algorithm : candidates) {
    const Request request = all_reduce(algorithm, payload, fabric);
    const Seconds time = time_of(request);
    if (!times.empty()) times += ", ";
    times.append(name(algorithm)).append(" ").append(milliseconds(time));
    if (algorithm != candidates.front() && time >= least) continue;
    least = time;
    best.algorithm = algorithm;
    best.protocol = request.protocol;
  }
  best.reason = rule + times;
  return best;
}

Choice nccl_choice(Bytes payload, const Fabric& fabric) {
  std::vector<Algorithm> candidates;
  for (const Algorithm each : {Algorithm::ring, Algorithm::tree, Algorithm::nvls}) {
    if (nccl_has(each, fabric)) candidates.push_back(each);
  }
  return fastest(candidates, payload, fabric,
                 "NCCL's rule at nominal rates: ", [&](const Request& request) { return nccl_time(request, fabric); });
}

Choice cheapest(Bytes payload, const Fabric& fabric, const CostModel& model) {
  std::vector<Algorithm> candidates;
  for (const AlgorithmEntry& entry : algorithms()) {
    if (entry.collective != Collective::all_reduce) continue;
    if (entry.algorithm == Algorithm::nvls && !nccl_has(Algorithm::nvls, fabric)) continue;
    candidates.push_back(entry.algorithm);
  }
  return fastest(candidates, payload, fabric, "cheapest of ",
                 [&](const Request& request) { return model.cost(plan(request, fabric), fabric).total; });
}

Choice fixed(Algorithm algorithm, Bytes payload, const Fabric& fabric) {
  return {algorithm, all_reduce(algorithm, payload, fabric).protocol, "fixed by the cluster"};
}

Choice all_reduce_choice(Bytes payload, const Fabric& fabric, const CostModel& model) {
  switch (fabric.cluster().all_reduce) {
    case Selection::ring:
      return fixed(Algorithm::ring, payload, fabric);
    case Selection::hierarchical:
      return fixed(Algorithm::hierarchical, payload, fabric);
    case Selection::tree:
      return fixed(Algorithm::tree, payload, fabric);
    case Selection::halving:
      return fixed(Algorithm::halving, payload, fabric);
    case Selection::leader:
      return fixed(Algorithm::leader, payload, fabric);
    case Selection::nvls:
      return fixed(Algorithm::nvls, payload, fabric);
    case Selection::nccl:
      return nccl_choice(payload, fabric);
    case Selection::cheapest:
      return cheapest(payload, fabric, model);
  }
  return {};
}

}  // namespace

std::string_view name(Selection selection) {
  constexpr std::string_view names[] = {"ring",   "hierarchical", "tree", "halving",
                                        "leader", "nvls",         "nccl", "cheapest"};
  return names[static_cast<std::size_t>(selection)];
}

Choice choose(Collective collective, Bytes payload, const Fabric& fabric, const CostModel& model, Scope scope) {
  const Cluster& cluster = fabric.cluster();
  const auto with_protocol = [&](Algorithm algorithm, const char* reason) {
    return Choice{algorithm, best_protocol({collective, scope, algorithm, payload}, fabric), reason};
  };
  switch (collective) {
    case Collective::all_reduce:
      return all_reduce_choice(payload, fabric, model);
    case Collective::all_to_all:
      return with_protocol(cluster.pairwise_all_to_all ? Algorithm::pairwise : Algorithm::burst,
                           "fixed by the cluster");
    case Collective::all_gather:
      return with_protocol(cluster.direct_all_gather ? Algorithm::direct : Algorithm::ring, "fixed by the cluster");
    default:
      break;
  }
  for (const AlgorithmEntry& entry : algorithms()) {
    if (entry.collective == collective) return with_protocol(entry.algorithm, "the default");
  }
  throw ConfigError("an exchange is of an unknown kind", "", "the log may be damaged: see 'onebit inspect'");
}

Priced price(Collective collective, Bytes payload, const Fabric& fabric, const CostModel& model, Scope scope) {
  Priced priced{choose(collective, payload, fabric, model, scope), {}};
  priced.estimate = model.cost(plan(request_of(collective, payload, priced.choice, scope), fabric), fabric);
  return priced;
}

Request request_of(Collective collective, Bytes payload, const Choice& choice, Scope scope) {
  return {collective, scope, choice.algorithm, payload, choice.protocol};
}

Estimate total_cost(const TrafficList& list, const Fabric& fabric, const CostModel& model) {
  Estimate sum;
  for (const Traffic& traffic : list) {
    if (traffic.group_size != fabric.ranks()) {
      throw ConfigError("an exchange of " + std::to_string(traffic.group_size) + " workers does not fit " +
                            std::to_string(fabric.ranks()) + " GPUs",
                        "cluster " + fabric.cluster().name);
    }
    sum += price(traffic.collective, Bytes(static_cast<double>(traffic.payload_bytes)), fabric, model).estimate;
  }
  return sum;
}

}  // namespace onebit::netmodel
