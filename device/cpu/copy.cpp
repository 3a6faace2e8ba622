#include "device/memory/copy.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace onebit::device::cpu {
namespace {

constexpr Index kPiece = 1 << 16;

/// Copies with stores that bypass the caches, so that the memory to be overwritten is not read first. Buffers are
/// aligned to 64 bytes.
void copy_piece(std::byte* target, const std::byte* source, Index bytes) {
  Index done = 0;
#if defined(__SSE2__)
  for (; done + 64 <= bytes; done += 64) {
    for (Index part = done; part < done + 64; part += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + part),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(source + part)));
    }
  }
#endif
  std::memcpy(target + done, source + done, static_cast<std::size_t>(bytes - done));
}

}  // namespace

void copy_large(const Queue& queue, void* target, const void* source, Index bytes) {
  parallel(queue, ceil_div(bytes, kPiece), [&](Index unit) {
    const Index begin = unit * kPiece;
    copy_piece(static_cast<std::byte*>(target) + begin, static_cast<const std::byte*>(source) + begin,
               std::min(kPiece, bytes - begin));
  });
}

Index cache_bytes(const Queue&) {
  constexpr Index usual = 32 << 20;
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const Index bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : usual;
#else
  return usual;
#endif
}

}  // namespace onebit::device::cpu
