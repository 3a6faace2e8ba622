#pragma once
// What one device of a run holds.

#include "device/comm/communicator.hpp"
#include "optim/optimizer.hpp"
#include "sim/data/example_table.hpp"
#include "sim/models/model.hpp"

namespace onebit::sim {

/// Whose examples a batch has, and for what.
struct BatchPlace {
  Index step = 0;
  Range group;     ///< of workers
  Index part = 0;  ///< of config.accumulation
  friend bool operator==(const BatchPlace&, const BatchPlace&) = default;
};

struct Replica {
  device::Shard shard;
  std::unique_ptr<Model> model;
  std::unique_ptr<optim::Optimizer> optimizer;
  device::Buffer<float> weights;          ///< [parameters], shared by all workers, equal on all devices between steps;
                                          ///< or [workers of this device][parameters]
  device::Buffer<float> gradients;        ///< [workers of a group][parameters]
  device::Buffer<float> extra_gradients;  ///< the same, at the optimizer's extra point; empty where it has none
  std::optional<ExampleTable> examples;   ///< on a GPU whose model reads them there
  Batch batch = {};
  Batch next = {};             ///< drawn while a GPU was busy with the batch before
  BatchPlace next_place = {};  ///< of it; step 0: none

  /// Draws the batch of a step, DataSource::sample, into `out`, where the model or place_batch takes it from; on a
  /// device that plans, only its sizes.
  void draw(const DataSource& data, Index step, Range workers, Index examples_each, Index first_draw, Batch& out) const;
  /// Makes the features of `batch` those that the model reads.
  void place_batch();

  /// Everything that the next step depends on, but for its number.
  void visit_state(device::StateVisitor& visitor);

  /// Weights of the workers of this device from `worker` on.
  Weights weights_from(Index worker) const;

  /// The mean of all workers' weights, where they have weights of their own. Collective.
  device::Buffer<float> mean_weights() const;

  /// Names the tensor that went bad first: of the weights, else of the gradients where there have been any; empty if
  /// all are finite.
  std::string bad_tensor(bool with_gradients) const;

  /// The same; if all are finite the largest, whose product overflowed.
  std::string first_bad_tensor(bool with_gradients) const;
};

}  // namespace onebit::sim
