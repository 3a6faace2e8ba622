#pragma once
// Whether this build contains a sanitizer, which takes memory and threads of its own.

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ONEBIT_SANITIZED 1
#endif
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#endif
#endif

namespace onebit::tests {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(ONEBIT_SANITIZED)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Returns freed memory to the system. AddressSanitizer keeps it resident for a while, and measurements would count it.
inline void release_freed_memory() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  __sanitizer_purge_allocator();
#endif
#endif
}

}  // namespace onebit::tests
