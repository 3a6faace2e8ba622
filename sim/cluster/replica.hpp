#pragma once
// What one device of a run holds.

#include "device/comm/communicator.hpp"
#include "optim/optimizer.hpp"
#include "sim/data/example_table.hpp"
#include "sim/models/model.hpp"
#include "sim/probe/boundary_probe.hpp"

namespace onebit::sim {

/// Identifies a batch within a run by its step, its workers and its part of the step.
struct BatchPlace {
  Index step = 0;
  Range group;     ///< workers whose examples the batch contains
  Index part = 0;  ///< number of the micro-batch, below config.accumulation
  friend bool operator==(const BatchPlace&, const BatchPlace&) = default;
};

struct Replica {
  device::Shard shard;
  std::unique_ptr<Model> model;
  std::unique_ptr<optim::Optimizer> optimizer;
  device::Buffer<float> weights;          ///< weights [parameters], shared by all workers, equal on all devices between
                                          ///< steps; or weights [workers of this device][parameters]
  device::Buffer<float> gradients;        ///< gradients, [workers of a group][parameters]
  device::Buffer<float> extra_gradients;  ///< gradients at the optimizer's extra point; empty if it has none
  std::optional<ExampleTable> examples;   ///< examples on the GPU, if the model reads them there
  std::optional<BoundaryProbe> boundary_probe;  ///< only if something crosses through a codec and the log records it
  Batch batch = {};
  Batch next = {};             ///< batch drawn ahead while the GPU was busy
  BatchPlace next_place = {};  ///< place of `next`; step 0 if no batch was drawn ahead

  /// Draws a batch of a step into `out` (DataSource::sample). On a device that only counts memory, sets nothing but the
  /// sizes of `out`.
  void draw(const DataSource& data, Index step, Range workers, Index examples_each, Index first_draw, Batch& out) const;
  /// Puts the features of `batch` where the model reads them.
  void place_batch();

  /// Visits everything that the next step depends on, except its number.
  void visit_state(device::StateVisitor& visitor);

  /// Returns the weights of this device's workers, starting at `worker`.
  Weights weights_from(Index worker) const;

  /// Computes the mean of all workers' weights, for workers that have their own. Collective.
  device::Buffer<float> mean_weights() const;

  /// Returns a clause for an error message: "tensor X became non-finite first" if weights of X are not finite. If all
  /// weights are finite and with_gradients is set, checks gradients: "the gradient of tensor X ...". Empty if all
  /// checked values are finite.
  std::string bad_tensor(bool with_gradients) const;

  /// Checks the weights, then the model's state, then the gradients if with_gradients is set. Returns a clause about
  /// the first of these that is not finite (for weights and gradients, as bad_tensor() does). If all values are finite,
  /// only a product can have overflowed. The clause is then "weights are finite, and the largest weight is ..." with
  /// the tensor of that weight or, if the model's state contains a larger number than that, a clause about the state.
  std::string first_bad_tensor(bool with_gradients) const;
};

}  // namespace onebit::sim
