#pragma once
// A whole compressed exchange with its errors, on rows of floats, on one device or several.

#include <cmath>
#include <deque>
#include <functional>
#include <numeric>

#include "compress/channels/server_mean.hpp"
#include "device/comm/device_group.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/compressed_mean.hpp"

namespace onebit::tests {

using compress::Granularity;
using compress::Padding;
using FloatRows = std::vector<std::vector<float>>;

struct ExchangeOptions {
  std::vector<Index> tensors;
  Index workers = 1;
  Granularity granularity = Granularity::fused;
  Padding padding = Padding::wire_only;
  std::string up = "sign-l2";
  std::string down = "sign-l2";
  int threads = 1;
  Index group = 0;  ///< workers encoded at once; 0: all
  std::string devices = "cpu";
  /// Wraps the communicator of a device.
  std::function<std::shared_ptr<device::Communicator>(std::shared_ptr<device::Communicator>)> wrap = {};
};

/// One device's part of an exchange.
struct Seat {
  Seat(const ExchangeOptions& options, device::Shard own_shard)
      : shard(std::move(own_shard)),
        layout(shard.device, options.tensors, options.workers, options.granularity, options.padding),
        up(compress::make_codec({.name = options.up})),
        down(compress::make_codec({.name = options.down})),
        channel(shard, layout, *up, *down),
        worker_errors(shard.device, shard.own().count, layout.state_size(), compress::ErrorType::fp32),
        server_error(device::Buffer<float>::zeros(shard.device, channel.server_state_size())) {}

  void absorb(const FloatRows& rows, Index group) {
    const auto shared = device::Buffer<float>::zeros(shard.device, layout.parameters());
    for (Index first = shard.own().first; first < shard.own().end(); first += group) {
      const Index count = std::min(group, shard.own().end() - first);
      std::vector<float> flat;
      for (Index w = first; w < first + count; ++w) {
        const std::vector<float>& row = rows[static_cast<std::size_t>(w)];
        flat.insert(flat.end(), row.begin(), row.end());
      }
      const auto device_rows = on(shard.device, flat);
      const auto ones = on(shard.device, std::vector<float>(static_cast<std::size_t>(count), 1.0f));
      channel.absorb({first, count},
                     {.shared = shared.data(),
                      .shared_factor = 0,
                      .rows = device_rows.data(),
                      .stride = layout.parameters(),
                      .factors = ones.data()},
                     {.step = step}, worker_errors.floats().data() + (first - shard.own().first) * layout.state_size());
    }
  }

  double worker_codec_error() const {
    double sum = 0;
    std::vector<double> ratios;
    for (const compress::CodecSquares& s : channel.worker_squares(worker_errors)) ratios.push_back(ratio(s));
    for (const double value : shard.communicator->all_gather(ratios)) sum += value;
    return sum / static_cast<double>(shard.workers());
  }
  double server_codec_error() const { return ratio(channel.server_squares(server_error)); }
  static double ratio(const compress::CodecSquares& s) { return s.input > 0 ? std::sqrt(s.error / s.input) : 0; }

  device::Shard shard;
  compress::ExchangeLayout layout;
  std::unique_ptr<compress::Codec> up, down;
  compress::ServerMean channel;
  compress::StoredErrors worker_errors;
  device::Buffer<float> server_error;
  Index step = 0;
};

/// A whole exchange. Members without a rank belong to the first device.
class Exchange {
 public:
  explicit Exchange(ExchangeOptions exchange_options)
      : options(std::move(exchange_options)),
        group(device::parse_devices(options.devices, options.threads), options.workers),
        seats(make_seats()),
        layout(seats.front().layout),
        channel(seats.front().channel),
        worker_errors(seats.front().worker_errors.floats()),
        server_error(seats.front().server_error) {}

  /// Exchanges the rows and returns the result, which must be the same on every device.
  std::vector<float> operator()(const FloatRows& rows) {
    const FloatRows results = on_each_device(rows);
    for (std::size_t rank = 1; rank < seats.size(); ++rank) {
      CHECK(results[rank] == results[0]);
      CHECK(records[rank] == records[0]);
    }
    traffic = records[0];
    return results[0];
  }

  /// The result of every device.
  FloatRows on_each_device(const FloatRows& rows) {
    FloatRows results(seats.size());
    records.assign(seats.size(), {});
    group.run([&](Index rank) {
      const auto r = static_cast<std::size_t>(rank);
      Seat& seat = seats[r];
      ++seat.step;
      seat.absorb(rows, options.group > 0 ? options.group : options.workers);
      device::Buffer<float> result(seat.shard.device, layout.parameters());
      seat.channel.exchange({.step = seat.step}, seat.worker_errors, seat.server_error, result.data(), records[r]);
      results[r] = result.to_host();
    });
    return results;
  }

  /// Errors of one exchanged vector, padded with zeros to its size on the wire.
  std::vector<float> error_of(const device::Buffer<float>& errors, std::size_t segment, Index worker) const {
    const compress::Segment& s = layout.worker().segments()[segment];
    std::vector<float> part(static_cast<std::size_t>(s.padded));
    errors.download(std::span(part).first(static_cast<std::size_t>(s.active)), worker * layout.state_size() + s.state);
    return part;
  }

 private:
  std::deque<Seat> make_seats() const {
    std::deque<Seat> result;
    for (Index rank = 0; rank < group.size(); ++rank) {
      device::Shard shard = group.shard(rank);
      if (options.wrap) shard.communicator = options.wrap(shard.communicator);
      result.emplace_back(options, shard);
    }
    return result;
  }

 public:
  ExchangeOptions options;
  device::DeviceGroup group;
  std::deque<Seat> seats;  ///< by rank; a deque, because a channel holds its layout's address
  const compress::ExchangeLayout& layout;
  compress::ServerMean& channel;
  device::Buffer<float>&worker_errors, &server_error;
  netmodel::TrafficList traffic;
  std::vector<netmodel::TrafficList> records;
};

/// One oracle for each exchanged vector.
inline std::vector<oracle::CompressedMean> oracles_of(const Exchange& exchange) {
  std::vector<oracle::CompressedMean> result;
  const auto norm = exchange.options.up == "sign-l1" ? oracle::Norm::l1 : oracle::Norm::l2;
  for (const compress::Segment& segment : exchange.layout.worker().segments()) {
    result.emplace_back(static_cast<std::size_t>(exchange.options.workers), static_cast<std::size_t>(segment.real),
                        norm, exchange.options.padding == Padding::as_data);
  }
  return result;
}

/// Elements [segment.parameter, + segment.real) of every row, in double.
inline oracle::Rows slices(const FloatRows& rows, const compress::Segment& segment) {
  oracle::Rows result;
  for (const std::vector<float>& row : rows) {
    result.emplace_back(row.begin() + segment.parameter, row.begin() + segment.parameter + segment.real);
  }
  return result;
}

}  // namespace onebit::tests
