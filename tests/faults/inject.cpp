// A library for LD_PRELOAD that counts the system calls of a program and disturbs one of them, as a bad disk, a full
// disk, a signal or a kill would.
//   ONEBIT_FAULT=CALL:N:WHAT     the Nth call (counted from 1) of a kind is disturbed; unset: none
//     CALL  write, sync, rename, read, open, map or alloc
//     WHAT  the name of an error (EIO, ENOSPC, EINTR, EMFILE, ENOMEM, ...), which the call then returns;
//           short  the call writes or reads only half of its bytes
//           kill   the process is killed before the call
//           tear   the process is killed inside a write, at the first border of a page, as Linux does it
//           delay  the call happens after 50 ms
//   ONEBIT_FAULT_COUNTS=FILE     FILE holds the counts, one of 8 bytes for each kind of call in the order above; all
//                                processes that use FILE share them
//   ONEBIT_FAULT_UNDER=FOLDER    only files in this folder count (map: of any kind; alloc: all)

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace {

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free && sizeof(Count) == 8);

enum Call : std::size_t { kWrite, kSync, kRename, kRead, kOpen, kMap, kAlloc, kCalls };
constexpr std::array<std::string_view, kCalls> kNames = {"write", "sync", "rename", "read", "open", "map", "alloc"};
constexpr std::size_t kPage = 4096;

constexpr std::pair<std::string_view, int> kErrors[] = {
    {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EINTR", EINTR}, {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM},
    {"EDQUOT", EDQUOT}, {"EACCES", EACCES}, {"EROFS", EROFS}, {"EFBIG", EFBIG},   {"ESTALE", ESTALE}};

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// The fault that the environment asks for. Nothing here allocates memory: it may be asked for by malloc().
struct Fault {
  Call call = kCalls;
  std::uint64_t number = 0;
  char what[16] = "";
  char under[PATH_MAX] = "";
  Count own[kCalls] = {};
  Count* counts = own;

  Fault() {
    if (const char* folder = std::getenv("ONEBIT_FAULT_UNDER")) std::strncpy(under, folder, sizeof under - 1);
    if (const char* text = std::getenv("ONEBIT_FAULT")) parse(text);
    if (const char* path = std::getenv("ONEBIT_FAULT_COUNTS")) share(path);
  }

  void parse(const char* text) {
    char name[16] = "";
    unsigned long at = 0;
    if (std::sscanf(text, "%15[a-z]:%lu:%15s", name, &at, what) != 3) std::abort();
    call = static_cast<Call>(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
    if (call == kCalls) std::abort();
    number = at;
  }

  void share(const char* path) {
    const int file = static_cast<int>(::real<int(const char*, int, ...)>("open")(path, O_RDWR | O_CLOEXEC));
    if (file < 0) std::abort();
    void* place = ::real<void*(void*, size_t, int, int, int, off_t)>("mmap")(
        nullptr, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (place == MAP_FAILED) std::abort();
    counts = static_cast<Count*>(place);
  }

  /// Counts a call and says whether it is to be disturbed.
  bool hits(Call kind) { return ++counts[kind] == number && kind == call; }
  bool is(const char* text) const { return std::strcmp(what, text) == 0; }

  /// Disturbs a call before it begins. Returns whether the call fails, with errno set.
  bool fails() const {
    if (is("kill") || is("tear")) {
      kill(getpid(), SIGKILL);
      pause();
    }
    if (is("delay")) usleep(50'000);
    for (const auto& [name, number_of] : kErrors) {
      if (name == what) errno = number_of;
      if (name == what) return true;
    }
    return false;
  }
};

Fault& fault() {
  static Fault instance;
  return instance;
}

bool inside(const char* path) {
  const std::size_t length = std::strlen(fault().under);
  return length == 0 || (std::strncmp(path, fault().under, length) == 0 && (path[length] == '/' || path[length] == 0));
}

/// Whether a path names something in the folder that counts.
bool counts(const char* path) {
  if (path == nullptr) return false;
  if (path[0] == '/') return inside(path);
  char folder[PATH_MAX];
  return getcwd(folder, sizeof folder) != nullptr && inside(folder);
}

/// Whether a descriptor is a regular file in the folder that counts.
bool counts(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  char link[64], target[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, target, sizeof target - 1);
  if (length < 0) return false;
  target[length] = 0;
  return inside(target);
}

/// Writes the bytes before the first border of a page and ends the process.
template <class Write>
[[noreturn]] void tear(const Write& write, std::size_t bytes, off_t place) {
  const std::size_t first = kPage - static_cast<std::size_t>(place) % kPage;
  if (first < bytes) write(first);
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/// A call that transfers bytes: transfer(count) does it for the first `count` of them.
template <class Transfer>
ssize_t transferred(Call kind, int file, std::size_t bytes, off_t place, const Transfer& transfer) {
  if (!counts(file) || !fault().hits(kind)) return transfer(bytes);
  if (kind == kWrite && fault().is("tear")) tear(transfer, bytes, place < 0 ? lseek(file, 0, SEEK_CUR) : place);
  if (fault().fails()) return -1;
  return transfer(fault().is("short") && bytes > 1 ? bytes / 2 : bytes);
}

template <class Function, class What, class... Values>
auto disturbed(Call kind, const What& subject, const char* name,
               decltype(std::declval<Function*>()(Values{}...)) failure, Values... values) {
  auto* const next = real<Function>(name);
  if (counts(subject) && fault().hits(kind) && fault().fails()) return failure;
  return next(values...);
}

mode_t mode_of(int flags, va_list list) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : mode_t{0};
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* data, size_t bytes) {
  static auto* const next = real<ssize_t(int, const void*, size_t)>("write");
  return transferred(kWrite, file, bytes, -1, [&](std::size_t count) { return next(file, data, count); });
}
ssize_t pwrite(int file, const void* data, size_t bytes, off_t place) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return transferred(kWrite, file, bytes, place, [&](std::size_t count) { return next(file, data, count, place); });
}
ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t place) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return transferred(kWrite, file, bytes, place, [&](std::size_t count) { return next(file, data, count, place); });
}
ssize_t writev(int file, const iovec* pieces, int count) {
  static auto* const next = real<ssize_t(int, const iovec*, int)>("writev");
  return transferred(kWrite, file, 1, -1, [&](std::size_t) { return next(file, pieces, count); });
}
ssize_t pwritev(int file, const iovec* pieces, int count, off_t place) {
  static auto* const next = real<ssize_t(int, const iovec*, int, off_t)>("pwritev");
  return transferred(kWrite, file, 1, place, [&](std::size_t) { return next(file, pieces, count, place); });
}

ssize_t read(int file, void* data, size_t bytes) {
  static auto* const next = real<ssize_t(int, void*, size_t)>("read");
  return transferred(kRead, file, bytes, -1, [&](std::size_t count) { return next(file, data, count); });
}
ssize_t pread(int file, void* data, size_t bytes, off_t place) {
  static auto* const next = real<ssize_t(int, void*, size_t, off_t)>("pread");
  return transferred(kRead, file, bytes, place, [&](std::size_t count) { return next(file, data, count, place); });
}
ssize_t pread64(int file, void* data, size_t bytes, off64_t place) {
  static auto* const next = real<ssize_t(int, void*, size_t, off64_t)>("pread64");
  return transferred(kRead, file, bytes, place, [&](std::size_t count) { return next(file, data, count, place); });
}
ssize_t readv(int file, const iovec* pieces, int count) {
  static auto* const next = real<ssize_t(int, const iovec*, int)>("readv");
  return transferred(kRead, file, 1, -1, [&](std::size_t) { return next(file, pieces, count); });
}

int fsync(int file) {
  return disturbed<int(int)>(kSync, file, "fsync", -1, file);
}
int fdatasync(int file) {
  return disturbed<int(int)>(kSync, file, "fdatasync", -1, file);
}
int ftruncate(int file, off_t bytes) noexcept {
  return disturbed<int(int, off_t)>(kSync, file, "ftruncate", -1, file, bytes);
}
int ftruncate64(int file, off64_t bytes) noexcept {
  return disturbed<int(int, off64_t)>(kSync, file, "ftruncate64", -1, file, bytes);
}

int rename(const char* from, const char* to) noexcept {
  return disturbed<int(const char*, const char*)>(kRename, to, "rename", -1, from, to);
}
int link(const char* from, const char* to) noexcept {
  return disturbed<int(const char*, const char*)>(kRename, to, "link", -1, from, to);
}
int unlink(const char* path) noexcept {
  return disturbed<int(const char*)>(kRename, path, "unlink", -1, path);
}
int remove(const char* path) noexcept {
  return disturbed<int(const char*)>(kRename, path, "remove", -1, path);
}
int mkdir(const char* path, mode_t mode) noexcept {
  return disturbed<int(const char*, mode_t)>(kRename, path, "mkdir", -1, path, mode);
}

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return disturbed<int(const char*, int, mode_t)>(kOpen, path, "open", -1, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return disturbed<int(const char*, int, mode_t)>(kOpen, path, "open64", -1, path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) {
  return disturbed<FILE*(const char*, const char*)>(kOpen, path, "fopen", nullptr, path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return disturbed<FILE*(const char*, const char*)>(kOpen, path, "fopen64", nullptr, path, mode);
}

void* mmap(void* wish, size_t bytes, int protection, int flags, int file, off_t place) noexcept {
  static auto* const next = real<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (file >= 0 && counts(file) && fault().hits(kMap) && fault().fails()) return MAP_FAILED;
  return next(wish, bytes, protection, flags, file, place);
}

// The allocator's own names: dlsym() itself may allocate, so its result cannot be waited for here.
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static bool refuses() {
  return fault().hits(kAlloc) && fault().fails();
}
void* malloc(size_t bytes) noexcept {
  return refuses() ? nullptr : __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) noexcept {
  return refuses() ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) noexcept {
  return refuses() ? nullptr : __libc_realloc(old, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return refuses() ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** place, size_t alignment, size_t bytes) noexcept {
  void* const memory = refuses() ? nullptr : __libc_memalign(alignment, bytes);
  if (memory != nullptr) *place = memory;
  return memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"
