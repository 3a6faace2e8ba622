#pragma once
// Unpacks gzip in memory.

#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// Whether the bytes begin like a gzip file.
bool is_gzip(std::span<const std::uint8_t> bytes);

/// Unpacks one or more consecutive gzip members. Memory is allocated as data arrives. Throws ConfigError for damage,
/// for anything after the last member, and for more than `limit` bytes unpacked.
std::vector<std::uint8_t> gunzip(const Bytes& packed, Index limit);

/// Unpacks at most the first 8 KiB, given the beginning of a gzip file. Throws ConfigError for damage.
std::vector<std::uint8_t> gunzip_head(const Bytes& packed);

}  // namespace onebit::sim
