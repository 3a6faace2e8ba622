#pragma once
// A differentiable piece of a network. Layers are put together at construction (Sequential, Residual); each adds its
// tensors to the model's Parameters there, and owns what it keeps from the forward to the backward pass.

#include "device/comm/state.hpp"
#include "device/memory/grow.hpp"
#include "sim/layers/parameters.hpp"
#include "sim/models/model.hpp"

namespace onebit::sim {

/// One pass over a batch. Examples are grouped by worker: example = worker * batch + b.
struct Pass {
  const device::Device& device;
  Weights weights;
  Index workers = 0;                     ///< of this pass
  Index batch = 0;                       ///< examples per worker
  const std::int32_t* tokens = nullptr;  ///< on the device, [examples x context]; null for dense data
  bool training = false;                 ///< dropout and batch statistics; else running statistics
  bool freeze_running_stats = false;     ///< running statistics stay as they are
  DrawPlace place = {};                  ///< but for its step
  const Index* step = nullptr;           ///< that, on the device: launches of one step are also those of the next
  GradientRows gradients = {};           ///< backward only

  Index examples() const { return workers * batch; }
  bool shared_weights() const { return weights.stride == 0; }
};

/// Reads `inputs` numbers of every example and writes `outputs`: [examples][positions][width] or
/// [examples][channels][height][width], as its class says.
class Layer {
 public:
  Layer(Index inputs, Index outputs) : inputs_(inputs), outputs_(outputs) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  Index inputs() const { return inputs_; }
  Index outputs() const { return outputs_; }

  /// Grows what the layer keeps to a pass's size; allocates nothing where it fits already. The two passes do so nowhere
  /// else, copy neither from nor to host memory, and launch the same for equal passes: a GPU may start what it has
  /// launched again, without a call of theirs.
  virtual void reserve(const Pass&) {}

  virtual void forward(const Pass& pass, const float* input, float* output) = 0;

  /// From output_delta, the gradient of the loss by the output, which it may overwrite: writes the gradients of its
  /// tensors (adds where pass.gradients.add), each worker's to its row, and the gradient by the input to input_delta,
  /// unless that is null. input and output are those of the forward pass of the same batch.
  virtual void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                        float* input_delta) = 0;

  /// What a pass leaves to the next steps: running statistics.
  virtual void visit_state(device::StateVisitor&) {}

  /// Floating-point operations of the matrix products of both passes for one example; reads_data: no input_delta.
  virtual double flops(bool reads_data) const {
    (void)reads_data;
    return 0;
  }

 private:
  Index inputs_, outputs_;
};

}  // namespace onebit::sim
