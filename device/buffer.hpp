#pragma once
// Owning device memory. Host code never reads or writes data() itself: it copies.

#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "device/device.hpp"
#include "device/types.hpp"

namespace onebit::device {

/// `size` elements of T on a device, zero at first. Moves, does not copy. Throws std::bad_alloc.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(const Device&, Index size) : data_(allocate(size)), size_(size) { zero(); }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  Index size() const { return size_; }

  void zero() { std::fill_n(data_.get(), size_, T{}); }

  /// Copies host memory to elements [offset, offset + source.size()).
  void upload(std::span<const T> source, Index offset = 0) {
    std::copy(source.begin(), source.end(), data_.get() + offset);
  }

  /// Copies elements [offset, offset + target.size()) to host memory.
  void download(std::span<T> target, Index offset = 0) const {
    std::copy_n(data_.get() + offset, target.size(), target.begin());
  }

  std::vector<T> to_host() const {
    std::vector<T> host(static_cast<std::size_t>(size_));
    download(host);
    return host;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Release {
    void operator()(T* data) const { ::operator delete(data, kAlignment); }
  };
  static T* allocate(Index size) {
    return static_cast<T*>(::operator new(static_cast<std::size_t>(size) * sizeof(T), kAlignment));
  }

  std::unique_ptr<T[], Release> data_;
  Index size_ = 0;
};

}  // namespace onebit::device
