#pragma once
// Recorded launches, which are replayed together.

namespace onebit::device {

/// The recorded launches of some work: kernels, matrix products, fills, and allocations and releases of buffers.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Whether the recording can still be replayed. It becomes invalid when the device reallocates its workspace, whose
  /// address the recorded launches contain; the work must then be recorded again.
  virtual bool valid() const = 0;
  /// Replays all launches, after everything launched before. Throws DeviceError or std::bad_alloc.
  virtual void start() const = 0;
};

}  // namespace onebit::device
