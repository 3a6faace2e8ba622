#pragma once
// Codecs: pure functions from rows of numbers to real packed bytes and back. The caller keeps the errors of error
// feedback.

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
#include "netmodel/wire/codec_passes.hpp"
#include "netmodel/wire/traffic.hpp"

namespace onebit::compress {

/// Guarantees of a codec, from which channels decide whether they accept it.
struct Traits {
  bool deterministic = false;  ///< the same rows give the same bytes, because no random numbers are drawn
  bool unbiased = false;       ///< E[decode(encode(x))] = x
  bool contraction = false;    ///< ||x - decode(encode(x))|| <= ||x||, strictly smaller for x != 0 (a delta > 0 exists)
  bool expanding = false;      ///< the error may be many times as long as the row, so error feedback lets it grow
  bool sliceable = false;      ///< a payload can be cut into servers' chunks; otherwise chunks are encoded separately
  bool sparse = false;         ///< only selected elements are sent, which fits an all-gather (GatherMean)
  bool linear = false;         ///< sums of payloads decode to sums, which fits an all-reduce of payloads
  bool signs = false;  ///< a payload is one bit per element and one scale per segment, as device::SignVector reads it
  /// Before a vector can be encoded, its largest |x| over all workers must be known, after magnitudes have been limited
  /// to clip() times the root mean square of their segment. This sends 4 more bytes per exchanged vector.
  bool shared_max = false;
  bool shaped = false;  ///< the volume depends on the tensors' shapes, not only on their numbers of elements
  netmodel::WireType wire = netmodel::WireType::packed;  ///< type of the bytes of a payload's body
};

/// The key of an encoding's random numbers. Row r uses those of worker first_row + r.
struct RngKey {
  std::uint32_t seed = 1;
  Index step = 0;
  Index first_row = 0;
  device::Purpose purpose = device::Purpose::worker_codec;
};

/// What a group's workers encode. Worker w encodes y = weights * (shared_factor * shared + factors[w] * rows[w]) +
/// error[w], in parameter order. In 1-bit Adam, `shared` is the momentum and `rows` are the gradients. If `rows` is
/// null, `error` already holds y, and the other members are ignored.
struct EncodeInput {
  const float* shared = nullptr;  ///< [parameters]; null if nothing is shared
  float shared_factor = 0;
  const float* rows = nullptr;  ///< the row of the group's worker g is at rows + g * stride
  Index stride = 0;
  const float* factors = nullptr;  ///< [group]: factors of the rows, in device memory
  const float* weights = nullptr;  ///< [parameters]; used only with `shared`; null: all 1

  /// Returns the input of all workers of the group except the first `count`.
  EncodeInput without_first(Index count) const {
    EncodeInput rest = *this;
    rest.rows += count * stride;
    rest.factors += count;
    return rest;
  }
};

/// Rows of errors in device memory: row r is at data + r * stride.
struct ErrorRows {
  float* data = nullptr;
  Index stride = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;

  virtual std::string_view name() const = 0;
  virtual Traits traits() const = 0;

  /// Bytes that a segment's body occupies on the wire, per row; an upper bound if rows differ in size.
  virtual Index body_bytes(const Segment& segment) const = 0;
  /// Bytes of a segment's scales, which are sent in addition to the body.
  virtual Index scale_bytes(const Segment&) const { return 0; }
  virtual Index scales_per_segment() const { return 0; }
  /// Whether rows of the same length may occupy different numbers of bytes, which Payload::sizes then holds.
  virtual bool variable_size() const { return false; }
  /// Whether the codec keeps a number for every row and segment from step to step (Payload::memory).
  virtual bool has_memory() const { return false; }

  /// Whether a segment that is not finite is refused: Payload::refused marks it, and its encoding is meaningless.
  /// Otherwise it decodes to numbers that are not finite.
  virtual bool refuses() const { return true; }

  /// The costs of encoding and decoding, which the step model assumes and 'bench kernels' measures.
  virtual netmodel::CodecPasses passes() const = 0;

  /// Guaranteed delta: ||x - C[x]||^2 <= (1 - delta) ||x||^2 for every segment of n elements; empty if nothing is
  /// guaranteed.
  virtual std::optional<double> delta(Index) const { return std::nullopt; }
  /// Guaranteed omega of an unbiased codec: E||x - C[x]||^2 <= omega ||x||^2 for every segment of n elements.
  virtual std::optional<double> omega(Index) const { return std::nullopt; }

  /// Makes the codec use the recorded random numbers, if there are any for it, to encode the workers' rows of this
  /// table from now on. Returns whether there are any. Throws ConfigError if they do not fit.
  virtual bool take_recorded(const device::Device&, const SegmentTable&, Index, const RecordedDraws&) { return false; }

  /// Whether an all-reduce of payloads leaves the tensor dense.
  virtual bool keeps_dense(const Tensor&) const { return false; }
  /// Clipping bound of a codec with a shared_max, as a multiple of the segment's root mean square; 0: no clipping.
  virtual double clip() const { return 0; }

  /// Sets the share of the elements that a sparse codec sends from now on, in (0, 1]. Payloads that were made earlier
  /// no longer fit.
  virtual void set_density(double) {}
  virtual bool has_density() const { return false; }

  /// Makes an empty payload for `rows` rows of a table; constant parts (padding) are filled in.
  Payload make_payload(const device::Device& device, const SegmentTable& table, Index rows) const;

  /// Encodes into rows [range] of the payload. The error of row range.first + r is at errors.data + r * errors.stride;
  /// the new error y - decode(encode(y)) is left there. If traits().shared_max is set, payload.shared_max must already
  /// be filled.
  virtual void encode(const device::Device& device, const SegmentTable& table, Range range, const EncodeInput& input,
                      const RngKey& key, ErrorRows errors, Payload& payload) const = 0;

  /// Where a mean is added: to errors (at Segment::state) or to parameters (at Segment::parameter).
  enum class Target { state, parameters };

  /// Adds to target[i] the mean over the payload's rows, summed in double, for the table's active elements
  /// (Target::state) or its real ones (Target::parameters).
  virtual void add_mean(const device::Device& device, const SegmentTable& table, const Payload& payload, Target where,
                        float* target) const = 0;

  /// Does a server's work: adds the mean of the arrived rows to its errors (up.add_mean), then encodes. A codec that
  /// can do both in one pass overrides this; the result must have the same bits.
  virtual void serve(const device::Device& device, const SegmentTable& chunks, const Codec& up, const Payload& arrived,
                     const RngKey& key, ErrorRows errors, Payload& payload) const;

  /// Writes the decoded real elements of one row in parameter order.
  virtual void decode(const device::Device& device, const SegmentTable& table, const Payload& payload, Index row,
                      float* parameters) const = 0;
};

/// Adds the input to the errors, so that `errors` holds y, or zeros in refused segments. Sets `refused` as described in
/// Payload. Returns the sums of y^2 over the active elements, [rows][segments]. For codecs whose encoding does not do
/// this itself.
device::Buffer<double> add_error_feedback(const device::Device& device, const SegmentTable& table, Index rows,
                                          const EncodeInput& input, ErrorRows errors, Index* refused);

/// Returns the costs of a codec that adds the input to the error (add_error_feedback) and reads the sum `reads` times.
/// A last pass reads the sum again and writes the new error: all of it or, in a sparse codec, only the few elements
/// that are sent.
netmodel::CodecPasses passes_of(double reads, const Traits& traits);

/// Returns the part of CodecPasses::encode that error feedback takes: adding the error to the input and storing the new
/// error. Without error feedback, each pass reads the input.
double feedback_passes(const Traits& traits);

class Channel;

/// A row of the table of codecs: a name, its documentation, and how to make the codec and its channel.
struct CodecEntry {
  std::string_view name;
  std::string_view doc;
  std::unique_ptr<Codec> (*make)(const CodecConfig&);
  /// Makes the channel that sums the payloads of a linear codec. Shard, layout and tensors must outlive it. Null for
  /// other codecs.
  std::unique_ptr<Channel> (*linear_channel)(const device::Shard& shard, const ExchangeLayout& layout,
                                             std::span<const Tensor> tensors, const ExchangeConfig& config) = nullptr;
};

const std::vector<CodecEntry>& codecs();

/// Returns the row of a codec. Throws ConfigError with the nearest names if the name is unknown.
const CodecEntry& codec_entry(std::string_view name);

/// Adds a row to the table, for codecs outside this library. Call it before the table is used. Returns true.
bool add_codec(const CodecEntry& entry);

/// Makes a codec. Throws what codec_entry throws, and ConfigError for a parameter out of range.
std::unique_ptr<Codec> make_codec(const CodecConfig& config);

}  // namespace onebit::compress
