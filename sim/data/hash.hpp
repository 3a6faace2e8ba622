#pragma once
// The hash of a data set.

#include <cstddef>
#include <cstdint>
#include <string>

namespace onebit::sim {

/// FNV-1a with 64 bits, for checking whether two runs read the same data. It does not protect against forged data.
class Fnv1a {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) state_ = (state_ ^ byte[i]) * 0x100000001b3U;
  }

  std::uint64_t value() const { return state_; }
  /// Returns the hash as 16 lower-case hex digits.
  std::string hex() const {
    std::string text(16, '0');
    for (std::size_t i = 0; i < 16; ++i) text[i] = "0123456789abcdef"[(state_ >> (60 - 4 * i)) & 15U];
    return text;
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

}  // namespace onebit::sim
