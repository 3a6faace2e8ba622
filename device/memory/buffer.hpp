#pragma once
// Buffers that own device memory. Host code never reads or writes data() directly: it copies.

#include <span>
#include <type_traits>
#include <vector>

#include "device/base/types.hpp"
#include "device/device.hpp"

namespace onebit::device {

/// `size` elements of T on a device, undefined at first (on a debug device all bytes are 0xFF: NaN for float and
/// double, -1 or the largest value for integers). Can be moved, not copied. Throws std::bad_alloc.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(const Device& device, Index size)
      : memory_(device.shared_memory()), data_(static_cast<T*>(memory_->allocate(bytes(size)))), size_(size) {}
  /// A buffer filled with zeros.
  static Buffer zeros(const Device& device, Index size) {
    Buffer buffer(device, size);
    buffer.zero();
    return buffer;
  }
  /// A buffer with a copy of host memory.
  static Buffer copy_of(const Device& device, std::span<const T> source) {
    Buffer buffer(device, static_cast<Index>(source.size()));
    buffer.upload(source);
    return buffer;
  }
  /// A buffer of `size` elements, filled as by refill().
  template <class Make>
  static Buffer made(const Device& device, Index size, const Make& make) {
    Buffer buffer(device, size);
    buffer.refill(device, make);
    return buffer;
  }
  ~Buffer() {
    if (data_ != nullptr) memory_->release(data_);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  Index size() const { return size_; }
  /// The memory that the elements are in; null for an empty buffer that was never allocated.
  Memory* memory() const { return memory_.get(); }

  void zero() {
    if (size_ > 0) memory_->fill(data_, 0, bytes(size_));
  }

  /// Sets all bytes to 0xFF on a debug device (NaN for float and double, -1 or the largest value for integers), so that
  /// a read before the next write is detected.
  void poison() {
    if (size_ > 0) memory_->poison(data_, bytes(size_));
  }

  /// Copies host memory to elements [offset, offset + source.size()).
  void upload(std::span<const T> source, Index offset = 0) {
    if (!source.empty()) memory_->upload(data_ + offset, source.data(), bytes(static_cast<Index>(source.size())));
  }

  /// Replaces all elements with the numbers that make() returns in host memory. `device` must be the buffer's own
  /// device. A planning device counts the copy but does not call make(), so that a plan's memory does not grow with the
  /// model.
  template <class Make>
  void refill(const Device& device, const Make& make) {
    if (device.plans()) {
      memory_->upload(data_, nullptr, bytes(size_));
    } else {
      upload(make());
    }
  }

  /// Copies elements [offset, offset + target.size()) to host memory.
  void download(std::span<T> target, Index offset = 0) const {
    if (!target.empty()) memory_->download(target.data(), data_ + offset, bytes(static_cast<Index>(target.size())));
  }

  /// Starts a copy of elements [0, count) to the host. The copy includes the results of all kernels launched before it.
  Future<T> fetch(Index count) const {
    return count == 0 ? Future<T>() : Future<T>(memory_->fetch(data_, bytes(count)), count);
  }
  Future<T> fetch() const { return fetch(size_); }
  /// Fetches a buffer whose size grows with the model. `device` must be the buffer's own device. A planning device
  /// counts the copy but does not make it, and the result is empty.
  Future<T> fetch_large(const Device& device) const {
    if (!device.plans()) return fetch();
    memory_->upload(data_, nullptr, bytes(size_));
    return {};
  }

  std::vector<T> to_host() const {
    std::vector<T> host(static_cast<std::size_t>(size_));
    download(host);
    return host;
  }

 private:
  static constexpr Index bytes(Index size) { return size * static_cast<Index>(sizeof(T)); }
  void swap(Buffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  std::shared_ptr<Memory> memory_;
  T* data_ = nullptr;
  Index size_ = 0;
};

}  // namespace onebit::device
