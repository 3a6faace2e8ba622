#pragma once
// The only way in which data files are read into memory.

#include "device/base/files.hpp"
#include "sim/data/data.hpp"
#include "sim/data/files/bytes.hpp"
#include "sim/data/files/gunzip.hpp"

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

  /// Whether the contents that opening() returns contain a NUL byte. Throws ConfigError if a packed file is damaged
  /// there.
  bool binary() const;

  /// Returns the contents of the file, unpacked if its first bytes are those of gzip. A plain file is mapped read-only
  /// if mapping is `yes`, or if it is `automatic` and the file has at least 64 MiB. A mapped file must not become
  /// shorter while it is used. Throws ConfigError if the contents exceed `limit` bytes, if those of a packed file do
  /// not fit in the available memory, if a packed file is damaged, if mapping is `yes` for a packed file, or if reading
  /// fails; throws IoError if mapping fails. enough: keeps only this many bytes of a packed file; 0: all.
  Bytes load(Switch mapping, Index limit, Index enough = 0) const;

  /// Gives the contents of the file to `take`, unpacked and in pieces, so that they need not all be in memory at once.
  /// Throws what load throws.
  void read(Switch mapping, Index limit, const TakePiece& take) const;

  /// Returns the first 8 KiB of the unpacked contents, perhaps less if the file is packed. Throws ConfigError if a
  /// packed file is damaged there.
  Bytes opening() const;

 private:
  std::vector<std::uint8_t> head() const;
  Bytes packed_bytes(Switch mapping, Index limit) const;
  Bytes map() const;

  files::RegularFile file_;
};

}  // namespace onebit::sim
