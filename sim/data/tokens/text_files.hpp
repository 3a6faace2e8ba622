#pragma once
// Finds and reads the files of a corpus of text.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "sim/data/files/input_file.hpp"

namespace onebit::sim {

/// Reads each file once, even if it is given under several names. provenance() lists how each file was used.
class TextReader {
 public:
  /// Takes a file or a piece of one. ends: whether this is the end of the file.
  using Take = std::function<void(const Bytes& text, bool ends)>;

  /// Makes a reader. in_pieces: reads files in small pieces, each valid only until `take` returns; if false, passes
  /// each file whole, and `take` may keep it.
  TextReader(Switch mapping, bool in_pieces) : mapping_(mapping), in_pieces_(in_pieces) {}

  /// Reads the text of all paths, files or folders, in reading order (see make_text). Throws ConfigError if a path is
  /// missing, nothing can be read, or all texts read so far exceed 4 GiB.
  void read(const std::vector<std::string>& paths, const Take& take);

  const std::vector<std::string>& provenance() const { return provenance_; }

 private:
  void read_file(const std::string& path, const std::string& where, const Take& take);
  Index give(const InputFile& file, const Take& take) const;

  Switch mapping_;
  bool in_pieces_;
  Index total_ = 0;
  std::set<std::string> seen_;
  std::vector<std::string> provenance_;
};

/// Returns the paths of Debian's licence texts or, without them, of the program's own sources if they still exist.
/// Throws ConfigError if there are none.
std::vector<std::string> default_texts();

}  // namespace onebit::sim
