#pragma once
// Finds and reads the files of a corpus of text.

#include <set>
#include <string>
#include <vector>

#include "sim/data/files/input_file.hpp"

namespace onebit::sim {

/// Reads each file once, even if it is given under several names. provenance() says how every file was used.
class TextReader {
 public:
  explicit TextReader(Switch mapping) : mapping_(mapping) {}

  /// Reads the text of all paths, files or folders, in reading order (see make_text). Throws ConfigError if a path is
  /// missing, nothing can be read, or all texts read so far exceed 4 GiB.
  std::vector<Bytes> read(const std::vector<std::string>& paths);

  const std::vector<std::string>& provenance() const { return provenance_; }

 private:
  void read_file(const std::string& path, const std::string& where, std::vector<Bytes>& texts);

  Switch mapping_;
  Index total_ = 0;
  std::set<std::string> seen_;
  std::vector<std::string> provenance_;
};

/// Returns the paths of Debian's licence texts or, without them, of the program's own sources if they still exist.
/// Throws ConfigError if there are none.
std::vector<std::string> default_texts();

}  // namespace onebit::sim
