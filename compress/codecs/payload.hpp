#pragma once
// Encoded rows in device memory: the bytes that would be on the wire.

#include <vector>

#include "device/memory/buffer.hpp"

namespace onebit::compress {

/// `rows` encoded rows. A row consists of a body, segment after segment, and separate scales (float), which go to every
/// server when the body is cut into the servers' chunks. A body uses as many bytes here as on the wire.
struct Payload {
  Index rows = 0;
  Index body_bytes = 0;   ///< bytes reserved for the body of a row
  Index scale_count = 0;  ///< number of scales per row
  Index scale_bytes = 0;  ///< bytes of a row's scales on the wire; 0 if they are not sent
  device::Buffer<std::uint8_t> body;
  device::Buffer<float> scales;
  std::vector<Index> offsets;          ///< [segments + 1]: offsets of the segments' bodies in a row, and the end
  device::Buffer<Index> offset_table;  ///< `offsets` in device memory
  device::Buffer<Index> sizes;   ///< [rows][segments]: bytes that each body occupies; empty: all that are reserved
  device::Buffer<float> memory;  ///< [rows][segments]: what a codec keeps from step to step; initially 0
  /// [rows][segments]: 0 for an accepted segment; for a refused one, -1 - p, where p is the position, within the
  /// errors, of the segment's first non-finite element. Empty if nothing is ever refused.
  device::Buffer<Index> refused;
  device::Buffer<float> shared_max;  ///< [segments]: largest |y| over all workers, for codecs that need it

  Index segments() const { return static_cast<Index>(offsets.size()) - 1; }

  /// Makes the contents unusable, on a debug device.
  void poison() {
    body.poison();
    scales.poison();
  }

  /// Bytes reserved for one row: body and scales.
  Index wire_bytes() const { return body_bytes + scale_bytes; }
};

}  // namespace onebit::compress
