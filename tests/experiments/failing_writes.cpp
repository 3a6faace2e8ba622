// A library for LD_PRELOAD that counts writes to regular files and lets one of them fail with EIO, as on a bad disk.
// ONEBIT_FAIL_WRITE=N: the Nth write fails, counted from 1; unset: none. ONEBIT_WRITE_COUNT=FILE: the first 8 bytes of
// FILE hold the count, which all processes that use FILE share.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace {

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free && sizeof(Count) == 8);

Count& shared_count() {
  static Count own{0};
  const char* path = std::getenv("ONEBIT_WRITE_COUNT");
  if (path == nullptr) return own;
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(Count)) != 0) std::abort();
  void* place = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (place == MAP_FAILED) std::abort();
  return *static_cast<Count*>(place);
}

/// Whether this write has to fail.
bool fails(int file) {
  static Count& count = shared_count();
  static const char* chosen = std::getenv("ONEBIT_FAIL_WRITE");
  static const std::uint64_t victim = chosen == nullptr ? 0 : std::strtoull(chosen, nullptr, 10);
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (++count != victim) return false;
  errno = EIO;
  return true;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* data, size_t bytes) {
  static auto* const next = real<ssize_t(int, const void*, size_t)>("write");
  return fails(file) ? -1 : next(file, data, bytes);
}

ssize_t pwrite(int file, const void* data, size_t bytes, off_t place) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return fails(file) ? -1 : next(file, data, bytes, place);
}

ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t place) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return fails(file) ? -1 : next(file, data, bytes, place);
}

ssize_t writev(int file, const iovec* pieces, int count) {
  static auto* const next = real<ssize_t(int, const iovec*, int)>("writev");
  return fails(file) ? -1 : next(file, pieces, count);
}

ssize_t pwritev(int file, const iovec* pieces, int count, off_t place) {
  static auto* const next = real<ssize_t(int, const iovec*, int, off_t)>("pwritev");
  return fails(file) ? -1 : next(file, pieces, count, place);
}

}  // extern "C"
