#pragma once
// Codecs: pure functions from rows of numbers to real packed bytes and back. Error feedback is the caller's state.

#include <memory>
#include <string_view>
#include <vector>

#include "compress/exchange_config.hpp"
#include "compress/layout.hpp"

namespace onebit::compress {

/// What a codec guarantees; collectives accept or refuse it by these.
struct Traits {
  bool deterministic = false;  ///< same rows, same bytes: no random key
  bool unbiased = false;       ///< E[decode(encode(x))] = x
  bool contraction = false;    ///< ||x - decode(encode(x))|| <= ||x||, strictly smaller for x != 0 (a delta > 0 exists)
  bool sliceable = false;      ///< a payload can be cut into the servers' chunks: fit for server_mean
};

/// The packed bytes of `rows` encoded rows in device memory: body (cut into the servers' chunks on the wire) and scales
/// (float, sent whole). The wire size of a row is what it occupies here.
struct Payload {
  Payload() = default;
  Payload(const device::Device& device, Index row_count, Index bytes, Index scales_per_row)
      : rows(row_count),
        body_bytes(bytes),
        scale_count(scales_per_row),
        body(device, row_count * bytes),
        scales(device, row_count * scales_per_row) {}

  Index rows = 0;
  Index body_bytes = 0;   ///< per row
  Index scale_count = 0;  ///< per row
  device::Buffer<std::uint8_t> body;
  device::Buffer<float> scales;

  /// On a debug device: makes the contents unusable.
  void poison() {
    body.poison();
    scales.poison();
  }

  /// Bytes of one row: body and scales.
  Index wire_bytes() const { return body_bytes + static_cast<Index>(sizeof(float)) * scale_count; }
};

/// What a worker w encodes: y = shared_factor * shared + factors[w] * rows[w] + error[w], in parameter order. For 1-bit
/// Adam shared is the momentum and rows are the gradients. All pointers null: y is in `error` already.
struct EncodeInput {
  const float* shared = nullptr;  ///< [parameters]
  float shared_factor = 0;
  const float* rows = nullptr;  ///< row of the group's worker g at rows + g * stride
  Index stride = 0;
  const float* factors = nullptr;  ///< [group], device memory
};

class Codec {
 public:
  virtual ~Codec() = default;

  virtual std::string_view name() const = 0;
  virtual Traits traits() const = 0;

  /// Bytes of a segment's body and of its scales on the wire, per row.
  virtual Index body_bytes(const Segment& segment) const = 0;
  virtual Index scale_bytes(const Segment& segment) const = 0;

  /// An empty payload for `rows` rows of a side; constant parts (padding) are filled in.
  virtual Payload make_payload(const device::Device& device, const Side& side, Index rows) const = 0;

  /// Encodes rows [range] of `errors` (row w at errors + w * stride) into rows [range] of the payload and leaves the
  /// new error y - decode(encode(y)) in `errors`.
  virtual void encode(const device::Device& device, const Side& side, Range range, const EncodeInput& input,
                      float* errors, Index stride, Payload& payload) const = 0;

  /// state[i] += mean over the payload's rows, summed in double, over the active elements of the servers' chunks.
  virtual void add_mean(const device::Device& device, const Side& chunks, const Payload& payload,
                        float* state) const = 0;

  /// What a server does: up.add_mean of the arrived rows to its errors, then encode. A codec that can do both in one
  /// pass overrides it, with the same bits.
  virtual void serve(const device::Device& device, const Side& chunks, const Codec& up, const Payload& arrived,
                     float* errors, Index stride, Payload& payload) const;

  /// Writes the decoded real elements of one row in parameter order.
  virtual void decode(const device::Device& device, const Side& side, const Payload& payload, Index row,
                      float* parameters) const = 0;
};

/// One row of the codec table.
struct CodecEntry {
  std::string_view name;
  std::string_view doc;
  std::unique_ptr<Codec> (*make)(const CodecConfig&);
};

const std::vector<CodecEntry>& codecs();

/// Throws ConfigError with the nearest names for an unknown one, and for a parameter out of range.
std::unique_ptr<Codec> make_codec(const CodecConfig& config);

}  // namespace onebit::compress
