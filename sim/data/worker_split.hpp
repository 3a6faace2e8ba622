#pragma once
// Divides training examples among workers.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/base/types.hpp"
#include "device/math/philox.hpp"

namespace onebit::sim {

/// Which training examples a worker draws from: all of them (iid), or a part that no other worker has. Parts are never
/// empty. They depend only on the examples and the rule, never on a seed, so that runs with different seeds solve the
/// same problem.
class WorkerSplit {
 public:
  /// Constructs the iid split, in which every worker draws from all examples.
  WorkerSplit() = default;

  /// Gives worker w the examples order[first[w]] ... order[first[w + 1] - 1]. An empty order stands for 0, 1, 2, ...
  WorkerSplit(std::vector<std::uint32_t> order, std::vector<Index> first);

  /// Draws an example uniformly from the part of counter.worker or, for iid, from all `train` examples. Throws Error
  /// for a worker without a part.
  Index draw(device::RandomKey key, device::RandomCounter counter, Index train) const {
    if (first_.empty()) return device::uniform_index(key, counter, train);
    return draw_own(key, counter);
  }

  /// Number of examples of a worker; 0 for iid.
  Index size(Index worker) const;

  /// Describes the split, such as "2 .. 90 of 1000 examples per worker"; empty for iid.
  std::string describe() const;

 private:
  Index draw_own(device::RandomKey key, device::RandomCounter counter) const;

  std::vector<std::uint32_t> order_;
  std::vector<Index> first_;  // beginning of each part, and the end of the last; empty for iid
};

/// Makes the split of `train` examples that `rule` names:
///   iid          every worker draws from all
///   label        examples sorted by label (stably) and cut into contiguous parts of equal size
///   dirichlet:A  of each class, worker w gets a share p_w with p ~ Dirichlet(A, ..., A), drawn separately for every
///                class (Yurochkin et al. 2019, section 4; Hsu et al. 2019 draw classes for a worker instead). The
///                smaller A is, the more the shares differ. Gamma variates are drawn as in Marsaglia and Tsang (2000).
///                A worker without examples gets one from the worker that has the most
///   size[:P]     contiguous parts regardless of labels: one example for each worker, and the others in proportion to
///                (w + 1)^-P; without a number P is 1; size:0 gives equal parts
/// labels: the labels of the training examples, in the order of the examples; if there are no labels, only iid and size
/// are possible. Throws ConfigError for a rule that is unknown, malformed, or impossible with these data, and for more
/// workers than examples.
WorkerSplit split_among(const std::string& rule, Index workers, Index train, std::span<const std::int32_t> labels);

/// Draws p ~ Dirichlet(alpha, ..., alpha) from the Philox key (0, split), with step 1 + stream and worker w.
std::vector<double> dirichlet(double alpha, Index workers, Index stream);

}  // namespace onebit::sim
