#pragma once
// A whole compressed exchange with its errors, on rows of floats.

#include <numeric>

#include "compress/channel.hpp"
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
};

class Exchange {
 public:
  explicit Exchange(ExchangeOptions exchange_options)
      : options(std::move(exchange_options)),
        device(device::Device::cpu(options.threads)),
        layout(device, options.tensors, options.workers, options.granularity, options.padding),
        up(compress::make_codec(options.up)),
        down(compress::make_codec(options.down)),
        channel(device, layout, *up, *down),
        worker_errors(device, options.workers * layout.state_size()),
        server_error(device, layout.state_size()) {}

  std::vector<float> operator()(const FloatRows& rows) {
    const Index parameters = layout.parameters();
    const device::Buffer<float> shared(device, parameters);
    const Index group = options.group > 0 ? options.group : options.workers;
    for (Index first = 0; first < options.workers; first += group) {
      const Index count = std::min(group, options.workers - first);
      std::vector<float> flat;
      for (Index w = first; w < first + count; ++w) {
        const std::vector<float>& row = rows[static_cast<std::size_t>(w)];
        flat.insert(flat.end(), row.begin(), row.end());
      }
      const std::vector<float> ones(static_cast<std::size_t>(count), 1.0f);
      channel.absorb({first, count},
                     {.shared = shared.data(),
                      .shared_factor = 0,
                      .rows = flat.data(),
                      .stride = parameters,
                      .factors = ones.data()},
                     worker_errors);
    }
    std::vector<float> result(static_cast<std::size_t>(parameters));
    traffic.clear();
    channel.exchange(server_error, result.data(), traffic);
    return result;
  }

  /// Errors of one exchanged vector, padded with zeros to its size on the wire.
  std::vector<float> error_of(const device::Buffer<float>& errors, std::size_t segment, Index worker) const {
    const compress::Segment& s = layout.worker().segments()[segment];
    std::vector<float> part(static_cast<std::size_t>(s.padded));
    errors.download(std::span(part).first(static_cast<std::size_t>(s.active)), worker * layout.state_size() + s.state);
    return part;
  }

  ExchangeOptions options;
  device::Device device;
  compress::ExchangeLayout layout;
  std::unique_ptr<compress::Codec> up, down;
  compress::ServerMean channel;
  device::Buffer<float> worker_errors, server_error;
  netmodel::TrafficList traffic;
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
