#pragma once
// The one way in which data files come into memory.

#include "device/base/files.hpp"
#include "sim/data/files/bytes.hpp"
#include "sim/data/data.hpp"

namespace onebit::sim {

/// A regular file, open for reading.
class InputFile {
 public:
  /// Throws ConfigError where there is none, or it cannot be opened. `hint` says what the user should name.
  InputFile(const std::string& path, const std::string& hint) : file_(path, "data", hint) {}

  const std::string& path() const { return file_.path(); }
  Index size() const { return file_.size(); }
  bool packed() const;

  /// A NUL among the first 8 KiB, or among what 8 KiB of a packed file hold. Throws ConfigError where these are
  /// damaged.
  bool binary() const;

  /// All that is in the file, unpacked where it is packed by gzip, which its first bytes say. A plain file is mapped
  /// read-only with mapping `yes`, and with `automatic` from 64 MiB on; a mapped file must not become shorter while it
  /// is used. Throws ConfigError for more than `limit` bytes, a damaged packed file, a packed one with `yes`, and where
  /// the system refuses to read; IoError where it refuses to map.
  Bytes load(Switch mapping, Index limit) const;

 private:
  std::vector<std::uint8_t> head() const;
  Bytes map() const;

  files::RegularFile file_;
};

}  // namespace onebit::sim
