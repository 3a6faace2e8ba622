#pragma once
// Launches that are started again in one piece.

namespace onebit::device {

/// What some work has launched: kernels, products, fills, and the coming and going of buffers.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Whether what the device itself has lent to the launches is still where it was. If not, they have to be recorded
  /// again.
  virtual bool valid() const = 0;
  /// Starts it all again, after what the device has been given before. Throws DeviceError, std::bad_alloc.
  virtual void start() const = 0;
};

}  // namespace onebit::device
