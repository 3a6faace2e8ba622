#pragma once
// How a parameter vector is cut for a compressed exchange among n workers: what shares one scale, how it is padded,
// which chunk each server takes, and where signs and errors lie.

#include <numeric>
#include <span>
#include <vector>

#include "device/launch/chunks.hpp"
#include "device/launch/lanes.hpp"
#include "device/math/sign_bits.hpp"
#include "device/memory/buffer.hpp"

namespace onebit::compress {

/// What is exchanged in one call and shares one worker scale: each tensor, or all tensors as one vector.
enum class Granularity { tensor, fused };

/// What the padding that makes a vector divisible among servers is. `wire_only`: it exists on the wire alone; scales
/// count real elements. `as_data`: padded elements are elements like others, with errors of their own and a share in
/// the scale, as DeepSpeed's released code treats them.
enum class Padding { wire_only, as_data };

/// Padding quantum for n workers: n * lcm(n, 8), so that every server's chunk is whole bytes (DeepSpeed's `divider`).
inline Index padding_quantum(Index workers) {
  return workers * std::lcm(workers, Index{8});
}

/// A run of elements that shares one scale.
struct Segment {
  Index parameter = 0;  ///< offset of its first element in the parameter vector
  Index real = 0;       ///< elements that are parameters
  Index state = 0;      ///< offset of its errors in an error vector
  Index active = 0;     ///< elements that carry an error and count in the scale: real, or with the padding
  Index padded = 0;     ///< elements on the wire, a multiple of 8
  Index bytes = 0;      ///< offset of its bits in a payload with one bit an element
};

/// One side's cut: a worker's (a segment per exchanged vector) or the servers' (a segment per vector and server chunk).
class SegmentTable {
 public:
  SegmentTable(const device::Device& device, std::vector<Segment> segments);

  Index count() const { return static_cast<Index>(segments_.size()); }
  std::span<const Segment> segments() const { return segments_; }
  /// The same table in device memory.
  const Segment* device_segments() const { return table_.data(); }
  const Index* device_byte_offsets() const { return byte_offsets_.data(); }

  const device::Chunks& real() const { return real_; }
  const device::Chunks& active() const { return active_; }
  /// Padded elements that are active, counted from the end of the real ones.
  const device::Chunks& padding() const { return padding_; }
  /// The segments of so many rows, an item each.
  device::ItemSizes item_sizes(Index rows = 1) const {
    return {.count = rows * sizes_.count, .longest = sizes_.longest, .total = rows * sizes_.total};
  }
  /// Elements of the errors of a row, up to this side's last.
  Index state_end() const { return state_end_; }

 private:
  std::vector<Segment> segments_;
  device::Buffer<Segment> table_;
  device::Buffer<Index> byte_offsets_;
  device::Chunks real_, active_, padding_;
  device::ItemSizes sizes_;  ///< of one row
  Index state_end_ = 0;
};

/// The cut of a whole exchange.
class ExchangeLayout {
 public:
  /// tensor_sizes: elements per tensor in the order of the parameter vector. Empty tensors are left out of the
  /// exchange, and those marked in left_out [tensors], where that is not empty; neighbours that are not are fused into
  /// one vector.
  ExchangeLayout(const device::Device& device, std::span<const Index> tensor_sizes, Index workers,
                 Granularity granularity, Padding padding, std::span<const char> left_out = {});

  Index workers() const { return workers_; }
  /// Elements of the parameter vector, those of left-out tensors too.
  Index parameters() const { return parameters_; }
  /// Elements of one error vector (a worker's, or all servers' together).
  Index state_size() const { return state_size_; }
  const SegmentTable& worker() const { return worker_; }
  /// Segment s * workers + j is server j's chunk of the worker's segment s.
  const SegmentTable& server() const { return server_; }
  /// Index in the model's tensor table of a worker's segment; -1 for a fused vector.
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

/// Where tensors of these sizes lie in a row of the servers' payload with one bit an element and a scale a segment. The
/// layout is of the same tensors, none left out.
std::vector<device::SignPlace> sign_places(const ExchangeLayout& layout, std::span<const Index> tensor_sizes);

/// What the servers of one device take of an exchange, with errors and bytes packed tightly. The parts of all servers
/// together are the layout's own sides.
class ServerPart {
 public:
  /// servers: those of the device, at least one.
  ServerPart(const device::Device& device, const ExchangeLayout& layout, Range servers);

  /// A segment per exchanged vector: the chunks of these servers, which lie side by side in it.
  const SegmentTable& vectors() const { return vectors_; }
  /// A segment per exchanged vector and server.
  const SegmentTable& chunks() const { return chunks_; }
  /// Elements of these servers' errors.
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
