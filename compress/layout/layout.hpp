#pragma once
// How a parameter vector is cut for a compressed exchange among n workers: what shares one scale, how it is padded,
// which chunk each server takes, and where signs and errors are stored.

#include <numeric>
#include <span>
#include <vector>

#include "device/launch/chunks.hpp"
#include "device/launch/lanes.hpp"
#include "device/math/sign_bits.hpp"
#include "device/memory/buffer.hpp"

namespace onebit::compress {

/// What is exchanged as one vector, with one scale per worker: each tensor, or all tensors fused.
enum class Granularity { tensor, fused };

/// How the padding that makes a vector divisible among the servers is treated. `wire_only`: it exists only on the wire;
/// scales count real elements. `as_data`: padding elements are treated like all others; they have errors and count in
/// the scale, as in DeepSpeed's released code.
enum class Padding { wire_only, as_data };

/// Padding quantum for n workers: n times DeepSpeed's `divider`, lcm(n, 8). Vectors are padded to a multiple of it, so
/// that every server's chunk consists of whole bytes.
inline Index padding_quantum(Index workers) {
  return workers * std::lcm(workers, Index{8});
}

/// A run of elements that a codec encodes together.
struct Segment {
  Index parameter = 0;  ///< offset of its first element in the parameter vector
  Index real = 0;       ///< elements that are parameters
  Index state = 0;      ///< offset of its errors in an error vector
  Index active = 0;     ///< elements with an error that count in the scale: real ones, and padding if as_data
  Index padded = 0;     ///< elements on the wire, a multiple of 8
  Index bytes = 0;      ///< offset of its bits in a payload of one bit per element
};

/// The segments of a worker (one per exchanged vector) or of the servers (one per exchanged vector and server).
class SegmentTable {
 public:
  SegmentTable(const device::Device& device, std::vector<Segment> segments);

  Index count() const { return static_cast<Index>(segments_.size()); }
  std::span<const Segment> segments() const { return segments_; }
  /// The table in device memory.
  const Segment* device_segments() const { return table_.data(); }
  const Index* device_byte_offsets() const { return byte_offsets_.data(); }

  const device::Chunks& real() const { return real_; }
  const device::Chunks& active() const { return active_; }
  /// Number of active padding elements; they directly follow the real elements.
  const device::Chunks& padding() const { return padding_; }
  /// Sizes of the items of `rows` rows; each segment of a row is an item.
  device::ItemSizes item_sizes(Index rows = 1) const {
    return {.count = rows * sizes_.count, .longest = sizes_.longest, .total = rows * sizes_.total};
  }
  /// Number of elements in a row of errors up to and including the last one that belongs to this table.
  Index state_end() const { return state_end_; }

 private:
  std::vector<Segment> segments_;
  device::Buffer<Segment> table_;
  device::Buffer<Index> byte_offsets_;
  device::Chunks real_, active_, padding_;
  device::ItemSizes sizes_;  ///< sizes of the items of one row
  Index state_end_ = 0;
};

/// The segment tables of a whole exchange.
///
/// Example: one vector of 10 elements, n = 4 workers, Padding::wire_only. The padding quantum is 4 * lcm(4, 8) = 32, so
/// the vector has 32 elements on the wire, and each server's chunk has 32 / 4 = 8 of them, one byte of signs:
///
///   wire       xxxxxxxx xx...... ........ ........    x: a real element; .: padding
///   server     0        1        2        3
///   parameter  0        8        16       24          offset of the chunk's first element
///   real       8        2        0        0           10 in total
///   active     8        2        0        0           10 in total: the scale and the errors leave out the padding
///   padded     8        8        8        8           32 in total: 4 bytes of signs from each worker
///   bytes      0        1        2        3           offset of the chunk's signs
///
/// The worker's segment has real = active = 10 and padded = 32; an error vector has state_size() = 10 elements. With
/// Padding::as_data, active is 8 8 8 8, the worker's segment has active = 32, and state_size() is 32. The comment at
/// ServerMean shows who sends which of these bytes.
class ExchangeLayout {
 public:
  /// Makes the segment tables. tensor_sizes: elements per tensor, in the order of the parameter vector. Empty tensors
  /// and the tensors marked in left_out [tensors] (empty: none) are left out of the exchange. Granularity::fused fuses
  /// each run of tensors between left-out ones into one vector.
  ExchangeLayout(const device::Device& device, std::span<const Index> tensor_sizes, Index workers,
                 Granularity granularity, Padding padding, std::span<const char> left_out = {});

  Index workers() const { return workers_; }
  /// Number of elements in the parameter vector, including those of left-out tensors.
  Index parameters() const { return parameters_; }
  /// Number of elements in one error vector (one worker's, or all servers' together).
  Index state_size() const { return state_size_; }
  const SegmentTable& worker() const { return worker_; }
  /// The servers' table: segment s * workers + j is server j's chunk of the worker's segment s.
  const SegmentTable& server() const { return server_; }
  /// Index of a worker's segment in the model's tensor table; -1 for a fused vector.
  Index tensor(Index segment) const { return tensors_[static_cast<std::size_t>(segment)]; }

 private:
  struct Cut;
  ExchangeLayout(const device::Device& device, Cut cut, Index workers);
  static Cut cut(std::span<const Index> tensor_sizes, Index workers, Granularity granularity, Padding padding,
                 std::span<const char> left_out);

  Index workers_;
  Index parameters_;
  Index state_size_;
  std::vector<Index> tensors_;
  SegmentTable worker_;
  SegmentTable server_;
};

/// For each tensor, where its signs and scales are stored in the row that the servers send with a sign codec (one bit
/// per element, one scale per server's chunk). `layout` must have been made for the same tensors, with none left out.
std::vector<device::SignPlace> sign_places(const ExchangeLayout& layout, std::span<const Index> tensor_sizes);

/// The chunks of an exchange that belong to one device's servers. Their errors and bytes are stored without gaps.
/// Together, the parts of all devices cover the elements of the layout's own tables.
class ServerPart {
 public:
  /// Makes the part of one device. servers: the servers of the device, at least one.
  ServerPart(const device::Device& device, const ExchangeLayout& layout, Range servers);

  /// One segment per exchanged vector: these servers' chunks of it, which are contiguous.
  const SegmentTable& vectors() const { return vectors_; }
  /// One segment per exchanged vector and server.
  const SegmentTable& chunks() const { return chunks_; }
  /// Number of elements in these servers' errors.
  Index state_size() const { return state_size_; }

 private:
  struct Parts {
    std::vector<Segment> vectors, chunks;
    Index state_size = 0;
  };
  static Parts compact(const ExchangeLayout& layout, Range servers);
  ServerPart(const device::Device& device, Parts parts);

  SegmentTable vectors_;
  SegmentTable chunks_;
  Index state_size_;
};

}  // namespace onebit::compress
