#include "netmodel/measured/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "device/base/error.hpp"
#include "netmodel/cost/link_load.hpp"
#include "netmodel/plan/selector.hpp"

namespace onebit::netmodel {
namespace {

using Point = std::vector<double>;
using Rows = std::vector<Measurement>;

/// Bounds on fitted values. A fit may reach them if its algorithm does not suit the rows.
constexpr BytesPerSecond kFastest{1e12};
constexpr Seconds kLongestLatency{1};
constexpr double kLargestPenalty = 5;

/// Which parameters of a cluster are fitted.
struct Free {
  bool gpu = false, gpu_latency = false, nic = false, nic_latency = false, penalty = false;
  std::size_t count() const { return std::size_t{gpu} + gpu_latency + nic + nic_latency + penalty; }
};

/// The range of the measured sizes, which shows whether they determine a latency as well as a rate.
class Sizes {
 public:
  void add(Bytes bytes) {
    least_ = std::min(least_, bytes.value);
    most_ = std::max(most_, bytes.value);
  }
  bool spread() const { return most_ >= 16 * least_; }

 private:
  double least_ = std::numeric_limits<double>::infinity(), most_ = 0;
};

Free free_by(const Rows& rows) {
  Free free;
  std::set<Index> nodes;
  Sizes inside, between;
  for (const Measurement& row : rows) {
    (row.nodes > 1 ? free.nic : free.gpu) = true;
    (row.nodes > 1 ? between : inside).add(row.bytes);
    if (row.nodes > 1) nodes.insert(row.nodes);
  }
  free.gpu_latency = inside.spread();
  free.nic_latency = between.spread();
  free.penalty = nodes.size() >= 4;
  return free;
}

/// Returns the cluster at a point. The point's coordinates are logarithms relative to the start, and the penalty's
/// square root.
Cluster at(const Cluster& start, const Free& free, const Point& x) {
  Cluster cluster = start;
  std::size_t i = 0;
  const auto scale = [&](auto& quantity) { quantity.value *= std::exp(x[i++]); };
  if (free.gpu) scale(cluster.gpu_link.effective);
  if (free.gpu_latency) scale(cluster.gpu_link.latency);
  if (free.nic) scale(cluster.nic.effective);
  if (free.nic_latency) scale(cluster.nic.latency);
  if (free.penalty) cluster.nic.scale_penalty = std::min(x[i] * x[i], kLargestPenalty);
  for (LinkSpec* link : {&cluster.gpu_link, &cluster.nic}) {
    link->effective = std::min(link->effective, kFastest);
    link->latency = std::min(link->latency, kLongestLatency);
    // An effective rate above the nominal one means that the start's line rate was a guess.
    link->nominal = std::max(link->nominal, link->effective);
  }
  return cluster;
}

double predicted(const Cluster& cluster, const Measurement& row) {
  Cluster sized = cluster;
  sized.nodes = 0;
  sized.gpus_per_node = row.gpus_per_node;
  const Fabric fabric(sized, row.nodes * row.gpus_per_node);
  return price(Collective::all_reduce, row.bytes, fabric, LinkLoad()).estimate.total.value;
}

double relative_error(const Cluster& cluster, const Measurement& row) {
  return predicted(cluster, row) / row.seconds.value - 1;
}

/// Minimises f by the method of Nelder and Mead, "A simplex method for function minimization", Computer Journal 7,
/// 1965.
Point minimise(const std::function<double(const Point&)>& f, std::size_t dimensions, double size) {
  std::vector<std::pair<double, Point>> simplex;
  for (std::size_t i = 0; i <= dimensions; ++i) {
    Point x(dimensions, 0.0);
    if (i > 0) x[i - 1] = size;
    simplex.emplace_back(f(x), x);
  }
  const auto along = [&](const Point& centre, const Point& worst, double t) {
    Point x(dimensions);
    for (std::size_t i = 0; i < dimensions; ++i) x[i] = centre[i] + t * (centre[i] - worst[i]);
    return std::pair(f(x), x);
  };
  const auto by_value = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (int step = 0; step < 400; ++step) {
    std::sort(simplex.begin(), simplex.end(), by_value);
    if (simplex.back().first - simplex.front().first < 1e-14) break;
    Point centre(dimensions, 0.0);
    for (std::size_t v = 0; v < dimensions; ++v) {
      for (std::size_t i = 0; i < dimensions; ++i) {
        centre[i] += simplex[v].second[i] / static_cast<double>(dimensions);
      }
    }
    auto& worst = simplex.back();
    auto moved = along(centre, worst.second, 1);
    if (moved.first < simplex.front().first) moved = std::min(moved, along(centre, worst.second, 2), by_value);
    if (moved.first >= simplex[dimensions - 1].first) {
      moved = std::min(along(centre, worst.second, -0.5), along(centre, worst.second, 0.5), by_value);
    }
    if (moved.first < worst.first) {
      worst = moved;
      continue;
    }
    const Point best = simplex.front().second;
    for (auto& [value, x] : simplex) {
      for (std::size_t i = 0; i < dimensions; ++i) x[i] = 0.5 * (x[i] + best[i]);
      value = f(x);
    }
  }
  return std::min_element(simplex.begin(), simplex.end(), by_value)->second;
}

/// Guesses the unknown rates from the times that the rows would take at the start's rates.
Cluster guess(const Rows& rows, const Cluster& start) {
  Cluster cluster = start;
  for (const bool network : {false, true}) {
    std::vector<double> factors;
    for (const Measurement& row : rows) {
      if ((row.nodes > 1) == network) factors.push_back(predicted(cluster, row) / row.seconds.value);
    }
    if (factors.empty()) continue;
    std::nth_element(factors.begin(), factors.begin() + static_cast<std::ptrdiff_t>(factors.size() / 2), factors.end());
    const double factor = factors[factors.size() / 2];
    LinkSpec& link = network ? cluster.nic : cluster.gpu_link;
    link.effective = std::min(factor * link.effective, kFastest);
    link.nominal = std::max(link.nominal, link.effective);
  }
  return cluster;
}

bool same_configuration(const Measurement& a, const Measurement& b) {
  return a.nodes == b.nodes && a.gpus_per_node == b.gpus_per_node;
}

Cluster fitted(const Rows& rows, const Cluster& start) {
  const Free free = free_by(rows);
  const Cluster from = guess(rows, start);
  // Configurations count equally, however often they were measured.
  const auto same = [](const Measurement& a, const Measurement& b) {
    return same_configuration(a, b) && a.bytes == b.bytes;
  };
  std::vector<double> weights;
  for (const Measurement& row : rows) {
    weights.push_back(1 / static_cast<double>(std::count_if(
                              rows.begin(), rows.end(), [&](const Measurement& other) { return same(row, other); })));
  }
  const auto squares = [&](const Point& x) {
    for (const double each : x) {
      if (std::abs(each) > 7) return 1e6 * (1 + std::abs(each));  // a factor of a thousand from the guess is not a fit
    }
    const Cluster cluster = at(from, free, x);
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double error = relative_error(cluster, rows[i]);
      sum += weights[i] * error * error;
    }
    return sum;
  };
  return at(from, free, minimise(squares, free.count(), 0.1));
}

/// Predicts the rows of each combination of nodes and GPUs from a fit to all other rows.
void leave_out(const Rows& rows, const Cluster& start, Fit& fit) {
  fit.left_out.assign(rows.size(), std::numeric_limits<double>::quiet_NaN());
  fit.worst_left_out = std::numeric_limits<double>::quiet_NaN();
  const Free free = free_by(rows);
  std::vector<char> done(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (done[i]) continue;
    Rows others = rows;
    std::erase_if(others, [&](const Measurement& row) { return same_configuration(row, rows[i]); });
    const Free left = free_by(others);
    const bool can = others.size() > free.count() - 1 && left.gpu == free.gpu && left.nic == free.nic;
    const Cluster cluster = can ? fitted(others, start) : start;
    for (std::size_t j = i; j < rows.size(); ++j) {
      if (!same_configuration(rows[i], rows[j])) continue;
      done[j] = 1;
      if (!can) continue;
      fit.left_out[j] = relative_error(cluster, rows[j]);
      fit.worst_left_out = std::fmax(fit.worst_left_out, std::abs(fit.left_out[j]));
    }
  }
}

}  // namespace

Fit fit_selection(const Rows& rows, const Cluster& start, Selection selection) {
  if (rows.size() < 2) {
    throw ConfigError("too few measurements to fit: " + std::to_string(rows.size()), "", "at least 2 are needed");
  }
  for (const Measurement& row : rows) {
    if (row.nodes * row.gpus_per_node == 1)
      throw ConfigError("cannot fit a link to a measurement of one GPU", row.where);
    if (row.collective == Collective::all_reduce) continue;
    throw ConfigError("cannot fit a cluster to a measurement of " + std::string(name(row.collective)), row.where,
                      "use measurements of all_reduce only");
  }
  Cluster from = start;
  from.all_reduce = selection;
  const Free free = free_by(rows);
  Fit fit{.cluster = fitted(rows, from),
          .fits_gpu_latency = free.gpu_latency,
          .fits_nic_latency = free.nic_latency,
          .fits_penalty = free.penalty,
          .residuals = {},
          .left_out = {}};
  fit.cluster.source = Source::fitted;
  for (const Measurement& row : rows) {
    fit.residuals.push_back(relative_error(fit.cluster, row));
    fit.worst = std::max(fit.worst, std::abs(fit.residuals.back()));
  }
  leave_out(rows, from, fit);
  return fit;
}

std::vector<Fit> calibrate(const Rows& rows, const Cluster& start) {
  std::vector<Selection> selections = {Selection::ring,    Selection::hierarchical, Selection::tree,
                                       Selection::halving, Selection::leader,       Selection::nccl};
  std::erase(selections, start.all_reduce);
  selections.insert(selections.begin(), start.all_reduce);
  std::vector<Fit> fits;
  for (const Selection selection : selections) fits.push_back(fit_selection(rows, start, selection));
  const auto worst = [](const Fit& fit) { return std::fmax(fit.worst, fit.worst_left_out); };
  const auto better = [&](const Fit& a, const Fit& b) { return worst(a) < worst(b); };
  const Fit& best = *std::min_element(fits.begin(), fits.end(), better);
  const double here = worst(fits.front()), there = worst(best);
  const bool clear = here > there + kNoise && there < 2.0 / 3 * here;
  const bool stays = std::isnan(fits.front().worst_left_out) || !clear;
  std::stable_sort(fits.begin() + (stays ? 1 : 0), fits.end(), better);
  return fits;
}

}  // namespace onebit::netmodel
