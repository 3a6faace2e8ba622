#pragma once
// The bytes of a file, in memory or mapped, that readers of data parse, and the errors that they throw.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::sim {

/// Constant bytes, and the name of the file that they came from. Copies share the bytes. Reading is checked: every
/// failure is a ConfigError that names file, offset (after unpacking) and reason.
class Bytes {
 public:
  /// Refers to the bytes of `view`, which must be valid as long as `owner` lives.
  Bytes(std::string name, std::span<const std::uint8_t> view, std::shared_ptr<const void> owner);
  Bytes(std::string name, std::vector<std::uint8_t> bytes);

  const std::string& name() const { return name_; }
  std::span<const std::uint8_t> view() const { return view_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(view_.data()), view_.size()}; }
  const std::uint8_t* data() const { return view_.data(); }
  Index size() const { return static_cast<Index>(view_.size()); }

  [[noreturn]] void refuse(const std::string& reason, Index offset, const std::string& hint = "") const;

  /// Refuses a file of fewer than `size` bytes as truncated.
  void need(Index size) const;

  /// Refuses a file of more than `size` bytes. promise: the part of the file that states this size; the message names
  /// it.
  void expect_end(Index size, const std::string& promise = "the header") const;

  /// Return the unsigned number in `width` <= 8 bytes at `offset`.
  std::uint64_t big_endian(Index offset, Index width) const;
  std::uint64_t little_endian(Index offset, Index width) const;

 private:
  std::string name_;
  std::span<const std::uint8_t> view_;
  std::shared_ptr<const void> owner_;
};

}  // namespace onebit::sim
