#pragma once
// gzip, unpacked in memory.

#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// Whether the bytes begin as a gzip file does.
bool is_gzip(std::span<const std::uint8_t> bytes);

/// What one or more gzip members hold, one after the other. Memory is taken as data arrives. Throws ConfigError for
/// damage, for anything after the last member, and for more than `limit` bytes unpacked.
std::vector<std::uint8_t> gunzip(const Bytes& packed, Index limit);

/// The first bytes, at most 8 KiB, of what a beginning of a gzip file holds. Throws ConfigError for damage.
std::vector<std::uint8_t> gunzip_head(const Bytes& packed);

}  // namespace onebit::sim
