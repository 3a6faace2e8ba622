#include "sim/log/superblock.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include "device/base/error.hpp"
#include "device/base/files.hpp"

namespace onebit::sim {
namespace {

// Layout of versions 2 and 3 with 8-byte addresses (HDF5 file format specification, II.A).
constexpr std::array<unsigned char, 8> signature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t version_at = 8;
constexpr std::size_t address_bytes_at = 9;
constexpr std::size_t flags_at = 11;
constexpr std::size_t end_at = 28;
constexpr unsigned swmr_flag = 4;

using Bytes = std::array<unsigned char, 48>;

Bytes read_start(const std::string& path) {
  const files::RegularFile file(path, "log");
  const std::vector<std::uint8_t> head = file.head(static_cast<Index>(Bytes{}.size()));
  if (head.empty()) throw ConfigError("cannot read log: the file is empty", path, damaged_log_hint);
  Bytes bytes{};
  std::copy(head.begin(), head.end(), bytes.begin());
  return bytes;
}

std::uint64_t end_of_file(const Bytes& bytes) {
  std::uint64_t end = 0;
  for (std::size_t i = 8; i-- > 0;) end = end << 8 | bytes[end_at + i];
  return end;
}

}  // namespace

Superblock read_superblock(const std::string& path) {
  const Bytes bytes = read_start(path);
  if (!std::equal(signature.begin(), signature.end(), bytes.begin())) {
    throw ConfigError("cannot read log: not an HDF5 file", path, "a log is written by `onebit run`");
  }
  const bool has_flags = bytes[version_at] == 3 && bytes[address_bytes_at] == 8;
  if (!has_flags) return {};  // another tool has rewritten the file, so no run is writing it
  // Get the size of the file last: a file that is being written grows before its superblock records the growth.
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  const Superblock superblock{(bytes[flags_at] & swmr_flag) != 0,
                              std::max<std::uint64_t>(end_of_file(bytes), bytes.size()), error ? 0 : size};
  if (superblock.is_truncated() && !superblock.being_written) refuse_truncated(superblock, path);
  return superblock;
}

void refuse_truncated(const Superblock& superblock, const std::string& path) {
  throw ConfigError("cannot read log: truncated to " + std::to_string(superblock.size) + " of " +
                        std::to_string(superblock.end) + " bytes",
                    path, damaged_log_hint);
}

}  // namespace onebit::sim
