#pragma once
// Rectangles of payloads that travel between devices.

#include <span>
#include <vector>

#include "compress/codecs/codec.hpp"
#include "compress/codecs/payload.hpp"
#include "device/comm/communicator.hpp"

namespace onebit::compress {

/// A rectangle of a buffer; the arguments count elements.
template <class T>
device::Block block(const device::Buffer<T>& buffer, Index first, Index rows, Index width, Index pitch) {
  constexpr auto size = static_cast<Index>(sizeof(T));
  return {const_cast<T*>(buffer.data()) + first, rows, width * size, pitch * size};
}

/// Bytes [begin, end) of the given rows of a payload's body.
inline device::Block body_block(const Payload& payload, Range rows, Index begin, Index end) {
  return block(payload.body, rows.first * payload.body_bytes + begin, rows.count, end - begin, payload.body_bytes);
}

/// The `count` sizes that start at `first`; empty if `sizes` is empty.
inline std::span<const Index> part_of(std::span<const Index> sizes, Index first, Index count) {
  if (sizes.empty()) return sizes;
  return sizes.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

/// Appends the bodies of the given segments of the given rows: the first sizes[i] bytes of segment i of the range, or
/// all reserved bytes if there are no sizes.
inline void append_bodies(device::Blocks& blocks, const Payload& payload, Range rows, Range segments,
                          std::span<const Index> sizes) {
  const auto offset = [&](Index segment) { return payload.offsets[static_cast<std::size_t>(segment)]; };
  if (sizes.empty()) {
    blocks.push_back(body_block(payload, rows, offset(segments.first), offset(segments.end())));
    return;
  }
  for (Index i = 0; i < segments.count; ++i) {
    const Index begin = offset(segments.first + i), size = sizes[static_cast<std::size_t>(i)];
    if (size > 0) blocks.push_back(body_block(payload, rows, begin, begin + size));
  }
}

/// Whether only the bytes in use are sent: true if the size of the codec's payloads varies and they travel over a
/// network.
inline bool sends_in_use_only(const device::Shard& shard, const Codec& codec) {
  return codec.variable_size() && shard.communicator->is_network();
}

/// Returns, by rank and segment, the largest number of bytes that a segment's body takes up in any of the rank's rows,
/// for a payload whose size varies. Collective.
std::vector<Index> largest_sizes(const device::Shard& shard, const Payload& payload);

/// Scales [first, first + count) of the given rows of a payload.
inline device::Block scale_block(const Payload& payload, Range rows, Index first, Index count) {
  return block(payload.scales, rows.first * payload.scale_count + first, rows.count, count, payload.scale_count);
}

}  // namespace onebit::compress
