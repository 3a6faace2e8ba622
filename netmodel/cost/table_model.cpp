#include "netmodel/cost/table_model.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "netmodel/cost/link_load.hpp"
#include "netmodel/plan/selector.hpp"

namespace onebit::netmodel {
namespace {

/// The size of an exchange (in bytes, or in seconds of its busiest links), its measured time, and LinkLoad's estimate.
struct Point {
  double size, seconds, modelled;
};

std::vector<Measurement> rows_of(const std::vector<Measurement>& rows, const Fabric& fabric) {
  std::vector<Measurement> here;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(here), [&](const Measurement& row) {
    return row.nodes == fabric.nodes() && row.gpus_per_node == fabric.width();
  });
  return here;
}

/// Replaces all points of the same size by one with the mean of their times. The points must be sorted by size.
std::vector<Point> merged(const std::vector<Point>& points) {
  std::vector<Point> sizes;
  for (auto begin = points.begin(); begin != points.end();) {
    const auto end = std::find_if(begin, points.end(), [&](const Point& p) { return p.size != begin->size; });
    sizes.push_back(*begin);
    sizes.back().seconds =
        std::accumulate(begin, end, 0.0, [](double sum, const Point& p) { return sum + p.seconds; }) /
        static_cast<double>(end - begin);
    begin = end;
  }
  return sizes;
}

/// Returns the points of a collective by size, which is in bytes or else in seconds of the busiest links.
std::vector<Point> points_of(const std::vector<Measurement>& rows, Collective collective, const Fabric& fabric,
                             bool in_bytes) {
  std::vector<Point> points;
  for (const Measurement& row : rows) {
    if (row.collective != collective) continue;
    const Estimate links = price(collective, row.bytes, fabric, LinkLoad()).estimate;
    points.push_back({in_bytes ? row.bytes.value : links.bandwidth.value, row.seconds.value, links.total.value});
  }
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.size < b.size; });
  return merged(points);
}

double interpolated(const std::vector<Point>& points, double size, double modelled) {
  if (size <= points.front().size) return points.front().seconds * std::min(1.0, modelled / points.front().modelled);
  if (size >= points.back().size) return points.back().seconds * size / points.back().size;
  const auto above = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.size > size; });
  const Point &a = *(above - 1), &b = *above;
  const double t = std::log(size / a.size) / std::log(b.size / a.size);
  return a.seconds * std::pow(b.seconds / a.seconds, t);
}

std::string shape_of(const Fabric& fabric) {
  return std::to_string(fabric.nodes()) + " nodes of " + std::to_string(fabric.width()) + " GPUs";
}

/// Returns the measured ranges: "all_reduce of 1 MB to 100 MB, all_to_all of ..."
std::string ranges_of(const std::vector<Measurement>& rows) {
  std::map<Collective, std::pair<double, double>> ranges;
  for (const Measurement& row : rows) {
    auto& [least, most] = ranges.try_emplace(row.collective, row.bytes.value, row.bytes.value).first->second;
    least = std::min(least, row.bytes.value);
    most = std::max(most, row.bytes.value);
  }
  std::vector<std::string> texts;
  for (const auto& [collective, range] : ranges) {
    texts.push_back(std::string(name(collective)) + " of " + bytes_text(range.first));
    if (range.second > range.first) texts.back() += " to " + bytes_text(range.second);
  }
  return join(texts, ", ");
}

}  // namespace

Estimate TableModel::cost(const Plan& plan, const Fabric& fabric) const {
  Estimate estimate = LinkLoad().cost(plan, fabric);  // for its bytes and bottleneck
  if (plan.phases.empty()) return estimate;
  const Collective collective = plan.request.collective;
  const bool all = plan.request.scope == Scope::all;
  const std::vector<Measurement> rows = all ? rows_of(rows_, fabric) : std::vector<Measurement>();
  std::vector<Point> points = points_of(rows, collective, fabric, true);
  const bool measured = !points.empty();
  if (!measured) points = points_of(rows, Collective::all_reduce, fabric, false);
  const double size = measured ? plan.request.payload.value : estimate.bandwidth.value;
  if (points.empty()) {
    const std::string reduced = collective == Collective::all_reduce ? "" : " or all_reduce";
    throw ConfigError("no measurement of " + std::string(name(collective)) + reduced + " on " + shape_of(fabric),
                      "cost table", "measure it, or use --cost-model link-load");
  }
  if (!measured || size < points.front().size || size > points.back().size) {
    on_extended_("times beyond the cost table are extrapolated, or inferred from all_reduce; measured on " +
                 shape_of(fabric) + ": " + ranges_of(rows));
  }
  estimate.total = Seconds(interpolated(points, size, estimate.total.value));
  estimate.latency = Seconds(0);
  estimate.bandwidth = estimate.at_bottleneck = estimate.total;
  return estimate;
}

}  // namespace onebit::netmodel
