#include "compress/channel.hpp"

#include <cmath>
#include <numeric>

#include "device/error.hpp"
#include "device/launch.hpp"

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

/// e^2 and, with `decoded`, y^2 = (e + C[y])^2.
struct ErrorKernel {
  const Segment* segments;
  const float* errors;
  const float* decoded;
  ONEBIT_HOST_DEVICE double operator()(Index, Index segment, Index i) const {
    const Segment& s = segments[segment];
    const auto e = static_cast<double>(errors[s.state + i]);
    const double y = decoded == nullptr ? e : e + static_cast<double>(decoded[s.parameter + i]);
    return y * y;
  }
};

/// ||e|| / ||y|| of one encoded row that left `errors`.
double codec_error(const device::Device& device, const ExchangeLayout& layout, const Codec& codec, const Side& side,
                   const Payload& payload, Index row, const float* errors) {
  device::Buffer<float> decoded(device, layout.parameters());
  codec.decode(device, side, payload, row, decoded.data());
  const auto norm = [&](const float* values) {
    device::Buffer<double> sums(device, side.count());
    const ErrorKernel kernel{side.device_segments(), errors, values};
    device.run([&](const auto& queue) { reduce(queue, 1, side.real(), kernel, sums.data()); });
    const std::vector<double> squares = sums.to_host();
    return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
  };
  const double input = norm(decoded.data());
  return input > 0 ? norm(nullptr) / input : 0.0;
}

}  // namespace

DenseMean::DenseMean(const device::Device& device, Index workers, Index parameters)
    : workers_(workers), parameters_(parameters), sum_(device, workers, parameters) {}

void DenseMean::exchange(float* mean, TrafficList& traffic) {
  sum_.take_mean(mean);
  for (const Traffic& exchange : plan(workers_, parameters_)) traffic.push_back(exchange);
}

TrafficList DenseMean::plan(Index workers, Index parameters) {
  const Index bytes = parameters * static_cast<Index>(sizeof(float));
  return {record(Collective::all_reduce, Direction::both, WireType::fp32, workers, bytes, -1)};
}

ServerMean::ServerMean(const device::Device& device, const ExchangeLayout& layout, const Codec& up, const Codec& down)
    : device_(device), layout_(layout), up_(up), down_(down) {
  require_sliceable(up);
  require_sliceable(down);
  worker_payload_ = up.make_payload(device, layout.worker(), layout.workers());
  server_payload_ = down.make_payload(device, layout.server(), 1);
}

void ServerMean::absorb(Range group, const EncodeInput& input, device::Buffer<float>& worker_errors) {
  up_.encode(device_, layout_.worker(), group, input, worker_errors.data(), layout_.state_size(), worker_payload_);
}

void ServerMean::exchange(device::Buffer<float>& server_error, float* result, TrafficList& traffic) {
  up_.add_mean(device_, layout_.worker(), worker_payload_, server_error.data());
  down_.encode(device_, layout_.server(), {0, 1}, {}, server_error.data(), layout_.state_size(), server_payload_);
  down_.decode(device_, layout_.server(), server_payload_, 0, result);
  const Index n = layout_.workers();
  for (Index s = 0; s < layout_.worker().count(); ++s) {
    append(traffic, n, layout_.tensor(s),
           {body_of(layout_.worker(), worker_payload_, s), scales_of(layout_.worker(), worker_payload_),
            body_of(layout_.server(), server_payload_, s * n), scales_of(layout_.server(), server_payload_)});
  }
}

double ServerMean::worker_codec_error(const device::Buffer<float>& worker_errors) const {
  double sum = 0;
  for (Index w = 0; w < layout_.workers(); ++w) {
    sum += codec_error(device_, layout_, up_, layout_.worker(), worker_payload_, w,
                       worker_errors.data() + w * layout_.state_size());
  }
  return sum / static_cast<double>(layout_.workers());
}

double ServerMean::server_codec_error(const device::Buffer<float>& server_error) const {
  return codec_error(device_, layout_, down_, layout_.server(), server_payload_, 0, server_error.data());
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
