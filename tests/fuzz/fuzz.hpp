#pragma once
// What the harnesses share. Each of them passes bytes in memory to one reader, which must either refuse them with a
// ConfigError or return a valid result. Anything else is a finding: another exception, a trap, a report of a sanitizer,
// too much time or memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/base/error.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::fuzz {

/// Stops with a trap unless the condition holds.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

/// The input of a run. Settings are taken from its beginning.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  /// Takes the first byte of the rest; 0 if there is none.
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }

  /// Returns the rest as a file. It is a copy, so that the sanitizer notices reads beyond its end.
  sim::Bytes file() const { return {"FILE", {rest_.data(), rest_.data() + rest_.size()}}; }

  std::span<const std::uint8_t> rest() const { return rest_; }

 private:
  std::span<const std::uint8_t> rest_;
};

/// Passes an input to a reader.
using Harness = void (*)(Input);

/// Adds a reader to those that the program can be asked for. Returns true.
bool add_reader(const char* name, Harness harness);

}  // namespace onebit::fuzz

/// Defines the harness of a reader: `input` is an onebit::fuzz::Input, the body follows.
#define ONEBIT_FUZZ(reader, input)                                                                    \
  static void fuzz_##reader(onebit::fuzz::Input input);                                               \
  [[maybe_unused]] static const bool has_##reader = onebit::fuzz::add_reader(#reader, fuzz_##reader); \
  static void fuzz_##reader(onebit::fuzz::Input input)
