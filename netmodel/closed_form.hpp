#pragma once

#include "netmodel/cost_model.hpp"

namespace onebit::netmodel {

/// The alpha-beta model of flat algorithms, after Thakur, Rabenseifner and Gropp, "Optimization of Collective
/// Communication Operations in MPICH", IJHPCA 19(1), 2005. N workers (group_size), a = latency of a step,
/// B = effective bytes per second of a link:
///
///   all_reduce  ring, reduce-scatter then all-gather   2(N-1) a + 2(N-1)/N S/B   S = a worker's whole vector
///   all_to_all  pairwise exchange                       (N-1) a +  (N-1)/N S/B   S = all that a worker hands over
///   all_gather  ring                                    (N-1) a +  (N-1)   s/B   s = a worker's own block
///   tree        binomial, up or down               ceil(log2 N) (a + s/B)          s = one message
///
/// N = 1 costs nothing. S, s are payload_bytes; the byte terms are sent_bytes / B, the step counts messages_sent (the
/// record's own message count is not used).
/// Deviations: the paper's reduction term, (N-1)/N S gamma of an all-reduce, is left out in this version. Packing,
/// unpacking and staging are not network time. Every worker has a link of its own (one GPU a node): nothing contends.
class ClosedForm : public CostModel {
 public:
  Estimate cost(const Traffic& traffic, const Cluster& cluster) const override;
};

}  // namespace onebit::netmodel
