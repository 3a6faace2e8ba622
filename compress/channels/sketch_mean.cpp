#include "compress/channels/sketch_mean.hpp"

#include "compress/channels/measure.hpp"
#include "compress/channels/power_sgd_kernels.hpp"
#include "compress/feedback/error_feedback.hpp"
#include "device/launch/stopwatch.hpp"

namespace onebit::compress {
namespace {

/// Returns the number of elements in the errors. Throws ConfigError if some are padding.
Index size_without_padding(const ExchangeLayout& layout) {
  for (const Segment& segment : layout.worker().segments()) {
    if (segment.active != segment.real) {
      throw ConfigError("count-sketch cannot sketch padding that is treated as data", "codec count-sketch",
                        "use --optimizer.semantics paper or --channel server");
    }
  }
  return layout.state_size();
}

/// The parameter index of every element of the errors, none of which is padding.
std::vector<Index> places(const ExchangeLayout& layout) {
  std::vector<Index> result;
  for (const Segment& segment : layout.worker().segments()) {
    for (Index i = 0; i < segment.real; ++i) result.push_back(segment.parameter + i);
  }
  return result;
}

}  // namespace

SketchMean::SketchMean(const device::Shard& shard, const ExchangeLayout& layout, const CountSketch& sketch)
    : shard_(shard),
      layout_(layout),
      shape_(sketch.shape(layout.state_size())),
      chosen_(sketch.chosen(layout.state_size())),
      candidates_(std::min(kCandidates * chosen_, layout.state_size())),
      places_(device::Buffer<Index>::made(shard.device, size_without_padding(layout), [&] { return places(layout); })),
      refused_(shard.device, shard.own().count * layout.worker().count()),
      sketches_(shard.device, shard.own().count * shape_.rows * shape_.columns),
      sketch_(shard.device, shape_.rows * shape_.columns),
      estimates_(shard.device, layout.state_size()),
      indices_(shard.device, candidates_),
      picks_(shard.device, chosen_),
      exact_rows_(shard.device, shard.own().count * candidates_),
      exact_(shard.device, candidates_),
      decoded_(shard.device, layout.parameters()),
      sketch_sum_(shard, shape_.rows * shape_.columns),
      exact_sum_(shard, candidates_) {}

void SketchMean::absorb(Range group, const EncodeInput& input, const RngKey&, float* errors) {
  const SegmentTable& table = layout_.worker();
  add_error_feedback(shard_.device, table, group.count, input, {errors, layout_.state_size()},
                     refused_.data() + (group.first - shard_.own().first) * table.count());
}

/// Computes the mean of the workers' sketches.
void SketchMean::sketch(const device::Buffer<float>& errors) {
  for_each_item(shard_.device, shape_.groups(),
                SketchKernel{shape_, errors.data(), layout_.state_size(), layout_.state_size(), shard_.own().count,
                             sketches_.data()});
  sketch_sum_.absorb(shard_.own(), sketches_.data(), sketch_.size());
  sketch_sum_.take_mean(sketch_.data());
}

/// Selects the candidates by their estimates, averages their exact values, and selects the k largest of these.
void SketchMean::choose(const device::Buffer<float>& errors) {
  const device::Device& device = shard_.device;
  for_each(device, estimates_.size(), EstimateKernel{shape_, sketch_.data(), estimates_.data()});
  const auto choose_largest = [&](const device::Buffer<float>& values, Index n, Index k,
                                  device::Buffer<Index>& indices) {
    for_each_large_item(device, {.count = 1, .longest = n, .total = n},
                        LargestIndicesKernel{values.data(), n, k, indices.data()});
  };
  choose_largest(estimates_, estimates_.size(), candidates_, indices_);
  for_each_row(device, shard_.own().count, candidates_,
               PickKernel{errors.data(), layout_.state_size(), indices_.data(), candidates_, exact_rows_.data()});
  exact_sum_.absorb(shard_.own(), exact_rows_.data(), candidates_);
  exact_sum_.take_mean(exact_.data());
  choose_largest(exact_, candidates_, chosen_, picks_);
}

ExchangeSeconds SketchMean::exchange(const RngKey&, StoredErrors& worker_errors, device::Buffer<float>&, float* result,
                                     netmodel::TrafficList& traffic) {
  ExchangeSeconds seconds;
  device::Buffer<float>& errors = worker_errors.floats();
  const device::Device& device = shard_.device;
  device::Stopwatch watch(device);
  refusals_.clear();
  refusals_.add(refused_, shard_.own().count, layout_.worker().count(), shard_.own().first);
  sketch(errors);
  seconds.encode = watch.lap();
  choose(errors);
  for_each(device, decoded_.size(), ClearKernel{decoded_.data()});
  for_each(device, chosen_,
           PlaceKernel{places_.data(), indices_.data(), picks_.data(), exact_.data(), decoded_.data()});
  for_each(device, decoded_.size(), CopyKernel{decoded_.data(), result});
  for_each_row(device, shard_.own().count, chosen_,
               ZeroPickedKernel{errors.data(), layout_.state_size(), indices_.data(), picks_.data()});
  for (const netmodel::Traffic& exchange : plan()) traffic.push_back(exchange);
  seconds.server = watch.lap();
  return seconds;
}

netmodel::TrafficList SketchMean::plan() const {
  netmodel::TrafficList traffic;
  if (layout_.state_size() == 0) return traffic;
  for (const Index elements : {sketch_.size(), candidates_}) {
    traffic.push_back(DenseMean::plan(shard_.workers(), elements).front());
    traffic.back().overlaps_backward = false;
  }
  return traffic;
}

std::vector<CodecSquares> SketchMean::worker_squares(const StoredErrors& worker_errors) const {
  return row_squares(shard_, layout_, worker_errors.floats(), decoded_.data());
}

}  // namespace onebit::compress
