#pragma once
// Reads whole files that a user names, and replaces output files.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::files {

/// Size of the largest text that is read whole (a configuration, a table), in bytes.
constexpr Index kMostText = Index{16} << 20;

/// A regular file, open for reading. Other kinds of files are not opened: opening a FIFO would wait for a writer, and
/// reading a device might never end.
class RegularFile {
 public:
  /// Opens a file. `what` names the kind of file in messages ("config file"), and `hint` says what the user should
  /// name. Throws ConfigError if there is no such file, if it is not a regular one, or if it cannot be opened.
  RegularFile(std::string path, std::string what, std::string hint = "");
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  /// Size in bytes when the file was opened.
  Index size() const { return size_; }

  /// The first `count` bytes, or all of a shorter file. Throws ConfigError if reading fails.
  std::vector<std::uint8_t> head(Index count) const;

  /// All bytes up to the current end of the file. Throws ConfigError if there are more than `limit`, if reading
  /// fails, or if the file has become shorter.
  std::vector<std::uint8_t> all(Index limit) const;

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  Index fill(std::span<std::uint8_t> bytes, Index offset) const;

  std::string path_, what_, hint_;
  int descriptor_ = -1;
  Index size_ = 0;
};

/// The text of a regular file of at most `limit` bytes. Throws what RegularFile throws.
std::string read_text(const std::string& path, const std::string& what, const std::string& hint = "",
                      Index limit = kMostText);

/// Path of the file that an output to `path` is written to: the target if `path` is a link, otherwise `path` itself.
/// Throws ConfigError if something exists there that is not a regular file, such as a folder, a device or a FIFO, and
/// for links to a process's open files, such as /dev/stdout.
std::string output_place(const std::string& path);

/// Throws ConfigError as output_place() does, and if the file exists and `overwrite` is false.
void check_output(const std::string& path, bool overwrite, const std::string& hint = "--overwrite replaces it");

/// Replaces `path` with the complete file `part`: waits until `part` is on the disk; calls verify(), which reads `part`
/// and throws if its contents are wrong; renames `part` to `path`; and waits until the new name is on the disk. If
/// anything up to the renaming throws, `part` is removed and `path` is left as it was. If only the last wait fails,
/// `path` has already been replaced. kind: what the file is, for the message. Throws IoError.
void publish(const std::string& part, const std::string& path, const std::string& kind,
             const std::function<void()>& verify);

/// Replaces an output atomically with the file that write(temporary path) makes and checks. The file is written under
/// another name next to the output, then published. Throws IoError, and ConfigError as output_place() does.
void replace(const std::string& path, const std::function<void(const std::string&)>& write);

/// Replaces an output atomically with a file that contains this text.
void write(const std::string& path, std::string_view text);

/// Creates an empty file and opens it for writing. Anything that already has its name, such as a file that a killed
/// program has left or a link that somebody has placed there, is removed first; a link is never followed. Returns the
/// descriptor; -1 with errno set if that fails.
int create_new(const std::string& path);

/// Writes a file that create_new() creates, and reads it back once it is on the disk. Throws IoError.
void write_new(const std::string& path, std::string_view text);

/// A name for a file next to `path` that no other program uses: PATH.HOST-PROCESS.part. Other users can predict it, so
/// the file has to be created by create_new(), or by sim's create_part() if it is an HDF5 file.
std::string temporary_name(const std::string& path);
std::string host_name();

/// Waits until a file, open or closed, is on the disk. kind: what the file is, for the message. Throws IoError.
void synchronize_path(const std::string& path, const std::string& kind);
/// Waits until the entries of a file's folder are on the disk. Throws IoError.
void synchronize_folder_of(const std::string& path);

}  // namespace onebit::files
