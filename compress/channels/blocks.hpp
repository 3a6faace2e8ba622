#pragma once
// Rectangles of payloads that travel between devices.

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

/// Scales [first, first + count) of the given rows of a payload.
inline device::Block scale_block(const Payload& payload, Range rows, Index first, Index count) {
  return block(payload.scales, rows.first * payload.scale_count + first, rows.count, count, payload.scale_count);
}

}  // namespace onebit::compress
