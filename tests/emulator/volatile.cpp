// What the race detector calls for volatile accesses (-tsan-distinguish-volatile). In CUDA these are relaxed atomics,
// and so no races: a block that waits for others reads their count in this way. They order nothing; fences do.

#define ONEBIT_VOLATILE(size)                          \
  extern "C" void __tsan_volatile_read##size(void*);   \
  extern "C" void __tsan_volatile_write##size(void*);  \
  extern "C" void __tsan_volatile_read##size(void*) {} \
  extern "C" void __tsan_volatile_write##size(void*) {}

ONEBIT_VOLATILE(1)
ONEBIT_VOLATILE(2)
ONEBIT_VOLATILE(4)
ONEBIT_VOLATILE(8)
ONEBIT_VOLATILE(16)
