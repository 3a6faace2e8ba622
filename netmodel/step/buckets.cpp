#include "netmodel/step/buckets.hpp"

#include <algorithm>
#include <cmath>

namespace onebit::netmodel {
namespace {

constexpr Bytes kUsual{25e6};

Seconds time_of(const std::vector<Priced>& prices) {
  Seconds sum;
  for (const Priced& priced : prices) sum += priced.estimate.total;
  return sum;
}

/// Buckets of gradients become ready at equal intervals during the pass; the exchange of each bucket starts when the
/// bucket is ready and the previous exchange has ended. With K equal buckets, the exchange ends at the maximum over k
/// of k/K of the pass plus the time of K - k + 1 buckets; the maximum is at k = 1 or k = K. For weights that a pass
/// needs, the same holds with time reversed: each bucket is gathered before the pass reaches it. A single bucket does
/// not overlap.
Buckets in_buckets(double count, const std::vector<Exchanged>& exchanged, Seconds pass, const Fabric& fabric,
                   const CostModel& model, double stretch) {
  Buckets buckets;
  buckets.count = count;
  for (const Exchanged& each : exchanged) {
    buckets.one.push_back(price(each.collective, 1 / count * each.payload, fabric, model, each.scope));
  }
  const Seconds one = time_of(buckets.one);
  buckets.exposed = one;
  if (count == 1) return buckets;
  buckets.exposed = std::max(1 / count * pass + count * one, pass + one) - pass;
  buckets.stretched = stretch * (count * one - buckets.exposed);
  return buckets;
}

Bytes whole_vector(const std::vector<Exchanged>& exchanged, const Fabric& fabric) {
  Bytes most;
  for (const Exchanged& each : exchanged) {
    const double blocks =
        each.collective == Collective::all_gather ? static_cast<double>(members(fabric, each.scope)) : 1;
    most = std::max(most, blocks * each.payload);
  }
  return most;
}

}  // namespace

Seconds Buckets::total() const {
  return count * time_of(one);
}

Buckets single_bucket(const std::vector<Exchanged>& exchanged, Seconds pass, const Fabric& fabric,
                      const CostModel& model) {
  return in_buckets(1, exchanged, pass, fabric, model, 0);
}

Buckets cheapest_buckets(const std::vector<Exchanged>& exchanged, Seconds pass, const Fabric& fabric,
                         const CostModel& model, Bytes size, double stretch) {
  const auto count = [vector = whole_vector(exchanged, fabric)](Bytes bucket) {
    return std::max(1.0, std::ceil(vector / bucket));
  };
  if (size.value > 0) return in_buckets(count(size), exchanged, pass, fabric, model, stretch);
  const auto cost = [](const Buckets& buckets) { return buckets.exposed + buckets.stretched; };
  const Buckets single = single_bucket(exchanged, pass, fabric, model);
  Buckets best = in_buckets(count(kUsual), exchanged, pass, fabric, model, stretch);
  while (best.count > 1) {
    Buckets next = in_buckets(std::ceil(best.count / 2), exchanged, pass, fabric, model, stretch);
    if (cost(next) >= cost(best)) break;
    best = std::move(next);
  }
  return cost(single) <= cost(best) ? single : best;
}

}  // namespace onebit::netmodel
