#pragma once
// Embedding tables that workers own (model parallelism), and the pooled embeddings that they send.

#include <deque>

#include "sim/layers/layer.hpp"
#include "sim/layers/recommender/row_lists.hpp"

namespace onebit::sim {

/// Computes output[part][table] = the sum of the bag's rows of the table (Naumov et al. 2019) or, with several parts,
/// of those rows that the part contains. The input is the pass's bags, not numbers.
///
/// The tables are not among the model's tensors: their gradients are not averaged, and the run's optimizer does not
/// update them. When a step ends, the owners update the rows that it has touched, with the gradient of the mean loss
/// over all workers. A row that is touched several times gets one update, with its gradients summed in the order of
/// workers and examples, so that the bits of the result do not depend on threads, devices, groups or ranks.
///
/// Every device keeps a copy of all tables, and devices exchange the gradients of the pooled embeddings at the end of
/// a step. Boundary records what the workers would exchange, except for the row numbers, which are recorded here.
class EmbeddingBags final : public Layer {
 public:
  struct Shape {
    std::vector<BagTable> tables;
    Index width = 0;    ///< columns of a row
    Index parts = 1;    ///< parts that the rows of a table are divided into
    Index workers = 1;  ///< workers of the run
    Index copies = 1;   ///< number of owners that need each row number
    /// Standard deviation of the initial rows, which are drawn from N(0, deviation^2) or, if the deviation is 0, from
    /// U(-1/sqrt(n), 1/sqrt(n)), where n is the number of rows of the table.
    double deviation = 0;
    Index zeros = 0;  ///< with a deviation: number of leading columns that are initially 0
  };
  /// Draws the tables from the seed. On a device that only counts memory, they have no values. Throws ConfigError for
  /// options out of range.
  EmbeddingBags(const device::Device& device, Shape shape, const TablesConfig& config, std::uint32_t seed);

  /// The tables, one after another in weights(): table1, table2, ...
  std::vector<compress::Tensor> tensors() const;
  device::Buffer<float>& weights() { return weights_; }
  /// Rows that the last step has touched.
  TouchedRows touched_rows() const { return {std::ssize(lists_.rows), shape_.width, squares_.size() > 0 ? 1 : 0}; }

  bool replayable() const override { return false; }
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  void visit_state(device::StateVisitor& visitor) override;
  void end_step(const StepEnd& end) override;

 private:
  /// Gradients of pooled embeddings, from one backward pass.
  struct Part {
    device::Buffer<float> deltas;       ///< [workers][batch][columns]
    device::Buffer<std::int32_t> bags;  ///< [workers][batch][slots]
    Index workers = 0, batch = 0, first_worker = 0, first_draw = 0;
  };

  /// Gradients of the step's passes.
  struct Gradients {
    std::deque<Part> parts;        ///< of this step's backward passes; the buffers are reused
    std::size_t used = 0;          ///< number of parts that this step has filled
    device::Buffer<float> deltas;  ///< of all workers, [worker][draw][columns]
    device::Buffer<float> rows;    ///< [touched rows][width]
  };

  void draw(std::uint32_t seed);
  void place_parts(Gradients& gradients, Index draws);
  void exchange(const device::Shard& shard, Index draws, bool measured);
  Index list_rows(Index examples);
  void add_up(Gradients& gradients, Index rows);
  void update(double lr, Index rows);
  BoundarySums::Agreement agreement(Index rows) const;
  void record(netmodel::TrafficList& traffic);

  device::Device device_;
  Shape shape_;
  TablesConfig config_;
  std::vector<TablePlace> places_;
  Index rows_ = 0, slots_ = 0;  ///< rows of all tables; slots of all bags of an example
  device::Buffer<TablePlace> place_table_;
  device::Buffer<float> weights_;  ///< [rows][width]
  device::Buffer<float> squares_;  ///< Adagrad: sums of squares, [rows]; otherwise empty
  Gradients gradients_;
  Gradients plain_;  ///< those without the boundary's codec, in steps that measure them
  device::Buffer<std::int32_t> bags_;
  RowLists lists_;
  device::Buffer<TouchedRow> touched_;
  device::Buffer<std::int32_t> examples_;
};

}  // namespace onebit::sim
