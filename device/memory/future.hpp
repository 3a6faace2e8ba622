#pragma once
// Values that a device copies to the host without making the host wait.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::device {

/// A copy from device memory to the host, which has already been started.
class AsyncCopy {
 public:
  virtual ~AsyncCopy() = default;
  /// Waits for the copy and returns its data, which remain valid as long as this object exists. Throws DeviceError.
  virtual const void* wait() const = 0;
};

/// Elements as they were when the copy was started. Reading them blocks until the copy is complete.
template <class T>
class Future {
 public:
  Future() = default;
  Future(std::shared_ptr<const AsyncCopy> arrival, Index size) : arrival_(std::move(arrival)), size_(size) {}

  Index size() const { return size_; }
  const T* begin() const { return size_ == 0 ? nullptr : static_cast<const T*>(arrival_->wait()); }
  const T* end() const { return begin() + size_; }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  operator std::vector<T>() const { return {begin(), end()}; }

 private:
  std::shared_ptr<const AsyncCopy> arrival_;
  Index size_ = 0;
};

/// A number that may not be known yet. Reading it blocks until the number is known.
class Number {
 public:
  Number(double known) : known_(known) {}
  explicit Number(std::function<double()> later) : later_(std::move(later)) {}

  operator double() const {
    if (later_) {
      known_ = later_();
      later_ = nullptr;
    }
    return known_;
  }

 private:
  mutable double known_ = 0;
  mutable std::function<double()> later_;
};

}  // namespace onebit::device
