#pragma once
// Launches that are started again together.

namespace onebit::device {

/// The recorded launches of some work: kernels, matrix products, fills, and allocations and releases of buffers.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Whether the memory that the device itself has lent to the launches is still where it was. If not, they have to be
  /// recorded again.
  virtual bool valid() const = 0;
  /// Starts all launches again, after everything launched before. Throws DeviceError, std::bad_alloc.
  virtual void start() const = 0;
};

}  // namespace onebit::device
