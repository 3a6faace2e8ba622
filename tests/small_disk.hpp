#pragma once
// A file system that fills up quickly.

#include <cstdlib>
#include <string>

#include "tests/catch.hpp"
#include "tests/folder.hpp"

namespace onebit::tests {

/// A tmpfs, if the user may mount one; size as mount takes it: 520k, 1m.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& size) {
    mounted_ =
        std::system(("mount -t tmpfs -o size=" + size + " none '" + (folder_ / "") + "' 2>/dev/null").c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_ && std::system(("umount '" + (folder_ / "") + "'").c_str()) != 0) WARN("cannot unmount");
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  const Folder& folder() const { return folder_; }
  bool resize(const std::string& size) const {
    return std::system(("mount -o remount,size=" + size + " '" + (folder_ / "") + "'").c_str()) == 0;
  }

 private:
  Folder folder_;
  bool mounted_ = false;
};

}  // namespace onebit::tests
