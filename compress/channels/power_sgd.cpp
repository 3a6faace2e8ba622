#include "compress/channels/power_sgd.hpp"

#include "compress/channels/low_rank.hpp"
#include "compress/channels/measure.hpp"
#include "compress/channels/records.hpp"
#include "compress/feedback/error_feedback.hpp"
#include "device/launch/stopwatch.hpp"

namespace onebit::compress {

using netmodel::TrafficList;

PowerSgdMean::PowerSgdMean(const device::Shard& shard, const ExchangeLayout& layout, std::span<const Tensor> tensors,
                           const ExchangeConfig& config)
    : shard_(shard),
      layout_(layout),
      matrices_(matrices_of(layout, tensors, config.up.rank)),
      left_size_(matrices_.empty() ? 0 : matrices_.back().left + matrices_.back().rank * matrices_.back().rows),
      right_size_(matrices_.empty() ? 0 : matrices_.back().right + matrices_.back().rank * matrices_.back().columns),
      starts_(right_places(matrices_), config),
      refused_(shard.device, shard.own().count * layout.worker().count()),
      left_(shard.device, left_size_),
      right_(shard.device, right_size_),
      left_rows_(shard.device, shard.own().count * left_size_),
      right_rows_(shard.device, shard.own().count * right_size_),
      decoded_(device::Buffer<float>::zeros(shard.device, layout.parameters())),
      left_sum_(shard, left_size_),
      right_sum_(shard, right_size_) {
  std::vector<FactorShape> left_shapes, right_shapes;
  for (const Matrix& m : matrices_) {
    left_shapes.push_back({m.rows, m.rank, m.left});
    left_sizes_.add(m.rows);
    right_shapes.push_back({m.columns, m.rank, m.right});
    right_sizes_.add(m.columns);
  }
  left_shapes_ = device::Buffer<FactorShape>::copy_of(shard.device, left_shapes);
  right_shapes_ = device::Buffer<FactorShape>::copy_of(shard.device, right_shapes);
  first_right_ = device::Buffer<float>::copy_of(shard.device, starts_.first());
  renew_payloads();
}

void PowerSgdMean::renew_payloads() {
  for_each(shard_.device, right_size_, CopyKernel{first_right_.data(), right_.data()});
}

std::vector<PowerSgdMean::Matrix> PowerSgdMean::matrices_of(const ExchangeLayout& layout,
                                                            std::span<const Tensor> tensors, Index rank) {
  std::vector<Matrix> matrices;
  Index left = 0, right = 0;
  for (Index s = 0; s < layout.worker().count(); ++s) {
    const Segment& segment = layout.worker().segments()[static_cast<std::size_t>(s)];
    if (layout.tensor(s) < 0 || segment.active != segment.real) {
      throw ConfigError(
          "power-sgd works on matrices, not on fused or padded vectors", "codec power-sgd",
          layout.tensor(s) < 0
              ? "use --channel server or, if the optimizer has it, --optimizer.granularity tensor"
              : "use --optimizer.semantics paper, which does not treat padding as data, or --channel server");
    }
    const Index rows = tensors[static_cast<std::size_t>(layout.tensor(s))].rows;
    const Index columns = segment.real / rows, own_rank = LowRank::rank_of(rank, rows, columns);
    matrices.push_back({layout.tensor(s), segment.parameter, segment.state, rows, columns, own_rank, left, right});
    left += own_rank * rows;
    right += own_rank * columns;
  }
  return matrices;
}

std::vector<StartFactors::Place> PowerSgdMean::right_places(const std::vector<Matrix>& matrices) {
  std::vector<StartFactors::Place> places;
  for (const Matrix& m : matrices) places.push_back({m.tensor, m.columns, m.rank, m.right});
  return places;
}

/// Prepares the right factors for a step.
void PowerSgdMean::start(Index step) {
  if (const std::optional<std::vector<float>> fresh = starts_.anew(step)) {
    first_right_.upload(*fresh);
    renew_payloads();
  }
  for_each_large_item(shard_.device, right_sizes_, OrthonormalKernel{right_shapes_.data(), right_.data()});
}

void PowerSgdMean::absorb(Range group, const EncodeInput& input, const RngKey&, float* errors) {
  const SegmentTable& table = layout_.worker();
  add_error_feedback(shard_.device, table, group.count, input, {errors, layout_.state_size()},
                     refused_.data() + (group.first - shard_.own().first) * table.count());
}

/// Computes every worker's M Q.
void PowerSgdMean::multiply(const device::Buffer<float>& errors) {
  for (const Matrix& m : matrices_) {
    gemm_batched(shard_.device, {.m = m.rows, .n = m.rank, .k = m.columns},
                 {errors.data() + m.state, m.columns, layout_.state_size()}, {right_.data() + m.right, m.rank, 0},
                 {left_rows_.data() + m.left, m.rank, left_size_}, shard_.own().count);
  }
}

/// Computes every worker's M^T P.
void PowerSgdMean::multiply_transposed(const device::Buffer<float>& errors) {
  for (const Matrix& m : matrices_) {
    gemm_batched(shard_.device, {.m = m.columns, .n = m.rank, .k = m.rows, .transpose_a = true},
                 {errors.data() + m.state, m.columns, layout_.state_size()}, {left_.data() + m.left, m.rank, 0},
                 {right_rows_.data() + m.right, m.rank, right_size_}, shard_.own().count);
  }
}

ExchangeSeconds PowerSgdMean::exchange(const RngKey& key, StoredErrors& worker_errors, device::Buffer<float>&,
                                       float* result, TrafficList& traffic) {
  ExchangeSeconds seconds;
  device::Buffer<float>& errors = worker_errors.floats();
  const device::Device& device = shard_.device;
  device::Stopwatch watch(device);
  refusals_.clear();
  refusals_.add(refused_, shard_.own().count, layout_.worker().count(), shard_.own().first);
  start(key.step);
  multiply(errors);
  left_sum_.absorb(shard_.own(), left_rows_.data(), left_size_);
  left_sum_.take_mean(left_.data());
  for_each_large_item(device, left_sizes_, OrthonormalKernel{left_shapes_.data(), left_.data()});
  multiply_transposed(errors);
  right_sum_.absorb(shard_.own(), right_rows_.data(), right_size_);
  right_sum_.take_mean(right_.data());
  seconds.encode = watch.lap();
  for (const Matrix& m : matrices_) {
    gemm(device, {.m = m.rows, .n = m.columns, .k = m.rank, .transpose_b = true}, {left_.data() + m.left, m.rank, 0},
         {right_.data() + m.right, m.rank, 0}, {decoded_.data() + m.parameter, m.columns, 0});
    for_each(device, m.rows * m.columns, CopyKernel{decoded_.data() + m.parameter, result + m.parameter});
    for_each_row(device, shard_.own().count, m.rows * m.columns,
                 SubtractKernel{errors.data() + m.state, layout_.state_size(), decoded_.data() + m.parameter});
  }
  for_each_large_item(device, right_sizes_, ReviveKernel{right_shapes_.data(), first_right_.data(), right_.data()});
  for (const netmodel::Traffic& exchange : plan()) traffic.push_back(exchange);
  seconds.server = watch.lap();
  return seconds;
}

/// The factors of all matrices travel together, as in the authors' code.
TrafficList PowerSgdMean::plan() const {
  const auto all_reduce = [this](Index elements) {
    netmodel::Traffic traffic = DenseMean::plan(shard_.workers(), elements).front();
    traffic.overlaps_backward = false;
    return traffic;
  };
  if (matrices_.empty()) return {};
  return {all_reduce(left_size_), all_reduce(right_size_)};
}

std::vector<CodecSquares> PowerSgdMean::worker_squares(const StoredErrors& worker_errors) const {
  return row_squares(shard_, layout_, worker_errors.floats(), decoded_.data());
}

}  // namespace onebit::compress
