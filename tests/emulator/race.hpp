#pragma once
// Tells the race detector (TSan) which code runs concurrently on an emulated GPU, and what orders it. Only for files
// that are compiled without its instrumentation, so that it sees the accesses of kernels but not those of the emulator.
// Does nothing unless the build defines ONEBIT_EMULATOR_TSAN.

#if ONEBIT_EMULATOR_TSAN
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace onebit::emulator::race {

#if ONEBIT_EMULATOR_TSAN

inline constexpr unsigned kHosts = 3;  ///< threads of this process that share the blocks of a grid

/// What the detector sees as a thread.
class Context {
 public:
  Context() : fiber_(__tsan_create_fiber(0)), owned_(true) {}
  ~Context() {
    if (owned_) __tsan_destroy_fiber(fiber_);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The current context of this thread of the process.
  static Context current() { return Context(__tsan_get_current_fiber()); }
  /// Enters the context, which orders nothing.
  void enter() const { __tsan_switch_to_fiber(fiber_, __tsan_switch_to_fiber_no_sync); }

 private:
  explicit Context(void* fiber) : fiber_(fiber) {}
  void* fiber_;
  bool owned_ = false;
};

/// What happened before the release of a point happens before what follows its later acquisition.
inline void release(void* point) {
  __tsan_release(point);
}
inline void acquire(void* point) {
  __tsan_acquire(point);
}

/// Writes of this thread that the detector ignores.
struct Ignored {
  Ignored() { AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
  ~Ignored() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__); }
  Ignored(const Ignored&) = delete;
  Ignored& operator=(const Ignored&) = delete;
};

#else

inline constexpr unsigned kHosts = 1;
struct Context {
  static Context current() { return {}; }
  void enter() const {}
};
inline void release(void*) {}
inline void acquire(void*) {}
struct Ignored {};

#endif

}  // namespace onebit::emulator::race
