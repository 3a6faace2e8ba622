#pragma once
// The only way in which data files are read into memory.

#include "device/base/files.hpp"
#include "sim/data/data.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// A regular file, open for reading.
class InputFile {
 public:
  /// Opens a file. hint: what the user should do, for the error message. Throws ConfigError if the file does not exist
  /// or cannot be opened.
  InputFile(const std::string& path, const std::string& hint) : file_(path, "data", hint) {}

  const std::string& path() const { return file_.path(); }
  Index size() const { return file_.size(); }
  bool packed() const;

  /// Whether the first 8 KiB of the file contain a NUL; of a packed file, what they unpack to. Throws ConfigError if a
  /// packed file is damaged there.
  bool binary() const;

  /// Returns the contents of the file, unpacked if its first bytes are those of gzip. A plain file is mapped read-only
  /// if mapping is `yes`, or if it is `automatic` and the file has at least 64 MiB. A mapped file must not become
  /// shorter while it is used. Throws ConfigError for more than `limit` bytes, a damaged packed file, a packed file
  /// with `yes`, and if the system refuses to read; IoError if it refuses to map.
  Bytes load(Switch mapping, Index limit) const;

 private:
  std::vector<std::uint8_t> head() const;
  Bytes map() const;

  files::RegularFile file_;
};

}  // namespace onebit::sim
