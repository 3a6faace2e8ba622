#pragma once
// A temporary folder that is removed, with all its contents, at the end of its scope.

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "device/base/error.hpp"

namespace onebit {

class TemporaryFolder {
 public:
  /// Makes a folder among the system's temporary files; its name begins with `name`. Throws IoError.
  explicit TemporaryFolder(const std::string& name) {
    std::error_code error;
    path_ = (std::filesystem::temp_directory_path(error) / (name + "-XXXXXX")).string();
    if (error || mkdtemp(path_.data()) == nullptr)
      throw IoError("cannot make a temporary folder", path_, "set TMPDIR to a folder that you can write to");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace onebit
