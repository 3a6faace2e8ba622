#pragma once
// The dense mean over workers, summed in double: blocks of 4 workers in index order, blocks combined by a fixed
// pairwise tree. Rows may arrive all at once or in groups; the bits are the same.

#include "device/buffer.hpp"

namespace onebit::device {

class DenseSum {
 public:
  static constexpr Index kBlock = 4;

  /// workers >= 1 rows of `columns` elements will be absorbed, in index order, before each take_mean.
  DenseSum(const Device& device, Index workers, Index columns);

  /// Adds rows of workers [first, first + count); row r starts at rows + r * stride. Groups come in order of `first`.
  void absorb(Index first, Index count, const float* rows, Index stride);

  /// Writes the mean over all workers and starts over.
  void take_mean(float* mean);

 private:
  Device device_;
  Index workers_;
  Index columns_;
  Buffer<double> total_;
  Buffer<double> levels_;  // partial sums between groups; empty as long as all workers come in one group
};

}  // namespace onebit::device
