#pragma once
// What the harnesses share. Each hands bytes in memory to one reader, which either refuses them by ConfigError or
// returns what holds what it promises. Anything else is a finding: another exception, a trap, a sanitizer's report, too
// much time or memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/base/error.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::fuzz {

/// A promise that must hold.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

/// The input of a run, from which settings can be taken off.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  /// The first byte of what is left, 0 where nothing is.
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }

  /// All that is left, as a file. A copy: the sanitizer sees the end of it.
  sim::Bytes file() const { return {"FILE", {rest_.data(), rest_.data() + rest_.size()}}; }

  std::span<const std::uint8_t> rest() const { return rest_; }

 private:
  std::span<const std::uint8_t> rest_;
};

template <class Reader>
int run(const std::uint8_t* data, std::size_t size, Reader read) {
  try {
    read(Input(data, size));
  } catch (const ConfigError& error) {
    require(std::string(error.what()).find('\n') == std::string::npos);
  }
  return 0;
}

}  // namespace onebit::fuzz

/// Defines the harness: `input` is an onebit::fuzz::Input, the body follows.
#define ONEBIT_FUZZ(input)                                                       \
  static void read_input(onebit::fuzz::Input input);                             \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) { \
    return onebit::fuzz::run(data, size, read_input);                            \
  }                                                                              \
  static void read_input(onebit::fuzz::Input input)
