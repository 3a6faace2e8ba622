#pragma once
// The memory of the debug device: host memory that only kernels and copies may access, so that a missing transfer fails
// on a machine without a GPU. Modelled on mfem's debug backend.

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <typeinfo>

#include "device/debug/arena.hpp"
#include "device/memory/memory.hpp"

// The padding between a kernel's members holds leftovers of the stack, such as old pointers. It can be told apart from
// the members only if the compiler can clear it (gcc 11 and later).
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define ONEBIT_CLEAR_PADDING 1
#endif
#endif
#ifndef ONEBIT_CLEAR_PADDING
#define ONEBIT_CLEAR_PADDING 0
#endif

namespace onebit::device::debug {

/// Whether kernels' pointers are checked before each launch.
inline constexpr bool kChecksPointers = ONEBIT_CLEAR_PADDING != 0;

/// Gives every allocation its own pages, filled with 0xFF (NaN as a float). They are accessible only while a copy or
/// one of the device's kernels runs. Where the processor has a key left, only the threads that run it have access. The
/// allocation, rounded up to a multiple of 64 bytes, ends at a page that is always inaccessible. Host code that touches
/// device memory therefore raises SIGSEGV; whoever touches what lies past that end, or memory that was released, raises
/// SIGBUS (or SIGSEGV while no kernel runs).
class GuardedMemory final : public Memory {
 public:
  GuardedMemory() = default;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  void* allocate(Index bytes) override;
  void release(void* data) noexcept override;
  MemoryUse use() const override;
  Index available() const override;
  void fill(void* target, int byte, Index bytes) override;
  void upload(void* target, const void* source, Index bytes) override;
  void download(void* target, const void* source, Index bytes) override;
  void copy(const Block& target, Memory& from, const Block& source) override;
  void poison(void* target, Index bytes) override { fill(target, 0xFF, bytes); }

  /// Throws Error if an aligned word of the kernel object is the address of memory that is mapped in this process but
  /// does not belong to this device: a missing upload, or a pointer to another device's memory. Words with a value
  /// below 2^32 or below the program's own address are accepted, because floats and counts can have such values.
  void check(const void* kernel, std::size_t size, const std::type_info& type);

 private:
  friend class Access;

  /// Opens the memory to this thread if there is a key, otherwise to all. Returns whether this thread's key was open.
  bool open();
  /// Undoes an open(), which returned `was_open`. Without a key, the memory stays open until every open() is undone.
  void close(bool was_open) noexcept;

  struct Region {
    Arena* arena = nullptr;
    std::uintptr_t pages = 0;  ///< start of its pages
    std::size_t length = 0;    ///< their bytes
    std::uintptr_t end() const { return pages + length; }
  };
  Arena& arena_for(std::size_t length);
  template <class Copy>
  void run(const void* data, Index bytes, const Copy& copy);
  static void protect(const Region& region, bool is_open);
  bool owns(std::uintptr_t address) const;

  const Key key_;
  mutable std::mutex mutex_;
  std::list<Arena> arenas_;                   ///< the last one gives addresses to allocations
  std::map<std::uintptr_t, Region> regions_;  ///< regions by the start of their allocation
  MemoryUse use_;                             ///< memory in use, counted in whole pages
  int users_ = 0;                             ///< how often the memory was opened, if there is no key
};

/// Lets this thread access a memory during this object's lifetime; null has no effect. Every thread of a kernel needs
/// one of its own.
class Access {
 public:
  explicit Access(GuardedMemory* memory) : memory_(memory), was_open_(memory != nullptr && memory->open()) {}
  ~Access() {
    if (memory_ != nullptr) memory_->close(was_open_);
  }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

 private:
  GuardedMemory* memory_;
  bool was_open_;
};

}  // namespace onebit::device::debug
