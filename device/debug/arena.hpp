#pragma once
// The addresses of guarded memory.

#include <cstddef>
#include <cstdint>

namespace onebit::device::debug {

/// A protection key of the processor (x86: PKU), if it has one left. Each thread has its own right to access the pages
/// that have the key, at first none, and changes it without a system call.
class Key {
 public:
  Key();
  ~Key();
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

  bool exists() const { return number_ >= 0; }
  /// Gives the key to pages, which become accessible to threads that may use it. Returns false if the system refuses.
  bool lock(std::uintptr_t start, std::size_t length) const noexcept;
  /// Allows this thread to access the pages, or forbids it. Returns whether that was allowed before.
  bool allow(bool is_allowed) const noexcept;

 private:
  int number_;
};

/// A range of addresses, of which allocations take pages in ascending order. All other addresses are mapped to an empty
/// file, so that an access raises SIGBUS whatever the protection of the page. All allocations therefore can be opened
/// or closed at once, by one system call or by a key, without a change to the guard pages. The calls need a lock around
/// them.
class Arena {
 public:
  /// Reserves addresses, in bytes of whole pages. key: must outlive the arena; if it exists, it decides about access,
  /// and the arena must be open. Throws std::bad_alloc.
  Arena(std::size_t length, bool is_open, const Key& key);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Bytes of addresses that can still be taken.
  std::size_t left() const { return length_ - used_; }
  bool is_empty() const { return allocations_ == 0; }

  /// Returns the start of new pages of memory, which are closed if the arena is. A page that belongs to no allocation
  /// follows them. length: bytes of whole pages; 0: only that page. Every byte is 0xFF. Throws std::bad_alloc.
  std::uintptr_t take(std::size_t length);
  /// Gives pages back. Their addresses are taken again only after all allocations have been given back.
  void release(std::uintptr_t start, std::size_t length) noexcept;

  /// Makes the memory of all allocations accessible, or inaccessible.
  void open(bool is_open) noexcept;

 private:
  int protection() const;

  const Key& key_;
  std::uintptr_t start_ = 0;
  std::size_t length_, used_ = 0, allocations_ = 0;
  bool is_open_;
};

/// Bytes of a page.
std::size_t page_size();

}  // namespace onebit::device::debug
