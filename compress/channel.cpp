#include "compress/channel.hpp"

#include <cmath>
#include <numeric>

#include "compress/error_kernels.hpp"
#include "device/error.hpp"
#include "device/launch.hpp"
#include "device/stopwatch.hpp"

namespace onebit::compress {
namespace {

using netmodel::Collective;
using netmodel::Direction;
using netmodel::Traffic;
using netmodel::TrafficList;
using netmodel::WireType;

Traffic record(Collective collective, Direction direction, WireType type, Index workers, Index bytes, Index tensor) {
  return {.collective = collective,
          .direction = direction,
          .type = type,
          .group_size = workers,
          .messages = messages_sent(collective, workers),
          .payload_bytes = bytes,
          .tensor = tensor,
          .overlaps_backward = collective == Collective::all_reduce};
}

/// Bytes of one exchanged vector: a worker's body and scales, a server's body and scales.
struct VectorBytes {
  Index worker_body, worker_scales, server_body, server_scales;
};

void append(TrafficList& traffic, Index workers, Index tensor, const VectorBytes& bytes) {
  using enum Direction;
  traffic.push_back(record(Collective::all_to_all, up, WireType::bits, workers, bytes.worker_body, tensor));
  traffic.push_back(record(Collective::all_gather, up, WireType::fp32, workers, bytes.worker_scales, tensor));
  traffic.push_back(record(Collective::all_gather, down, WireType::bits, workers, bytes.server_body, tensor));
  traffic.push_back(record(Collective::all_gather, down, WireType::fp32, workers, bytes.server_scales, tensor));
}

/// Bytes of one segment's body in a filled payload: up to where the next one begins.
Index body_of(const Side& side, const Payload& payload, Index segment) {
  const auto segments = side.segments();
  const auto s = static_cast<std::size_t>(segment);
  return (s + 1 < segments.size() ? segments[s + 1].bytes : payload.body_bytes) - segments[s].bytes;
}

Index scales_of(const Side& side, const Payload& payload) {
  return payload.scale_count / side.count() * static_cast<Index>(sizeof(float));
}

void require_sliceable(const Codec& codec) {
  if (codec.traits().sliceable) return;
  throw ConfigError("codec does not fit server_mean: its payload cannot be cut into one chunk per server",
                    std::string(codec.name()), "see 'onebit list codecs'");
}

double total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// ||e|| / ||y|| of their squares.
double ratio(double error, double input) {
  return input > 0 ? std::sqrt(error) / std::sqrt(input) : 0.0;
}

/// A rectangle of a buffer, in elements.
template <class T>
device::Block block(const device::Buffer<T>& buffer, Index first, Index rows, Index width, Index pitch) {
  constexpr auto size = static_cast<Index>(sizeof(T));
  return {const_cast<T*>(buffer.data()) + first, rows, width * size, pitch * size};
}

}  // namespace

DenseMean::DenseMean(const device::Shard& shard, Index parameters)
    : workers_(shard.workers()), parameters_(parameters), sum_(shard, parameters) {}

void DenseMean::exchange(float* mean, TrafficList& traffic) {
  sum_.take_mean(mean);
  for (const Traffic& exchange : plan(workers_, parameters_)) traffic.push_back(exchange);
}

TrafficList DenseMean::plan(Index workers, Index parameters) {
  const Index bytes = parameters * static_cast<Index>(sizeof(float));
  return {record(Collective::all_reduce, Direction::both, WireType::fp32, workers, bytes, -1)};
}

ServerMean::ServerMean(const device::Shard& shard, const ExchangeLayout& layout, const Codec& up, const Codec& down)
    : shard_(shard), layout_(layout), up_(up), down_(down), part_(shard.device, layout, shard.own()) {
  require_sliceable(up);
  require_sliceable(down);
  worker_payload_ = up.make_payload(shard.device, layout.worker(), shard.own().count);
  own_server_payload_ = down.make_payload(shard.device, part_.chunks(), 1);
  if (alone()) return;
  arrived_ = up.make_payload(shard.device, part_.vectors(), shard.workers());
  server_payload_ = down.make_payload(shard.device, layout.server(), 1);
  plan_blocks();
}

/// What goes where: of every vector, the chunks of a rank's servers lie side by side in a payload.
void ServerMean::plan_blocks() {
  const Range own = shard_.own();
  const Index vectors = layout_.worker().count();
  for (const Range& theirs : shard_.ranges) {
    device::Blocks to, from, chunks_to, chunks_from;
    for (Index s = 0; s < vectors; ++s) {
      const auto v = static_cast<std::size_t>(s);
      const Segment& vector = layout_.worker().segments()[v];
      const Segment& part = part_.vectors().segments()[v];
      const Index chunk = vector.padded / layout_.workers() / 8;
      to.push_back(block(worker_payload_.body, vector.bytes + theirs.first * chunk, own.count, theirs.count * chunk,
                         worker_payload_.body_bytes));
      from.push_back(block(arrived_.body, theirs.first * arrived_.body_bytes + part.bytes, theirs.count,
                           own.count * chunk, arrived_.body_bytes));
      chunks_to.push_back(block(own_server_payload_.body, part.bytes, 1, own.count * chunk, 0));
      chunks_from.push_back(
          block(server_payload_.body, vector.bytes + theirs.first * chunk, 1, theirs.count * chunk, 0));
      chunks_to.push_back(block(own_server_payload_.scales, s * own.count, 1, own.count, 0));
      chunks_from.push_back(block(server_payload_.scales, s * layout_.workers() + theirs.first, 1, theirs.count, 0));
    }
    to.push_back(block(worker_payload_.scales, 0, own.count, vectors, vectors));
    from.push_back(block(arrived_.scales, theirs.first * vectors, theirs.count, vectors, vectors));
    scatter_to_.push_back(std::move(to));
    scatter_from_.push_back(std::move(from));
    gather_to_.push_back(std::move(chunks_to));
    gather_from_.push_back(std::move(chunks_from));
  }
}

void ServerMean::absorb(Range group, const EncodeInput& input, device::Buffer<float>& worker_errors) {
  up_.encode(shard_.device, layout_.worker(), {group.first - shard_.own().first, group.count}, input,
             worker_errors.data(), layout_.state_size(), worker_payload_);
}

ExchangeSeconds ServerMean::exchange(device::Buffer<float>& server_error, float* result, TrafficList& traffic) {
  ExchangeSeconds seconds;
  device::Stopwatch watch(shard_.device);
  if (!alone()) {
    arrived_.poison();
    shard_.exchange->all_to_all(shard_.device, scatter_to_, scatter_from_);
    seconds.exchange += watch.lap();
  }
  down_.serve(shard_.device, part_.chunks(), up_, arrived(), server_error.data(), part_.state_size(),
              own_server_payload_);
  seconds.server += watch.lap();
  if (!alone()) {
    server_payload_.poison();
    shard_.exchange->all_to_all(shard_.device, gather_to_, gather_from_);
    seconds.exchange += watch.lap();
  }
  down_.decode(shard_.device, layout_.server(), server_payload(), 0, result);
  for (Index s = 0; s < layout_.worker().count(); ++s) add_record(s, traffic);
  seconds.server += watch.lap();
  return seconds;
}

void ServerMean::add_record(Index segment, TrafficList& traffic) const {
  const Index n = layout_.workers();
  append(traffic, n, layout_.tensor(segment),
         {body_of(layout_.worker(), worker_payload_, segment), scales_of(layout_.worker(), worker_payload_),
          body_of(layout_.server(), server_payload(), segment * n), scales_of(layout_.server(), server_payload())});
}

/// Squared norm of every segment of one encoded row: of e, or with `decoded` of y.
std::vector<double> ServerMean::squares(const Side& side, const device::Chunks& chunks, const float* errors,
                                        const float* decoded) const {
  device::Buffer<double> sums(shard_.device, side.count());
  reduce(shard_.device, 1, chunks, ErrorKernel{side.device_segments(), errors, decoded}, sums.data());
  return sums.to_host();
}

double ServerMean::worker_codec_error(const device::Buffer<float>& worker_errors) const {
  const Side& side = layout_.worker();
  device::Buffer<float> decoded(shard_.device, layout_.parameters());
  std::vector<double> ratios;
  for (Index w = 0; w < shard_.own().count; ++w) {
    const float* errors = worker_errors.data() + w * layout_.state_size();
    up_.decode(shard_.device, side, worker_payload_, w, decoded.data());
    ratios.push_back(ratio(total(squares(side, side.real(), errors, nullptr)),
                           total(squares(side, side.real(), errors, decoded.data()))));
  }
  return total(shard_.exchange->all_gather(ratios)) / static_cast<double>(layout_.workers());
}

/// Sum over the chunks of all servers of one number for each, in the layout's order whatever the shards.
double ServerMean::server_sum(const std::vector<double>& own) const {
  const std::vector<double> all = shard_.exchange->all_gather(own);
  std::vector<double> ordered(all.size());
  const Index n = layout_.workers();
  std::size_t next = 0;
  for (const Range& servers : shard_.ranges) {
    for (Index s = 0; s < layout_.worker().count(); ++s) {
      for (Index j = servers.first; j < servers.end(); ++j) ordered[static_cast<std::size_t>(s * n + j)] = all[next++];
    }
  }
  return total(ordered);
}

double ServerMean::server_codec_error(const device::Buffer<float>& server_error) const {
  const Side& side = part_.chunks();
  device::Buffer<float> decoded(shard_.device, layout_.parameters());
  down_.decode(shard_.device, layout_.server(), server_payload(), 0, decoded.data());
  return ratio(server_sum(squares(side, side.real(), server_error.data(), nullptr)),
               server_sum(squares(side, side.real(), server_error.data(), decoded.data())));
}

double ServerMean::server_error_norm(const device::Buffer<float>& server_error) const {
  return std::sqrt(server_sum(squares(part_.chunks(), part_.chunks().active(), server_error.data(), nullptr)));
}

TrafficList ServerMean::plan() const {
  TrafficList traffic;
  for (Index s = 0; s < layout_.worker().count(); ++s) {
    const Segment& worker = layout_.worker().segments()[static_cast<std::size_t>(s)];
    const Segment& server = layout_.server().segments()[static_cast<std::size_t>(s * layout_.workers())];
    append(traffic, layout_.workers(), layout_.tensor(s),
           {up_.body_bytes(worker), up_.scale_bytes(worker), down_.body_bytes(server), down_.scale_bytes(server)});
  }
  return traffic;
}

}  // namespace onebit::compress
