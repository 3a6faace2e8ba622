#pragma once
// A differentiable piece of a network. Layers are combined at construction (Sequential, Residual); there each adds its
// tensors to the model's Parameters. Each owns what it keeps from the forward to the backward pass.

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
  bool training = false;                 ///< with dropout and batch statistics; else with running statistics
  bool freeze_running_stats = false;     ///< running statistics stay as they are
  /// Where the examples were drawn: with `step`, the key of the dropout masks. Its own `step` is -1.
  DrawPlace place = {};
  const Index* step = nullptr;  ///< the step number, in device memory rather than in the Pass, so that launches
                                ///< recorded in one step can be replayed in the next
  GradientRows gradients = {};  ///< backward only

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

  /// Grows the layer's buffers to the size of a pass; allocates nothing if they are large enough. forward and backward
  /// do not allocate such buffers, do not copy from or to host memory, and launch the same work for equal passes,
  /// because a GPU may replay what they have launched without calling them.
  virtual void reserve(const Pass&) {}

  virtual void forward(const Pass& pass, const float* input, float* output) = 0;

  /// Takes output_delta, the gradient of the loss with respect to the output, which it may overwrite. Writes the
  /// gradients of the layer's tensors, each worker's to its row (adds if pass.gradients.add), and to input_delta,
  /// unless that is null, the gradient with respect to the input. input and output are those of the forward pass of the
  /// same batch; the last layer of a network gets no output.
  virtual void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                        float* input_delta) = 0;

  /// Visits what a pass leaves to the next steps: running statistics.
  virtual void visit_state(device::StateVisitor&) {}

  /// Floating-point operations of the matrix products of both passes for one example. reads_data: there is no
  /// input_delta.
  virtual double flops(bool reads_data) const {
    (void)reads_data;
    return 0;
  }

 private:
  Index inputs_, outputs_;
};

}  // namespace onebit::sim
