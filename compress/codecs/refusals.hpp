#pragma once
// Vectors that are not finite, and so cannot be encoded. Kernels mark them; the host reads the marks later.

#include <optional>
#include <vector>

#include "compress/codecs/payload.hpp"

namespace onebit::compress {

/// The first non-finite element of a vector.
struct Refused {
  std::optional<Index> worker;  ///< empty if the vector does not belong to one worker
  Index state = 0;              ///< its place in the errors
};

/// The refused vectors of an exchange, on their way to the host.
class Refusals {
 public:
  void clear() { parts_.clear(); }

  /// Adds the marks of `rows` rows, [rows][segments]. worker: the worker of the first row, if rows belong to workers.
  void add(const device::Buffer<Index>& refused, Index rows, Index segments, std::optional<Index> worker = {});
  /// Adds the marks of a payload's first rows.
  void add(const Payload& payload, Index rows, std::optional<Index> worker = {}) {
    if (payload.refused.size() > 0) add(payload.refused, rows, payload.segments(), worker);
  }

  /// The first refused vector, if any. Waits for the device.
  std::optional<Refused> first() const;

 private:
  struct Part {
    device::Future<Index> refused;
    Index segments;
    std::optional<Index> worker;
  };
  std::vector<Part> parts_;
};

}  // namespace onebit::compress
