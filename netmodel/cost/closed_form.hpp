#pragma once

#include "netmodel/cost/cost_model.hpp"

namespace onebit::netmodel {

/// Formulas for each collective and algorithm that do not use a plan's phases. They serve as a check on LinkLoad, and
/// are the fastest model for very many GPUs. After Thakur, Rabenseifner and Gropp, "Optimization of Collective
/// Communication Operations in MPICH", IJHPCA 19(1), 2005; Sanders, Speck and Traeff, "Two-tree algorithms for full
/// bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009. Notation: N ranks on M nodes of G GPUs; S
/// bytes of payload; a is the latency of a step (a_i within a node, a_n between nodes: call_costs); B_i and B_n are the
/// rates of a GPU's and a node's link. Every call also adds its base latency, and every message adds the per_message
/// time of its link. Trees and NVLS also take fill_time(). LL and LL128 reach only a part of the rates.
///
///   all-reduce ring           2(N-M) a_i + 2(M-1) a_n + 2(N-1)/N S/min(B_n, B_i)
///   all-reduce hierarchical   2(G-1) (a_i + S/(G B_i)) + 2(M-1) (a_n + S/(GM) / min(B_n/G, B_i))
///   all-reduce tree           2(G-1) a_i + 2 ceil(log2 M) a_n + max(c S/B_n, d S/B_i) / 0.92
///   all-reduce nvls           a_i + S/(v B_i) in one node
///                             a_i + 2 ceil(log2 M) a_n + max(c S/B_n, S/(0.92 v B_i)) in several
///   all-to-all burst          a + max(G(N-G) s/B_n, (N-1) s/B_i), s = S/N
///   all-to-all pairwise       sum over rounds k = 1, ..., N-1 of a + max(min(k, G, N-k) s/B_n, s/B_i)
///   all-gather                ring (N-M) a_i + (M-1) a_n + (N-1) S/min(B_n, B_i); direct as burst with s = S
///   tree                      ceil(log2 N) rounds of (a + S/B)
///
/// c(M) is the number of vectors that a node sends up and down in both trees: 1, 1.5 and 2 for 2, 3, and at least 4
/// nodes; d is the number that the busiest GPU sends. The formulas hold for nodes that are all alike, with ranks in
/// order. For halving, the numbers of ranks and of GPUs per node must also be powers of two. The binomial tree on
/// several nodes requires a power of two only for the number of GPUs per node. v is Cluster::nvls. No uplink of a leaf
/// switch may limit the network, and all blocks of an all-to-all must have one size. Throws ConfigError if these
/// conditions do not hold.
class ClosedForm : public CostModel {
 public:
  Estimate cost(const Plan& plan, const Fabric& fabric) const override;
};

}  // namespace onebit::netmodel
