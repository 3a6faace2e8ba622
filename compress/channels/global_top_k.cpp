#include "compress/channels/global_top_k.hpp"

#include "compress/channels/global_top_k_kernels.hpp"
#include "compress/channels/records.hpp"
#include "device/launch/launch.hpp"
#include "device/launch/stopwatch.hpp"

namespace onebit::compress {

using netmodel::TrafficList;

GlobalTopKMean::GlobalTopKMean(const device::Shard& shard, const ExchangeLayout& layout, const Codec& codec)
    : shard_(shard),
      layout_(layout),
      codec_(codec),
      gather_(shard, layout, codec),
      rows_(shard.device, layout.workers() * layout.state_size()),
      sent_(shard.device, layout.state_size()),
      decoded_(shard.device, layout.parameters()) {
  renew_payloads();
}

bool GlobalTopKMean::fits(const Codec& codec) {
  const Traits traits = codec.traits();
  return traits.sparse && traits.contraction && traits.deterministic && !codec.variable_size();
}

void GlobalTopKMean::renew_payloads() {
  gather_.renew_payloads();
  merged_ = codec_.make_payload(shard_.device, layout_.worker(), layout_.workers() / 2);
}

void GlobalTopKMean::absorb(Range group, const EncodeInput& input, const RngKey& key, float* errors) {
  gather_.absorb(group, input, key, errors);
}

ExchangeSeconds GlobalTopKMean::exchange(const RngKey&, StoredErrors& worker_errors, device::Buffer<float>&,
                                         float* result, TrafficList& traffic) {
  ExchangeSeconds seconds;
  device::Stopwatch watch(shard_.device);
  refusals_.clear();
  refusals_.add(gather_.worker_payload(), shard_.own().count, shard_.own().first);
  const Payload& all = gather_.gather();
  seconds.exchange = watch.lap();
  squares_ = gather_.worker_squares(worker_errors);
  for (Index w = 0; w < layout_.workers(); ++w) place(all, w, row(w));
  for (Index distance = 1; distance < layout_.workers(); distance *= 2) merge(distance);
  for (Index w = 0; w < shard_.own().count; ++w) {
    place(gather_.worker_payload(), w, sent_.data());
    correct(shard_.own().first + w, worker_errors.floats().data() + w * layout_.state_size());
  }
  const SegmentTable& table = layout_.worker();
  for_each_large_item(shard_.device, table.item_sizes(),
                      GlobalMeanKernel{table.device_segments(), row(0), layout_.workers(), result});
  for (const netmodel::Traffic& record : plan()) traffic.push_back(record);
  seconds.server = watch.lap();
  return seconds;
}

/// Writes row `from` of a payload as a dense row in the order of the errors.
void GlobalTopKMean::place(const Payload& payload, Index from, float* to) {
  const SegmentTable& table = layout_.worker();
  codec_.decode(shard_.device, table, payload, from, decoded_.data());
  for_each_large_item(shard_.device, table.item_sizes(), SpreadKernel{table.device_segments(), decoded_.data(), to});
}

/// Runs one round: the workers at odd multiples of `distance` send to the workers `distance` below them.
void GlobalTopKMean::merge(Index distance) {
  const Index pairs = ceil_div(layout_.workers() - distance, 2 * distance);
  const MergePairs rows{row(0), row(distance), 2 * distance * layout_.state_size()};
  for_each_row(shard_.device, pairs, layout_.state_size(), SumKernel{rows});
  codec_.encode(shard_.device, layout_.worker(), {0, pairs}, {}, {}, {rows.senders, rows.stride}, merged_);
  refusals_.add(merged_, pairs);
  for_each_row(shard_.device, pairs, layout_.state_size(), KeepKernel{rows});
}

/// Adds two kinds of values back to a worker's error: those that it sent for elements that are not in the result, and
/// those that it dropped in merges for elements that are in the result.
void GlobalTopKMean::correct(Index worker, float* error) {
  const Index n = layout_.state_size();
  for_each(shard_.device, n, RestoreKernel{row(0), sent_.data(), error});
  for (Index distance = 1; worker % (2 * distance) == 0 && worker + distance < layout_.workers(); distance *= 2) {
    for_each(shard_.device, n, RememberKernel{row(0), row(worker + distance), error});
  }
}

TrafficList GlobalTopKMean::plan() const {
  TrafficList traffic;
  for (Index v = 0; v < layout_.worker().count(); ++v) {
    const Segment& segment = layout_.worker().segments()[static_cast<std::size_t>(v)];
    for (const auto direction : {netmodel::Direction::up, netmodel::Direction::down}) {
      traffic.push_back(record(netmodel::Collective::tree, direction, codec_.traits().wire, layout_.workers(),
                               codec_.body_bytes(segment) + codec_.scale_bytes(segment), layout_.tensor(v)));
    }
  }
  return traffic;
}

}  // namespace onebit::compress
