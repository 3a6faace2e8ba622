#include "sim/data/files/bytes.hpp"

#include <utility>

#include "device/base/error.hpp"

namespace onebit::sim {

Bytes::Bytes(std::string name, std::span<const std::uint8_t> view, std::shared_ptr<const void> owner)
    : name_(std::move(name)), view_(view), owner_(std::move(owner)) {}

Bytes::Bytes(std::string name, std::vector<std::uint8_t> bytes) : name_(std::move(name)) {
  const auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  view_ = *owner;
  owner_ = owner;
}

void Bytes::refuse(const std::string& reason, Index offset, const std::string& hint) const {
  throw ConfigError(reason, name_ + ", offset " + std::to_string(offset), hint);
}

void Bytes::need(Index size) const {
  if (size > this->size()) {
    refuse("truncated: " + std::to_string(this->size()) + " of " + std::to_string(size) + " bytes", this->size());
  }
}

void Bytes::expect_end(Index size, const std::string& promise) const {
  if (size < this->size()) refuse("trailing bytes: " + promise + " promises " + std::to_string(size), size);
}

std::uint64_t Bytes::big_endian(Index offset, Index width) const {
  need(offset + width);
  std::uint64_t value = 0;
  for (Index i = 0; i < width; ++i) value = value << 8 | view_[static_cast<std::size_t>(offset + i)];
  return value;
}

std::uint64_t Bytes::little_endian(Index offset, Index width) const {
  need(offset + width);
  std::uint64_t value = 0;
  for (Index i = width; i-- > 0;) value = value << 8 | view_[static_cast<std::size_t>(offset + i)];
  return value;
}

}  // namespace onebit::sim
