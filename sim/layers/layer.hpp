#pragma once
// A differentiable piece of a network. Layers are combined when they are constructed (Sequential, Residual); each layer
// then adds its tensors to the model's Parameters. A layer owns what it keeps from the forward to the backward pass.

#include "device/comm/state.hpp"
#include "device/memory/grow.hpp"
#include "sim/layers/parameters.hpp"
#include "sim/models/model.hpp"

namespace onebit::sim {

/// One pass over a batch. Examples are grouped by worker: example = worker * batch + b.
struct Pass {
  const device::Device& device;
  Weights weights;
  Index workers = 0;                     ///< number of workers in this pass
  Index batch = 0;                       ///< examples per worker
  const std::int32_t* tokens = nullptr;  ///< tokens on the device, [examples x context]; null for dense data
  bool training = false;                 ///< whether to use dropout and batch statistics, not running statistics
  bool freeze_running_stats = false;     ///< whether running statistics stay unchanged
  /// Where the examples were drawn. Together with Pass::step it is the key of the dropout masks; place.step is -1.
  DrawPlace place = {};
  AtBoundaries boundaries = AtBoundaries::usual;
  Index exchange_step = 0;      ///< the step number on the host, for layers whose passes are not replayed
  const Index* step = nullptr;  ///< the step number, in device memory rather than in the Pass, so that launches
                                ///< recorded in one step can be replayed in the next
  GradientRows gradients = {};  ///< rows for the gradients; only in backward passes

  Index examples() const { return workers * batch; }
  bool shared_weights() const { return weights.stride == 0; }
};

/// Whether the results of a pass belong to the step: true for training passes, except those that only probe.
inline bool collects(const Pass& pass) {
  return pass.training && !pass.freeze_running_stats;
}

/// Reads `inputs` numbers of every example and writes `outputs` numbers. Their layout is [examples][positions][width]
/// or a layout of images: see the class of the layer.
class Layer {
 public:
  Layer(Index inputs, Index outputs) : inputs_(inputs), outputs_(outputs) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  Index inputs() const { return inputs_; }
  Index outputs() const { return outputs_; }

  /// Grows the layer's buffers to the size of a pass; allocates nothing if they are large enough. forward and backward
  /// do not allocate such buffers, do not copy from or to host memory, and launch the same work for equal passes,
  /// because a GPU may replay what they have launched without calling them.
  virtual void reserve(const Pass&) {}

  virtual void forward(const Pass& pass, const float* input, float* output) = 0;

  /// Takes output_delta, the gradient of the loss with respect to the output, and may overwrite it. Writes the
  /// gradients of the layer's tensors to the rows of pass.gradients, one row for each worker (adds them if
  /// pass.gradients.add). Unless input_delta is null, writes the gradient with respect to the input there. input and
  /// output are those of the forward pass of the same batch; for the last layer of a network, output is null.
  virtual void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                        float* input_delta) = 0;

  /// Whether a GPU may replay what forward and backward launched in an earlier step. A layer returns false if its
  /// passes do anything besides launching kernels.
  virtual bool replayable() const { return true; }

  /// Visits the state that passes leave for later steps, such as running statistics.
  virtual void visit_state(device::StateVisitor&) {}

  /// Does the layer's once-per-step work, after all its passes and the optimizer's update. Collective.
  virtual void end_step(const StepEnd&) {}

  /// Returns the number of floating-point operations in the matrix products of both passes for one example. reads_data:
  /// whether the layer reads the data, in which case there is no input_delta.
  virtual double flops(bool reads_data) const {
    (void)reads_data;
    return 0;
  }

 private:
  Index inputs_, outputs_;
};

}  // namespace onebit::sim
