#pragma once
// A lock that admits one sweep at a time to a folder, or to a shard of it: a file with host, process and a heartbeat,
// made by a hard link, which works on NFS.

#include <chrono>
#include <string>

namespace onebit::experiments {

class FolderLock {
 public:
  /// Takes the lock of a shard, given as "i/n"; each shard has its own lock. A lock whose process is gone is taken
  /// over: immediately if the process ran on this host, otherwise after kSilence without a heartbeat. Throws
  /// ConfigError if another sweep is running.
  FolderLock(const std::string& folder, const std::string& shard);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// Touches the file when a heartbeat is due. Throws ConfigError if another program has taken over the lock.
  void beat();

  static constexpr std::chrono::seconds kHeartbeat{10};
  static constexpr std::chrono::seconds kSilence{300};

 private:
  std::string path_;
  std::string text_;  ///< text of the file: host, process, start time
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace onebit::experiments
