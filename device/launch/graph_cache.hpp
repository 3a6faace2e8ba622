#pragma once
// Work that launches the same again and again: a GPU records its launches once, and from then on starts them together.
// That takes one call of the host instead of hundreds, and less time between kernels.

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"

namespace onebit::device {

/// Recordings by key. A key holds everything that the launches depend on, so that equal keys launch the same: numbers,
/// and the addresses of memory from outside. Memory that the work itself keeps must not move; otherwise call forget().
template <class Key>
class GraphCache {
 public:
  /// Runs what `work` launches on the device. A new key calls `work` as usual, the second call with it records the
  /// launches, and later ones only start the recording without calling `work`. What `work` launches may neither wait
  /// for the device nor copy from or to host memory, and buffers that it allocates must be released before it returns.
  /// Keys beyond the first kMost are never recorded.
  void run(const Device& device, const Key& key, const std::function<void()>& work) {
    if (!device.records()) return work();
    auto entry = std::ranges::find(entries_, key, &Entry::key);
    if (entry == entries_.end()) {
      work();  // it may load code or allocate memory, which cannot be recorded
      if (entries_.size() < kMost) entries_.push_back({key, nullptr});
      return;
    }
    if (entry->recording && !entry->recording->valid()) entry->recording = nullptr;
    if (!entry->recording) entry->recording = device.record(work);
    entry->recording->start();
  }

  void forget() { entries_.clear(); }

  static constexpr std::size_t kMost = 64;

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Recording> recording;
  };
  std::vector<Entry> entries_;
};

}  // namespace onebit::device
