#pragma once
// Records launch sequences that repeat, so that a GPU starts them with one call.

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"

namespace onebit::device {

/// Recordings of repeated work, by key. A key must contain everything that can change the launches: the numbers passed
/// to kernels and the addresses of the caller's buffers. Addresses of buffers that the work owns are not in the key:
/// call forget() when such a buffer is reallocated.
template <class Key>
class GraphCache {
 public:
  /// Runs what `work` launches on the device. The first call with a key calls `work` as usual, the second records the
  /// launches, and later calls only replay the recording. They call `work` again only if the recording is no longer
  /// valid. `work` may neither wait for the device nor copy from or to host memory, and it must release the buffers
  /// that it allocates before it returns. Only the first kMost keys get recordings.
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
