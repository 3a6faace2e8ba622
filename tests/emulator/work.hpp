#pragma once
// The work of emulated GPUs: streams, events, recordings.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/emulator/pool.hpp"

namespace onebit::emulator {

/// Recorded work and the memory allocated in it. The memory is the same in every run, and nothing else uses it.
struct Graph {
  struct Memory {
    void* data = nullptr;
    std::size_t bytes = 0;
    bool in_use = true;  ///< whether it is allocated at this point of the recording
  };
  int gpu = 0;
  std::thread::id recorder = std::this_thread::get_id();
  bool valid = true;  ///< false after a call that cannot be recorded
  std::vector<std::function<void()>> work;
  std::vector<Memory> memory;
};

struct RunnableGraph {
  std::shared_ptr<const Graph> graph;
};

/// A stream and its work that has not been done yet. Streams that wait for each other may belong to different threads,
/// and any of these threads may do the work of any of the streams.
class Stream {
 public:
  explicit Stream(int gpu) : gpu_(gpu), self_(this) {}
  /// Releases the stream, which is deleted once no event refers to it.
  void destroy() { const std::shared_ptr<Stream> last = std::move(self_); }
  std::shared_ptr<Stream> share() const { return self_; }
  int gpu() const { return gpu_; }

  /// Appends a piece of work and returns its place in the stream. keeps_busy: false for work that only frees memory,
  /// records the time or waits for an event.
  std::uint64_t add(std::function<void()> run, bool keeps_busy) {
    const std::lock_guard lock(mutex_);
    work_.push_back({std::move(run), keeps_busy});
    return added_++;
  }
  /// Number of pieces of work appended so far.
  std::uint64_t added() {
    const std::lock_guard lock(mutex_);
    return added_;
  }

  /// The recording in progress; null if the stream does not record.
  std::unique_ptr<Graph> graph;

  /// Returns when the first `count` pieces of work are done, or all pieces if there are fewer. The result says whether
  /// this left a busy stream without work.
  bool finish(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    count = std::min(count, added_);
    const bool was_busy = busy();
    const device::debug::Access access(done_ < count ? &pool_of(gpu_).pages : nullptr);
    while (done_ < count) {
      if (running_) {
        progress_.wait(lock);
      } else {
        do_first(lock);
      }
    }
    return was_busy && !busy();
  }

 private:
  struct Work {
    std::function<void()> run;
    bool keeps_busy;
  };

  bool busy() const {
    return std::any_of(work_.begin(), work_.end(), [](const Work& one) { return one.keeps_busy; });
  }
  void do_first(std::unique_lock<std::mutex>& lock) {
    const Work first = std::move(work_.front());
    work_.pop_front();
    running_ = true;
    lock.unlock();
    first.run();
    lock.lock();
    running_ = false;
    ++done_;
    progress_.notify_all();
  }

  int gpu_;
  std::shared_ptr<Stream> self_;
  std::mutex mutex_;
  std::condition_variable progress_;
  std::deque<Work> work_;
  std::uint64_t added_ = 0, done_ = 0;
  bool running_ = false;  ///< whether a thread is doing the next piece
};

using Time = std::chrono::steady_clock::time_point;

/// The stream in which the event was last recorded, and its place there.
struct Event {
  int gpu = 0;
  std::shared_ptr<Stream> stream;
  std::uint64_t place = 0;
  std::shared_ptr<Time> time = std::make_shared<Time>();
};

}  // namespace onebit::emulator
