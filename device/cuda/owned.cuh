#pragma once
#include "device/cuda/check.hpp"

namespace onebit::device::cuda {

/// Owns a CUDA handle. Its GPU must be current when the handle is destroyed.
template <class Handle, auto destroy>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (handle_ != nullptr) ignore(destroy(handle_));
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  Handle get() const { return handle_; }
  Handle* out() { return &handle_; }

 private:
  Handle handle_ = nullptr;
};

}  // namespace onebit::device::cuda
