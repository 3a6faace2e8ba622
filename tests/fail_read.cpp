// For LD_PRELOAD: the read number ONEBIT_FAIL_READ_AT (1, 2, ...) of the files whose names end with ONEBIT_FAIL_READ
// fails with EIO, as on a disk that is about to die.

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

bool fails(int descriptor) {
  static std::atomic<int> reads{0};
  const char* name = std::getenv("ONEBIT_FAIL_READ");
  const char* at = std::getenv("ONEBIT_FAIL_READ_AT");
  if (name == nullptr || at == nullptr) return false;
  char link[64], target[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, target, sizeof target);
  if (length < 0 || !std::string(target, static_cast<std::size_t>(length)).ends_with(name)) return false;
  return ++reads == std::atoi(at);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <class Function, class... Values>
ssize_t call(const char* name, int descriptor, Values... values) {
  static auto* const real = next<Function>(name);
  if (!fails(descriptor)) return real(descriptor, values...);
  errno = EIO;
  return -1;
}

}  // namespace

extern "C" {

ssize_t read(int descriptor, void* bytes, size_t count) {
  return call<ssize_t(int, void*, size_t)>("read", descriptor, bytes, count);
}
ssize_t readv(int descriptor, const iovec* parts, int count) {
  return call<ssize_t(int, const iovec*, int)>("readv", descriptor, parts, count);
}
ssize_t pread(int descriptor, void* bytes, size_t count, off_t place) {
  return call<ssize_t(int, void*, size_t, off_t)>("pread", descriptor, bytes, count, place);
}
ssize_t pread64(int descriptor, void* bytes, size_t count, off64_t place) {
  return call<ssize_t(int, void*, size_t, off64_t)>("pread64", descriptor, bytes, count, place);
}
}
