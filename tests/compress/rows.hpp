#pragma once
// Rows on which codecs are tested, and one row through a codec.

#include "compress/codecs/codec.hpp"
#include "compress/codecs/refusals.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/random.hpp"
#include "tests/oracle/vectors.hpp"

namespace onebit::tests {

struct NamedRow {
  std::string name;
  std::vector<float> values;
};

/// Gaussian, heavy-tailed, sparse, constant, all-zero and -0.0 rows of n elements.
inline std::vector<NamedRow> kinds_of_rows(Index n) {
  const std::vector<float> normal = oracle::normals(n, 21), other = oracle::normals(n, 22);
  std::vector<float> heavy = normal, sparse(normal.size());
  for (std::size_t i = 0; i < heavy.size(); ++i) {
    heavy[i] = normal[i] / (std::fabs(other[i]) + 1e-3f);  // nearly Cauchy
    if (i % 97 == 3) sparse[i] = 100 * normal[i];
  }
  return {{"gaussian", normal},
          {"heavy-tailed", heavy},
          {"sparse", sparse},
          {"constant", std::vector<float>(normal.size(), -0.375f)},
          {"zero", std::vector<float>(normal.size(), 0.0f)},
          {"negative zero", std::vector<float>(normal.size(), -0.0f)}};
}

/// Every codec of the table with its defaults, and with other values of the options that its row names.
inline std::vector<compress::CodecConfig> all_codecs() {
  std::vector<compress::CodecConfig> configs;
  for (const compress::CodecEntry& entry : compress::codecs()) {
    const std::string name(entry.name);
    configs.push_back({.name = name});
    if (name == "qsgd") {
      configs.push_back({.name = name, .levels = 4, .block = 0});
      configs.push_back({.name = name, .levels = 7, .norm = "max"});
      configs.push_back({.name = name, .levels = 4, .packing = "elias"});
    }
    if (name == "terngrad") configs.push_back({.name = name, .clip = 0});
    if (name == "random-k") configs.push_back({.name = name, .k = 0.25, .scaled = true});
    if (name == "random-k") configs.push_back({.name = name, .k = 3, .shared = false});
    if (name == "top-k") configs.push_back({.name = name, .k = 5, .packing = "delta"});
    if (name == "top-k-sampled") configs.push_back({.name = name, .k = 0.1, .packing = "delta", .sample = 0.1});
    if (name == "threshold") configs.push_back({.name = name, .threshold = 1.5, .packing = "delta"});
    if (name == "dct") configs.push_back({.name = name, .k = 0.05, .renew = 2, .packing = "delta"});
    if (name == "int8" || name == "int4") configs.push_back({.name = name, .block = 0});
  }
  return configs;
}

/// Encodes one row, as one segment of the only worker, and decodes it.
struct RowOutcome {
  std::vector<float> decoded, error;
  std::optional<compress::Refused> refused;
  Index bytes = 0;
  std::vector<std::uint8_t> body;
};

class RowCodec {
 public:
  RowCodec(const compress::CodecConfig& config, Index n, const std::string& backend = "cpu")
      : device_(device_of(backend, 1)),
        layout_(device_, std::vector<Index>{n}, 1, compress::Granularity::fused, compress::Padding::wire_only),
        codec_(compress::make_codec(config)),
        payload_(codec_->make_payload(device_, layout_.worker(), 1)) {}

  const compress::Codec& codec() const { return *codec_; }
  compress::Codec& codec() { return *codec_; }
  Index room() const { return payload_.wire_bytes(); }
  /// Returns the body of the last payload.
  std::vector<std::uint8_t> body() const { return payload_.body.to_host(); }

  RowOutcome operator()(const std::vector<float>& row, Index step = 1, Index worker = 0) {
    auto error = on(device_, row);
    if (codec_->traits().shared_max) payload_.shared_max.upload(std::vector<float>{largest(row)});
    codec_->encode(device_, layout_.worker(), {0, 1}, {}, {.seed = 5, .step = step, .first_row = worker},
                   {error.data(), error.size()}, payload_);
    device::Buffer<float> decoded(device_, error.size());
    codec_->decode(device_, layout_.worker(), payload_, 0, decoded.data());
    Index bytes = payload_.wire_bytes();
    if (codec_->variable_size()) {
      bytes = payload_.scale_bytes;
      for (const Index size : payload_.sizes.to_host()) bytes += size;
    }
    compress::Refusals refusals;
    refusals.add(payload_, 1, worker);
    return {decoded.to_host(), error.to_host(), refusals.first(), bytes, payload_.body.to_host()};
  }

 private:
  static float largest(const std::vector<float>& row) {
    float most = 0;
    for (const float value : row) most = std::max(most, std::fabs(value));
    return most;
  }

  device::Device device_;
  compress::ExchangeLayout layout_;
  std::unique_ptr<compress::Codec> codec_;
  compress::Payload payload_;
};

inline double square(const std::vector<float>& values) {
  const double length = oracle::norm(values);
  return length * length;
}

}  // namespace onebit::tests
