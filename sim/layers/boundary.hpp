#pragma once
// Activations that cross from the workers that compute them to the workers that use them, through a codec.

#include <map>
#include <vector>

#include "compress/codecs/codec.hpp"
#include "sim/layers/boundary_config.hpp"
#include "sim/layers/boundary_kernels.hpp"
#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Which worker sends which column of an activation.
struct SendingColumns {
  Index senders = 1;
  bool receivers_send = false;  ///< whether sender s is also the receiver with number s, and keeps what it would send
                                ///< to itself; otherwise senders and receivers are different workers
  /// Whether every worker gets all columns of all examples. All workers, including the sender, then have the same
  /// numbers and compute the same gradients, so no gradients are sent back.
  bool to_all = false;
  std::vector<SendingColumn> columns = {};

  /// Returns the table of columns for a model that is cut between two groups of workers: one sender sends all columns.
  static SendingColumns one(Index columns);
  /// Returns the table of columns for the case in which every sender sends `columns` columns: [senders][columns].
  static SendingColumns blocks(Index senders, Index columns);
  /// Returns the table of columns for the case in which every worker sends `columns` columns to all workers:
  /// [workers][columns].
  static SendingColumns everyone(Index workers, Index columns);
};

/// A boundary between workers. In the forward pass, each sender sends its columns of every example to the worker that
/// has the example; in the backward pass, the gradients return. Each (sender, receiver) pair is encoded separately.
///
/// With SendingColumns::to_all, an all-reduce adds up the columns. If they are encoded, an all-gather sends them to
/// every worker instead, in one block for the examples of each worker. The step then exchanges nothing else: every
/// worker has everything that the gradients of the layers above depend on, so the traffic that other layers and the
/// optimizer have recorded is discarded. Because gradients then cause no traffic, they are dense unless
/// backward = mask.
///
/// In evaluations, the layer is the identity unless the batch has AtBoundaries::coded. In that case, all columns cross,
/// and a codec that has a memory starts with an empty memory.
///
/// With backward = mask, the gradient of an element that was not sent is 0, and only the values of the other gradients
/// return, as float32. The result is the exact gradient of the loss with a fixed mask (Gupta et al. 2021). A zero
/// counts as not sent, so it has no gradient. Threshold codecs such as dct do not send zeros; top-k and random-k send k
/// values, zeros included.
class Boundary final : public Layer {
 public:
  /// Makes the boundary. workers: number of workers of the run. Throws ConfigError for an unknown option value and for
  /// a codec that cannot be used at this boundary.
  Boundary(SendingColumns columns, Index workers, const BoundaryConfig& config);

  bool replayable() const override { return false; }
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  void visit_state(device::StateVisitor& visitor) override;
  void end_step(const StepEnd& end) override;

 private:
  /// What the layer keeps for one direction.
  struct Way {
    device::Purpose purpose;
    netmodel::Direction direction;
    device::Buffer<float> memory;  ///< numbers that the codec keeps for each worker, [workers][segments]
    double bytes = 0;              ///< bytes that crossed in this step
    /// For each receiving worker, sums of squared norms over the measured passes: `whole` for the values that should
    /// have crossed, `crossed` for the values that did cross.
    std::vector<double> whole = {}, crossed = {};
  };

  /// Segments of the rows, and payloads of both directions, for one batch size.
  struct Layout {
    compress::SegmentTable table;  ///< segments of a row
    std::vector<Index> senders;    ///< sender of each segment
    compress::Payload up = {}, down = {};
  };

  compress::Payload& payload(const Way& way) const { return &way == &up_ ? layout_->up : layout_->down; }
  BoundaryPlaces places(const Pass& pass) const { return {pass.batch, places_.data(), by_neuron_}; }
  bool keeps_memory() const { return codec_ != nullptr && codec_->has_memory() && !by_sample_; }
  Index first_keeper(const Pass& pass) const;
  double elements_crossing(const Pass& pass) const;
  void lay_out(const Pass& pass);
  Layout made_layout(const device::Device& device, Index batch) const;
  void encode(const Pass& pass, Way& way, const float* input);
  void decode(const Pass& pass, Way& way, const float* input, float* output);
  void load_memory(const Pass& pass, Way& way);
  void store_memory(const Pass& pass, Way& way);
  void grow_memory(const device::Device& device, Way& way);
  double encoded_bytes(const Pass& pass, const Way& way) const;
  double sent_values(const Pass& pass) const;
  bool measures(const Pass& pass) const;
  void measure(const Pass& pass, Way& way, const float* input, const float* output) const;
  BoundarySums::Way measured(const device::Shard& shard, Way& way) const;
  void append(const Way& way, double bytes, netmodel::TrafficList& traffic) const;
  void append_to_all(double bytes, netmodel::TrafficList& traffic) const;

  SendingColumns columns_;
  Index workers_;
  BoundaryConfig config_;
  std::unique_ptr<compress::Codec> codec_;  ///< null if nothing is compressed
  bool by_neuron_, by_sample_;
  Way up_{device::Purpose::boundary_forward, netmodel::Direction::up, {}};
  Way down_{device::Purpose::boundary_backward, netmodel::Direction::down, {}};
  device::Buffer<SendingColumn> places_;
  double sent_ = 0, to_send_ = 0;    ///< in measured passes: activations that the codec sent, and all that cross
  std::map<Index, Layout> layouts_;  ///< by batch size
  Layout* layout_ = nullptr;         ///< that of the last pass
  device::Buffer<float> rows_;       ///< packed rows, then their errors
  device::Buffer<float> decoded_;
  device::Buffer<Crossing> crossings_;  ///< of the last training pass, [examples][columns]
};

}  // namespace onebit::sim
