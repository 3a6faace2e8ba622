#pragma once
// Exchanges that take place during a pass over the layers, in buckets.

#include <vector>

#include "netmodel/plan/selector.hpp"

namespace onebit::netmodel {

/// A collective that a pass over all layers runs, with its payload for the whole model, counted as in price().
struct Exchanged {
  Collective collective = Collective::all_reduce;
  Bytes payload;
  Scope scope = Scope::all;
};

/// Equal buckets of a model. A pass runs all of its collectives for each bucket.
struct Buckets {
  double count = 1;
  std::vector<Priced> one;  ///< prices of a bucket's collectives
  Seconds exposed;          ///< time of the exchanges outside the pass
  Seconds stretched;        ///< time by which the exchanges slow the pass down

  Seconds total() const;  ///< time of all exchanges
};

/// Returns the whole model as one bucket, which is exchanged outside the pass.
Buckets single_bucket(const std::vector<Exchanged>& exchanged, Seconds pass, const Fabric& fabric,
                      const CostModel& model);

/// Returns buckets of the given size, counted in bytes of the whole vector. Without a size, starts from 25 MB (DDP's
/// default), doubles the size as long as that saves time, and returns these buckets or, if that is cheaper, a single
/// one. stretch: share by which exchanges slow the pass down while they overlap with it.
Buckets cheapest_buckets(const std::vector<Exchanged>& exchanged, Seconds pass, const Fabric& fabric,
                         const CostModel& model, Bytes size, double stretch);

}  // namespace onebit::netmodel
