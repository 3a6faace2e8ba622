#pragma once

#include "device/cpu/queue.hpp"

namespace onebit::device::cpu {

/// The state of a blocked pairwise sum over workers between two groups: level 0 is the open block of 4 workers, level
/// l >= 1 the sum of 2^(l-1) whole blocks. Level l of column c is levels[l * columns + c].
struct DenseSumState {
  Index workers = 0;
  Index columns = 0;
  double* levels = nullptr;  ///< null: the group holds all workers, nothing is kept
  double* total = nullptr;   ///< written when the last worker has come
};

/// Number of levels for a number of workers.
Index dense_sum_levels(Index workers);

/// Adds rows of workers [first, first + count) to the state.
void dense_sum_absorb(const Queue& queue, const DenseSumState& state, Index first, Index count, const float* rows,
                      Index stride);

}  // namespace onebit::device::cpu
