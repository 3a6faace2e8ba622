#pragma once
// The addresses of guarded memory.

#include <cstddef>
#include <cstdint>

namespace onebit::device::debug {

/// A range of addresses, of which allocations take pages in ascending order. All other addresses are mapped to an empty
/// file, so that an access raises SIGBUS whatever the protection of the page. One system call therefore opens or closes
/// all allocations, and takes no guard pages away. The calls need a lock around them.
class Arena {
 public:
  /// Reserves addresses, in bytes of whole pages. Throws std::bad_alloc.
  Arena(std::size_t length, bool is_open);
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

  std::uintptr_t start_ = 0;
  std::size_t length_, used_ = 0, allocations_ = 0;
  bool is_open_;
};

/// Bytes of a page.
std::size_t page_size();

}  // namespace onebit::device::debug
