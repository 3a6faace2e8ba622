#include "netmodel/table_model.hpp"

#include <algorithm>
#include <cmath>

#include "device/error.hpp"
#include "netmodel/link_load.hpp"

namespace onebit::netmodel {
namespace {

/// A GPU's bytes on the wire, and the time they took.
struct Point {
  double bytes, seconds;
};

double wire_bytes(Collective collective, Index ranks, Bytes payload) {
  Traffic traffic;
  traffic.collective = collective;
  traffic.group_size = ranks;
  traffic.payload_bytes = 1;
  return payload.value * sent_bytes(traffic).value;
}

std::vector<Point> points_of(const std::vector<Measurement>& rows, Collective collective, const Fabric& fabric) {
  std::vector<Point> points;
  for (const Measurement& row : rows) {
    if (row.collective != collective || row.nodes != fabric.nodes() || row.gpus_per_node != fabric.width()) continue;
    points.push_back({wire_bytes(collective, fabric.ranks(), row.bytes), row.seconds.value});
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
  return points;
}

double interpolated(const std::vector<Point>& points, double bytes) {
  if (bytes <= points.front().bytes) return points.front().seconds;
  if (bytes >= points.back().bytes) return points.back().seconds * bytes / points.back().bytes;
  const auto above = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.bytes > bytes; });
  const Point &a = *(above - 1), &b = *above;
  const double t = std::log(bytes / a.bytes) / std::log(b.bytes / a.bytes);
  return a.seconds * std::pow(b.seconds / a.seconds, t);
}

}  // namespace

Estimate TableModel::cost(const Plan& plan, const Fabric& fabric) const {
  Estimate estimate = LinkLoad().cost(plan, fabric);  // bytes and the bottleneck
  if (plan.phases.empty()) return estimate;
  const Collective collective = plan.request.collective;
  std::vector<Point> points;
  if (plan.request.scope == Scope::all) {
    points = points_of(rows_, collective, fabric);
    if (points.empty()) points = points_of(rows_, Collective::all_reduce, fabric);
  }
  if (points.empty()) {
    throw ConfigError("no measurement of " + std::string(name(collective)) + " or all_reduce on " +
                          std::to_string(fabric.nodes()) + " nodes of " + std::to_string(fabric.width()) + " GPUs",
                      "cost table", "measure it, or --cost-model link-load");
  }
  estimate.total = Seconds(interpolated(points, wire_bytes(collective, fabric.ranks(), plan.request.payload)));
  estimate.latency = estimate.reduction = Seconds(0);
  estimate.bandwidth = estimate.at_bottleneck = estimate.total;
  return estimate;
}

}  // namespace onebit::netmodel
