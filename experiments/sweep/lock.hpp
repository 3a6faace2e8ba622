#pragma once
// One sweep at a time on a folder, or on a shard of it: a file with host, process and a heartbeat, made by hard link,
// which works on NFS.

#include <chrono>
#include <string>

namespace onebit::experiments {

class FolderLock {
 public:
  /// `shard` as "i/n"; each has a lock of its own. A lock is taken over where its process is gone: on this host at
  /// once, of another host where it has not been touched for kSilence. Throws ConfigError where another sweep is at
  /// work.
  FolderLock(const std::string& folder, const std::string& shard);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// Touches the file when it is time. Throws ConfigError where another program has taken the lock over.
  void beat();

  static constexpr std::chrono::seconds kHeartbeat{10};
  static constexpr std::chrono::seconds kSilence{300};

 private:
  std::string path_;
  std::string text_;  ///< of the file: host, process, its start
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace onebit::experiments
