#pragma once
// What one device of a run holds.

#include "device/comm/communicator.hpp"
#include "optim/optimizer.hpp"
#include "sim/data/example_table.hpp"
#include "sim/models/model.hpp"

namespace onebit::sim {

/// Place of a batch in a run: which workers' examples it has, and for which step and part.
struct BatchPlace {
  Index step = 0;
  Range group;     ///< workers
  Index part = 0;  ///< micro-batch, of config.accumulation
  friend bool operator==(const BatchPlace&, const BatchPlace&) = default;
};

struct Replica {
  device::Shard shard;
  std::unique_ptr<Model> model;
  std::unique_ptr<optim::Optimizer> optimizer;
  device::Buffer<float> weights;          ///< [parameters], shared by all workers, equal on all devices between steps;
                                          ///< or [workers of this device][parameters]
  device::Buffer<float> gradients;        ///< [workers of a group][parameters]
  device::Buffer<float> extra_gradients;  ///< the same, at the optimizer's extra point; empty if it has none
  std::optional<ExampleTable> examples;   ///< on a GPU whose model reads them there
  Batch batch = {};
  Batch next = {};             ///< drawn ahead while a GPU was busy
  BatchPlace next_place = {};  ///< that of `next`; step 0: none

  /// Draws the batch of a step (DataSource::sample) into `out`, from where the model or place_batch takes it; on a
  /// device that plans, sets only its sizes.
  void draw(const DataSource& data, Index step, Range workers, Index examples_each, Index first_draw, Batch& out) const;
  /// Puts the features of `batch` where the model reads them.
  void place_batch();

  /// Visits everything that the next step depends on, except its number.
  void visit_state(device::StateVisitor& visitor);

  /// Weights of this device's workers from `worker` on.
  Weights weights_from(Index worker) const;

  /// Computes the mean of all workers' weights, for workers that have their own. Collective.
  device::Buffer<float> mean_weights() const;

  /// Returns a clause for an error message, "tensor X went bad first": X has weights that are not finite or else,
  /// with_gradients, gradients ("the gradient of tensor X ..."). Empty if all values are finite.
  std::string bad_tensor(bool with_gradients) const;

  /// Returns bad_tensor(); if all values are finite, the clause "weights are finite, the largest weight is ..." with
  /// the tensor of the largest weight, whose product overflowed.
  std::string first_bad_tensor(bool with_gradients) const;
};

}  // namespace onebit::sim
