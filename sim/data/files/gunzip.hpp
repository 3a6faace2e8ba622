#pragma once
// Unpacks gzip in memory.

#include <functional>

#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// Whether the bytes begin like a gzip file.
bool is_gzip(std::span<const std::uint8_t> bytes);

/// Takes the next bytes of a file; they are valid until the call returns.
using TakePiece = std::function<void(std::span<const std::uint8_t>)>;

/// Unpacks one or more consecutive gzip members in pieces of at most 64 KiB, and gives each to `take`. Throws
/// ConfigError if the data are damaged, if anything follows the last member, or if more than `limit` bytes are
/// unpacked.
void gunzip_pieces(const Bytes& packed, Index limit, const TakePiece& take);

/// Returns at most the first `enough` bytes of the unpacked data and ignores the rest. Unpacks twice: first to find the
/// size, then into memory that is allocated once. Throws what gunzip_pieces throws, and ConfigError if the bytes do not
/// fit in the available memory.
std::vector<std::uint8_t> gunzip(const Bytes& packed, Index limit, Index enough);

/// Unpacks at most the first 8 KiB, given the beginning of a gzip file. Throws ConfigError for damage.
std::vector<std::uint8_t> gunzip_head(const Bytes& packed);

}  // namespace onebit::sim
