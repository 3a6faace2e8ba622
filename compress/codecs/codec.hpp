#pragma once
// Codecs: pure functions from rows of numbers to real packed bytes and back. Error feedback is the caller's state.

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compress/channels/exchange_config.hpp"
#include "compress/codecs/payload.hpp"
#include "compress/layout/layout.hpp"
#include "compress/layout/tensor.hpp"
#include "device/base/error.hpp"
#include "device/comm/communicator.hpp"
#include "device/math/philox.hpp"
#include "netmodel/wire/traffic.hpp"

namespace onebit::compress {

/// What a codec guarantees; channels accept or refuse it by these.
struct Traits {
  bool deterministic = false;  ///< same rows, same bytes: draws no random numbers
  bool unbiased = false;       ///< E[decode(encode(x))] = x
  bool contraction = false;    ///< ||x - decode(encode(x))|| <= ||x||, strictly smaller for x != 0 (a delta > 0 exists)
  bool expanding = false;      ///< the error may be longer than the row: error feedback would let it grow
  bool sliceable = false;      ///< a payload can be cut into the servers' chunks; else every chunk is encoded by itself
  bool sparse = false;         ///< sends a few elements: fits gather_mean
  bool linear = false;         ///< sums of payloads decode to sums: fits linear_mean
  bool signs = false;          ///< a payload is a bit an element and a scale a segment: device::SignVector reads it
  bool shared_max = false;     ///< needs the largest |x|, clipped to clip(), over all workers first (4 bytes a segment)
  bool fixed_volume = true;  ///< what it sends follows from the number of elements: neither from their values nor from
                             ///< the tensors' shapes
  netmodel::WireType wire = netmodel::WireType::packed;  ///< what the bytes of a payload's body are
};

/// What random numbers of an encoding are drawn for: row r draws as worker first_row + r.
struct RngKey {
  std::uint32_t seed = 1;
  Index step = 0;
  Index first_row = 0;
  device::Purpose purpose = device::Purpose::worker_codec;
};

/// What a worker w encodes: y = weights * (shared_factor * shared + factors[w] * rows[w]) + error[w], in parameter
/// order. For 1-bit Adam shared is the momentum and rows are the gradients. All pointers null: y is in `error` already.
struct EncodeInput {
  const float* shared = nullptr;  ///< [parameters]; null: none
  float shared_factor = 0;
  const float* rows = nullptr;  ///< row of the group's worker g at rows + g * stride
  Index stride = 0;
  const float* factors = nullptr;  ///< [group], device memory
  const float* weights = nullptr;  ///< [parameters], with `shared` only; null: 1

  /// The group without its first `count` workers.
  EncodeInput behind(Index count) const {
    EncodeInput rest = *this;
    rest.rows += count * stride;
    rest.factors += count;
    return rest;
  }
};

class Codec {
 public:
  virtual ~Codec() = default;

  virtual std::string_view name() const = 0;
  virtual Traits traits() const = 0;

  /// Bytes of a segment's body on the wire, per row: what it occupies, or at most occupies where rows differ in size.
  virtual Index body_bytes(const Segment& segment) const = 0;
  /// Bytes of the scales that are sent besides the body.
  virtual Index scale_bytes(const Segment&) const { return 0; }
  virtual Index scales_per_segment() const { return 0; }
  /// Rows of one length occupy different numbers of bytes: Payload::sizes says how many.
  virtual bool variable_size() const { return false; }
  /// Keeps a number for every row and segment from step to step: Payload::memory.
  virtual bool has_memory() const { return false; }

  /// Whether a segment that is not finite is refused: Payload::refused says so, and what is encoded means nothing. Else
  /// it decodes to numbers that are not finite.
  virtual bool refuses() const { return true; }

  /// Guaranteed delta: ||x - C[x]||^2 <= (1 - delta) ||x||^2 for every segment of n elements; none where there is none.
  virtual std::optional<double> delta(Index) const { return std::nullopt; }
  /// Guaranteed omega of an unbiased codec: E||x - C[x]||^2 <= omega ||x||^2 for every segment of n elements.
  virtual std::optional<double> omega(Index) const { return std::nullopt; }

  /// Encodes workers' rows on this side with recorded random numbers from now on, where there are any for it. Returns
  /// whether there are. Throws ConfigError where they do not fit.
  virtual bool take_recorded(const device::Device&, const SegmentTable&, Index, const RecordedDraws&) { return false; }

  /// Tensors that an all-reduce of payloads leaves dense.
  virtual bool keeps_dense(const Tensor&) const { return false; }
  /// Codecs with a shared_max: a magnitude counts in it up to this many root mean squares of its segment; 0: as it is.
  virtual double clip() const { return 0; }

  /// Sparse codecs: the share of the elements to send from now on, in (0, 1]. Payloads made before do not fit any more.
  virtual void set_density(double) {}
  virtual bool has_density() const { return false; }

  /// An empty payload for `rows` rows of a side; constant parts (padding) are filled in.
  Payload make_payload(const device::Device& device, const SegmentTable& table, Index rows) const;

  /// Encodes rows into rows [range] of the payload, that of row range.first + r with the error at errors + r * stride,
  /// and leaves the new error y - decode(encode(y)) there. Where traits ask for it, payload.shared_max is set before.
  virtual void encode(const device::Device& device, const SegmentTable& table, Range range, const EncodeInput& input,
                      const RngKey& draw, float* errors, Index stride, Payload& payload) const = 0;

  /// Where a mean goes: into errors, by the segments' place there, or into parameters.
  enum class Target { state, parameters };

  /// target[i] += mean over the payload's rows, summed in double, over the active elements of a side (Target::state) or
  /// its real ones (Target::parameters).
  virtual void add_mean(const device::Device& device, const SegmentTable& table, const Payload& payload, Target where,
                        float* target) const = 0;

  /// What a server does: up.add_mean of the arrived rows to its errors, then encode. A codec that can do both in one
  /// pass overrides it, with the same bits.
  virtual void serve(const device::Device& device, const SegmentTable& chunks, const Codec& up, const Payload& arrived,
                     const RngKey& draw, float* errors, Index stride, Payload& payload) const;

  /// Writes the decoded real elements of one row in parameter order.
  virtual void decode(const device::Device& device, const SegmentTable& table, const Payload& payload, Index row,
                      float* parameters) const = 0;
};

/// y of the rows into `errors`, zeros where it is refused: refused is as in Payload. sums[row][segment] of y^2 over the
/// active elements. For codecs whose encoding does not do it on the way.
device::Buffer<double> add_error_feedback(const device::Device& device, const SegmentTable& table, Index rows,
                                          const EncodeInput& input, float* errors, Index stride, Index* refused);

/// One row of the codec table.
class Channel;

/// A row of the table of codecs.
struct CodecEntry {
  std::string_view name;
  std::string_view doc;
  std::unique_ptr<Codec> (*make)(const CodecConfig&);
  /// Linear codecs: makes the channel that adds their payloads up. Shard, layout and tensors outlive it. Null for the
  /// others.
  std::unique_ptr<Channel> (*linear_channel)(const device::Shard& shard, const ExchangeLayout& layout,
                                             std::span<const Tensor> tensors, const ExchangeConfig& config) = nullptr;
};

const std::vector<CodecEntry>& codecs();

/// Throws ConfigError with the nearest names for an unknown one.
const CodecEntry& codec_entry(std::string_view name);

/// Adds a row to the table, for codecs that live outside this room. Call it before the table is used.
bool add_codec(const CodecEntry& entry);

/// Throws what codec_entry throws, and ConfigError for a parameter out of range.
std::unique_ptr<Codec> make_codec(const CodecConfig& config);

}  // namespace onebit::compress
