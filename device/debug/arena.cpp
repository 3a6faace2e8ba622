#include "device/debug/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

namespace onebit::device::debug {
namespace {

int empty_file() {
  static const int file = ::memfd_create("onebit-guard", MFD_CLOEXEC);
  return file;
}

void* pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

/// Maps addresses to the empty file. Their offset in it is the address, so that the system merges adjacent mappings.
bool guard(std::uintptr_t start, std::size_t length, int protection) {
  const int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
  return ::mmap(pointer(start), length, protection, flags, empty_file(), static_cast<off_t>(start)) != MAP_FAILED;
}

}  // namespace

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

Key::Key() : number_(::pkey_alloc(0, PKEY_DISABLE_ACCESS)) {}

Key::~Key() {
  if (exists()) ::pkey_free(number_);
}

bool Key::lock(std::uintptr_t start, std::size_t length) const noexcept {
  return ::pkey_mprotect(pointer(start), length, PROT_READ | PROT_WRITE, number_) == 0;
}

bool Key::allow(bool is_allowed) const noexcept {
  const bool was_allowed = ::pkey_get(number_) == 0;
  ::pkey_set(number_, is_allowed ? 0 : PKEY_DISABLE_ACCESS);
  return was_allowed;
}

Arena::Arena(std::size_t length, bool is_open, const Key& key) : key_(key), length_(length), is_open_(is_open) {
  void* const start = ::mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  start_ = reinterpret_cast<std::uintptr_t>(start);
  if (guard(start_, length, protection()) && (!key_.exists() || key_.lock(start_, length))) return;
  ::munmap(start, length);
  throw std::bad_alloc();
}

Arena::~Arena() {
  ::munmap(pointer(start_), length_);
}

std::uintptr_t Arena::take(std::size_t length) {
  const std::uintptr_t start = start_ + used_;
  if (length > 0) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (::mmap(pointer(start), length, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) throw std::bad_alloc();
    std::memset(pointer(start), 0xFF, length);
    if (key_.exists() && !key_.lock(start, length)) throw std::bad_alloc();
    if (!is_open_) ::mprotect(pointer(start), length, PROT_NONE);
  }
  used_ += length + page_size();
  ++allocations_;
  return start;
}

void Arena::release(std::uintptr_t start, std::size_t length) noexcept {
  // Where the system refuses another mapping, the memory stays as it is.
  if (length > 0 && guard(start, length, protection()) && key_.exists()) key_.lock(start, length);
  if (--allocations_ == 0) used_ = 0;
}

void Arena::open(bool is_open) noexcept {
  is_open_ = is_open;
  ::mprotect(pointer(start_), length_, protection());
}

int Arena::protection() const {
  return is_open_ ? PROT_READ | PROT_WRITE : PROT_NONE;
}

}  // namespace onebit::device::debug
