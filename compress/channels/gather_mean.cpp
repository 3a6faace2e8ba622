#include "compress/channels/gather_mean.hpp"

#include "compress/channels/blocks.hpp"
#include "compress/channels/measure.hpp"
#include "compress/channels/records.hpp"
#include "compress/feedback/error_kernels.hpp"
#include "device/launch/launch.hpp"
#include "device/launch/stopwatch.hpp"

namespace onebit::compress {

using netmodel::TrafficList;

GatherMean::GatherMean(const device::Shard& shard, const ExchangeLayout& layout, const Codec& codec)
    : shard_(shard), layout_(layout), codec_(codec) {
  renew_payloads();
}

void GatherMean::renew_payloads() {
  payload_ = codec_.make_payload(shard_.device, layout_.worker(), shard_.own().count);
  if (alone()) return;
  gathered_ = codec_.make_payload(shard_.device, layout_.worker(), shard_.workers());
  plan_blocks({});
}

/// Plans which bytes are sent where. sizes: bytes in use by rank and segment; empty: all reserved bytes are sent.
void GatherMean::plan_blocks(std::span<const Index> sizes) {
  const Range own{0, shard_.own().count}, segments{0, payload_.segments()};
  const auto of_rank = [&](Index rank) { return part_of(sizes, rank * segments.count, segments.count); };
  to_.clear();
  from_.clear();
  for (Index rank = 0; rank < shard_.ranks(); ++rank) {
    const Range theirs = shard_.ranges[static_cast<std::size_t>(rank)];
    append_bodies(to_.emplace_back(), payload_, own, segments, of_rank(shard_.rank()));
    append_bodies(from_.emplace_back(), gathered_, theirs, segments, of_rank(rank));
    if (payload_.scale_count == 0) continue;
    to_.back().push_back(scale_block(payload_, own, 0, payload_.scale_count));
    from_.back().push_back(scale_block(gathered_, theirs, 0, payload_.scale_count));
  }
}

void GatherMean::absorb(Range group, const EncodeInput& input, const RngKey& key, float* errors) {
  RngKey own = key;
  own.first_row = group.first;
  codec_.encode(shard_.device, layout_.worker(), {group.first - shard_.own().first, group.count}, input, own,
                {errors, layout_.state_size()}, payload_);
}

const Payload& GatherMean::gather() {
  if (alone()) return payload_;
  gathered_.poison();
  if (sends_in_use_only(shard_, codec_)) plan_blocks(largest_sizes(shard_, payload_));
  shard_.communicator->all_to_all(shard_.device, to_, from_);
  return gathered_;
}

ExchangeSeconds GatherMean::exchange(const RngKey&, StoredErrors&, device::Buffer<float>&, float* result,
                                     TrafficList& traffic) {
  ExchangeSeconds seconds;
  device::Stopwatch watch(shard_.device);
  refusals_.clear();
  refusals_.add(payload_, payload_.rows, shard_.own().first);
  const Payload& all = gather();
  seconds.exchange = watch.lap();
  for_each(shard_.device, layout_.parameters(), ClearKernel{result});
  codec_.add_mean(shard_.device, layout_.worker(), all, Codec::Target::parameters, result);
  const std::vector<Index> bytes = occupied(shard_, payload_, 1, layout_.workers());
  for (std::size_t v = 0; v < bytes.size(); ++v) append(traffic, static_cast<Index>(v), bytes[v]);
  seconds.server = watch.lap();
  return seconds;
}

void GatherMean::append(TrafficList& traffic, Index vector, Index bytes) const {
  const Segment& segment = layout_.worker().segments()[static_cast<std::size_t>(vector)];
  traffic.push_back(record(netmodel::Collective::all_gather, netmodel::Direction::up, codec_.traits().wire,
                           layout_.workers(), bytes + codec_.scale_bytes(segment), layout_.tensor(vector)));
}

TrafficList GatherMean::plan() const {
  TrafficList traffic;
  for (Index v = 0; v < layout_.worker().count(); ++v) {
    append(traffic, v, codec_.body_bytes(layout_.worker().segments()[static_cast<std::size_t>(v)]));
  }
  return traffic;
}

std::vector<CodecSquares> GatherMean::worker_squares(const StoredErrors& worker_errors) const {
  return row_squares(shard_.device, layout_, codec_, layout_.worker(), payload_, worker_errors);
}

}  // namespace onebit::compress
