#include "compress/channels/server_mean.hpp"

#include <algorithm>
#include <numeric>

#include "compress/channels/blocks.hpp"
#include "compress/channels/measure.hpp"
#include "compress/channels/records.hpp"
#include "compress/codecs/segment_kernels.hpp"
#include "compress/feedback/error_feedback.hpp"
#include "device/launch/stopwatch.hpp"

namespace onebit::compress {
namespace {

using netmodel::TrafficList;

/// Returns where the chunks of `servers` begin and end in the body of a vector, in bytes. The codec must be sliceable:
/// its payload contains the chunks of `held` servers as equal parts of one segment per vector.
std::pair<Index, Index> slice_bytes(const Payload& payload, Index vector, Range servers, Index held) {
  const Index begin = payload.offsets[static_cast<std::size_t>(vector)];
  const Index chunk = (payload.offsets[static_cast<std::size_t>(vector + 1)] - begin) / held;
  return {begin + servers.first * chunk, begin + servers.end() * chunk};
}

}  // namespace

ServerMean::ServerMean(const device::Shard& shard, const ExchangeLayout& layout, const Codec& up, const Codec& down)
    : shard_(shard), layout_(layout), up_(up), down_(down), part_(shard.device, layout, shard.own()) {
  renew_payloads();
}

void ServerMean::renew_payloads() {
  worker_payload_ = up_.make_payload(shard_.device, up_table(), shard_.own().count);
  own_server_payload_ = down_.make_payload(shard_.device, part_.chunks(), 1);
  if (alone()) return;
  const SegmentTable& table = up_.traits().sliceable ? part_.vectors() : part_.chunks();
  arrived_ = up_.make_payload(shard_.device, table, shard_.workers());
  server_payload_ = down_.make_payload(shard_.device, layout_.server(), 1);
  plan_scatter({});
  plan_gather({});
}

/// Where the errors of this device's servers are stored within the errors of all servers.
std::vector<device::Piece> ServerMean::server_pieces() const {
  const Range own = shard_.own();
  std::vector<device::Piece> pieces;
  for (Index v = 0; v < layout_.worker().count(); ++v) {
    const Segment& mine = part_.chunks().segments()[static_cast<std::size_t>(v * own.count)];
    const Segment& first = layout_.server().segments()[static_cast<std::size_t>(v * layout_.workers() + own.first)];
    pieces.push_back({mine.state, first.state, 0});
    for (Index j = 0; j < own.count; ++j) {
      pieces.back().count += part_.chunks().segments()[static_cast<std::size_t>(v * own.count + j)].active;
    }
  }
  return pieces;
}

/// Where the codec memory of this device's servers, one number per chunk, is stored within the memory of all servers.
std::vector<device::Piece> ServerMean::server_memory_pieces() const {
  const Range own = shard_.own();
  std::vector<device::Piece> pieces;
  for (Index v = 0; v < layout_.worker().count(); ++v) {
    pieces.push_back({v * own.count, v * layout_.workers() + own.first, own.count});
  }
  return pieces;
}

void ServerMean::visit_state(device::StateVisitor& visitor, device::Buffer<float>& server_error) {
  visitor.pieces("server_error", server_error, server_pieces(), layout_.state_size());
  if (up_.has_memory()) visitor.rows("worker_codec", worker_payload_.memory, up_table().count());
  if (!down_.has_memory()) return;
  visitor.pieces("server_codec", own_server_payload_.memory, server_memory_pieces(), layout_.server().count());
}

/// Plans which bytes of the workers' payloads are sent to which servers. In every vector, the chunks of one rank's
/// servers are contiguous in a payload. sizes: bytes in use by rank and segment; empty: all reserved bytes are sent.
void ServerMean::plan_scatter(std::span<const Index> sizes) {
  const Range own = shard_.own();
  const Index n = layout_.workers(), vectors = layout_.worker().count();
  const auto in_use = [&](Index rank, Index vector, Range servers) {
    return part_of(sizes, (rank * vectors + vector) * n + servers.first, servers.count);
  };
  scatter_to_.clear();
  scatter_from_.clear();
  for (Index rank = 0; rank < shard_.ranks(); ++rank) {
    const Range theirs = shard_.ranges[static_cast<std::size_t>(rank)];
    device::Blocks &to = scatter_to_.emplace_back(), &from = scatter_from_.emplace_back();
    for (Index v = 0; v < vectors; ++v) {
      if (up_.traits().sliceable) {
        const auto sent = slice_bytes(worker_payload_, v, theirs, n);
        const auto taken = slice_bytes(arrived_, v, {0, own.count}, own.count);
        to.push_back(body_block(worker_payload_, {0, own.count}, sent.first, sent.second));
        from.push_back(body_block(arrived_, theirs, taken.first, taken.second));
      } else {
        append_bodies(to, worker_payload_, {0, own.count}, {v * n + theirs.first, theirs.count},
                      in_use(shard_.rank(), v, theirs));
        append_bodies(from, arrived_, theirs, {v * own.count, own.count}, in_use(rank, v, own));
      }
    }
    if (up_.scales_per_segment() == 0) continue;
    to.push_back(scale_block(worker_payload_, {0, own.count}, 0, vectors));
    from.push_back(scale_block(arrived_, theirs, 0, vectors));
  }
}

/// Plans which bytes of the servers' payloads are sent. sizes: as in plan_scatter().
void ServerMean::plan_gather(std::span<const Index> sizes) {
  const Range own = shard_.own();
  const Index n = layout_.workers(), vectors = layout_.worker().count();
  const auto in_use = [&](Range servers, Index vector) {
    return part_of(sizes, vectors * servers.first + vector * servers.count, servers.count);
  };
  gather_to_.clear();
  gather_from_.clear();
  for (const Range& theirs : shard_.ranges) {
    device::Blocks &to = gather_to_.emplace_back(), &from = gather_from_.emplace_back();
    for (Index v = 0; v < vectors; ++v) {
      append_bodies(to, own_server_payload_, {0, 1}, {v * own.count, own.count}, in_use(own, v));
      append_bodies(from, server_payload_, {0, 1}, {v * n + theirs.first, theirs.count}, in_use(theirs, v));
      if (down_.scales_per_segment() == 0) continue;
      to.push_back(scale_block(own_server_payload_, {0, 1}, v * own.count, own.count));
      from.push_back(scale_block(server_payload_, {0, 1}, v * n + theirs.first, theirs.count));
    }
  }
}

void ServerMean::absorb(Range group, const EncodeInput& input, const RngKey& key, float* errors) {
  const Range rows{group.first - shard_.own().first, group.count};
  if (up_.traits().shared_max) {
    add_error_feedback(shard_.device, up_table(), rows.count, input, {errors, layout_.state_size()},
                       worker_payload_.refused.data() + rows.first * up_table().count());
    return;  // exchange() encodes, once the largest magnitude of all workers is known
  }
  RngKey own = key;
  own.first_row = group.first;
  up_.encode(shard_.device, up_table(), rows, input, own, {errors, layout_.state_size()}, worker_payload_);
}

/// Finds the largest magnitude of every exchanged vector over all workers. Collective.
void ServerMean::share_largest(const device::Buffer<float>& worker_errors) {
  const SegmentTable& table = up_table();
  const LargestKernel kernel{table.device_segments(), worker_errors.data(), layout_.state_size(),
                             shard_.own().count,      up_.clip(),           worker_payload_.shared_max.data()};
  for_each_large_item(shard_.device, table.item_sizes(), kernel);
  const std::vector<float> own = worker_payload_.shared_max.to_host();
  const std::vector<double> all = shard_.communicator->all_gather(std::vector<double>(own.begin(), own.end()));
  std::vector<float> largest(own.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    float& most = largest[i % largest.size()];
    most = std::max(most, static_cast<float>(all[i]));
  }
  const auto chunks = static_cast<std::size_t>(up_segments());
  for (std::size_t v = 0; v < largest.size(); v += chunks) {  // a vector's chunks share the largest magnitude
    const auto begin = largest.begin() + static_cast<std::ptrdiff_t>(v);
    const float most = *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(chunks));
    std::fill_n(begin, chunks, most);
  }
  worker_payload_.shared_max.upload(largest);
}

ExchangeSeconds ServerMean::exchange(const RngKey& key, StoredErrors& worker_errors,
                                     device::Buffer<float>& server_error, float* result, TrafficList& traffic) {
  ExchangeSeconds seconds;
  device::Stopwatch watch(shard_.device);
  refusals_.clear();
  refusals_.add(worker_payload_, shard_.own().count, shard_.own().first);
  if (up_.traits().shared_max) {
    device::Buffer<float>& errors = worker_errors.floats();
    share_largest(errors);
    RngKey own = key;
    own.first_row = shard_.own().first;
    up_.encode(shard_.device, up_table(), {0, shard_.own().count}, {}, own, {errors.data(), layout_.state_size()},
               worker_payload_);
    seconds.encode += watch.lap();
  }
  if (!alone()) {
    arrived_.poison();
    if (sends_in_use_only(shard_, up_)) plan_scatter(largest_sizes(shard_, worker_payload_));
    shard_.communicator->all_to_all(shard_.device, scatter_to_, scatter_from_);
    seconds.exchange += watch.lap();
  }
  const RngKey server{key.seed, key.step, 0, device::Purpose::server_codec};
  down_.serve(shard_.device, part_.chunks(), up_, arrived(), server, {server_error.data(), part_.state_size()},
              own_server_payload_);
  refusals_.add(own_server_payload_, 1);
  seconds.server += watch.lap();
  if (!alone()) {
    server_payload_.poison();
    if (sends_in_use_only(shard_, down_)) plan_gather(largest_sizes(shard_, own_server_payload_));
    shard_.communicator->all_to_all(shard_.device, gather_to_, gather_from_);
    seconds.exchange += watch.lap();
  }
  if (result != nullptr) down_.decode(shard_.device, layout_.server(), server_payload(), 0, result);
  add_records(traffic);
  seconds.server += watch.lap();
  return seconds;
}

void ServerMean::append(TrafficList& traffic, Index vector, Index up_bytes, Index down_bytes) const {
  using netmodel::Collective, netmodel::WireType;
  using enum netmodel::Direction;
  const Index n = layout_.workers(), tensor = layout_.tensor(vector);
  const Segment& server = layout_.server().segments()[static_cast<std::size_t>(vector * n)];
  const Index up_scales = up_.scale_bytes(layout_.worker().segments()[static_cast<std::size_t>(vector)]) +
                          (up_.traits().shared_max ? static_cast<Index>(sizeof(float)) : 0);
  const Index down_scales = down_.scale_bytes(server);
  traffic.push_back(record(Collective::all_to_all, up, up_.traits().wire, n, up_bytes, tensor));
  if (up_scales > 0) traffic.push_back(record(Collective::all_gather, up, WireType::fp32, n, up_scales, tensor));
  traffic.push_back(record(Collective::all_gather, down, down_.traits().wire, n, ceil_div(down_bytes, n), tensor));
  if (down_scales > 0) traffic.push_back(record(Collective::all_gather, down, WireType::fp32, n, down_scales, tensor));
}

void ServerMean::add_records(TrafficList& traffic) const {
  const std::vector<Index> up_bytes = occupied(shard_, worker_payload_, up_segments(), layout_.workers());
  const Index chunks = down_.variable_size() ? shard_.own().count : layout_.workers();
  const std::vector<Index> down_bytes =
      occupied(shard_, down_.variable_size() ? own_server_payload_ : server_payload(), chunks, 1);
  for (std::size_t v = 0; v < up_bytes.size(); ++v) append(traffic, static_cast<Index>(v), up_bytes[v], down_bytes[v]);
}

TrafficList ServerMean::plan() const {
  TrafficList traffic;
  const auto bytes = [](const Codec& codec, const SegmentTable& table, Index first, Index count) {
    Index sum = 0;
    for (const Segment& segment :
         table.segments().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count))) {
      sum += codec.body_bytes(segment);
    }
    return sum;
  };
  for (Index v = 0; v < layout_.worker().count(); ++v) {
    const Index n = layout_.workers();
    append(traffic, v, bytes(up_, up_table(), v * up_segments(), up_segments()),
           bytes(down_, layout_.server(), v * n, n));
  }
  return traffic;
}

std::vector<CodecSquares> ServerMean::worker_squares(const StoredErrors& worker_errors) const {
  return row_squares(shard_.device, layout_, up_, up_table(), worker_payload_, worker_errors);
}

/// Sums one number per chunk over all servers, in the layout's order, so that the result does not depend on the shards.
double ServerMean::server_sum(const std::vector<double>& own) const {
  const std::vector<double> all = shard_.communicator->all_gather(own);
  std::vector<double> ordered(all.size());
  const Index n = layout_.workers();
  std::size_t next = 0;
  for (const Range& servers : shard_.ranges) {
    for (Index s = 0; s < layout_.worker().count(); ++s) {
      for (Index j = servers.first; j < servers.end(); ++j) ordered[static_cast<std::size_t>(s * n + j)] = all[next++];
    }
  }
  return std::accumulate(ordered.begin(), ordered.end(), 0.0);
}

CodecSquares ServerMean::server_squares(const device::Buffer<float>& server_error) const {
  const SegmentTable& table = part_.chunks();
  device::Buffer<float> decoded(shard_.device, layout_.parameters());
  down_.decode(shard_.device, layout_.server(), server_payload(), 0, decoded.data());
  const FloatRows errors{server_error.data(), 0};
  const auto error = error_squares(shard_.device, table, table.real(), 1, errors);
  const auto encoded = encoded_squares(shard_.device, table, 1, errors, {decoded.data(), 0});
  return {server_sum(error), server_sum(encoded)};
}

device::Number ServerMean::server_error_square(const device::Buffer<float>& server_error) const {
  const SegmentTable& table = part_.chunks();
  return device::Number([this, squares = error_squares(shard_.device, table, table.active(), 1,
                                                       {server_error.data(), 0})] { return server_sum(squares); });
}

}  // namespace onebit::compress
