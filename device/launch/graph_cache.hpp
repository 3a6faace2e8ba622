#pragma once
// Work that launches the same again and again: on a GPU its launches are recorded, and from then on started together.
// That is one call of the host in place of hundreds, and less time between kernels.

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"

namespace onebit::device {

/// Recordings by key. A key says all that launches depend on, so that equal keys launch the same: numbers and the
/// addresses of memory that comes from outside. Memory that the work keeps stays where it is, or forget() is called.
template <class Key>
class GraphCache {
 public:
  /// Has the device do what `work` launches. The first time with a key that is as usual, the second time it is
  /// recorded, then `work` is not called again. What it launches may neither wait for the device nor copy from or to
  /// host memory, and buffers that it makes go before it returns. Keys beyond the first kMost are done as usual.
  void run(const Device& device, const Key& key, const std::function<void()>& work) {
    if (!device.records()) return work();
    auto entry = std::ranges::find(entries_, key, &Entry::key);
    if (entry == entries_.end()) {
      work();  // it may have to load code or find memory, which cannot be recorded
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
