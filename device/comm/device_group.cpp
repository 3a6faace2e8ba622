#include "device/comm/device_group.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "device/base/error.hpp"
#include "device/comm/deferred.hpp"

namespace onebit::device {
namespace {

/// Thrown in a rank that waits for a rank that has failed or finished. It never leaves the group.
struct Abandoned {};

}  // namespace

/// The place where ranks exchange data: each rank shows what it has, waits for the others, takes what is meant for it,
/// and waits again.
class DeviceGroup::Rendezvous {
 public:
  explicit Rendezvous(Index ranks) : shown_(static_cast<std::size_t>(ranks)), taken_(shown_.size()) {}

  struct Posted {
    const Device* device = nullptr;
    const Event* ready = nullptr;  ///< event recorded after the work that fills the blocks
    std::span<const Blocks> blocks;
    std::span<const double> numbers;
  };

  void show(Index rank, const Posted& shown) {
    shown_[static_cast<std::size_t>(rank)] = shown;
    wait();
  }
  const Posted& of(Index rank) const { return shown_[static_cast<std::size_t>(rank)]; }

  /// Stores a rank's event, which was recorded after all of its copies. Called between show() and the next wait().
  void leave_event(Index rank, std::shared_ptr<const Event> event) {
    taken_[static_cast<std::size_t>(rank)] = std::move(event);
  }
  /// The event that a rank stored; valid from the wait() that follows leave_event() until the next show().
  const Event* event_of(Index rank) const { return taken_[static_cast<std::size_t>(rank)].get(); }

  /// Returns when every rank has arrived; throws Abandoned if one will never arrive.
  void wait() {
    std::unique_lock lock(mutex_);
    if (left_ > 0) abandoned_ = mismatch_ = true;
    if (++waiting_ == shown_.size()) {
      waiting_ = 0;
      ++round_;
      all_came_.notify_all();
    } else {
      const std::size_t round = round_;
      all_came_.wait(lock, [&] { return round_ != round || abandoned_; });
      if (round_ != round) return;
    }
    if (abandoned_) throw Abandoned{};
  }

  void abandon() {
    const std::scoped_lock lock(mutex_);
    abandoned_ = true;
    all_came_.notify_all();
  }

  /// Called when a rank has finished its work. Ranks that wait for it, now or later, are abandoned.
  void leave() {
    const std::scoped_lock lock(mutex_);
    ++left_;
    if (waiting_ == 0) return;
    abandoned_ = mismatch_ = true;
    all_came_.notify_all();
  }

  /// Resets the state; no rank may be waiting. Returns whether some rank made more exchanges than another.
  bool reset() {
    waiting_ = left_ = 0;
    abandoned_ = false;
    return std::exchange(mismatch_, false);
  }

 private:
  std::vector<Posted> shown_;
  std::vector<std::shared_ptr<const Event>> taken_;
  std::mutex mutex_;
  std::condition_variable all_came_;
  std::size_t waiting_ = 0;
  std::size_t left_ = 0;
  std::size_t round_ = 0;
  bool abandoned_ = false;
  bool mismatch_ = false;
};

/// Runs each rank in its own thread, except the first, which runs in the caller's thread.
class DeviceGroup::Threads {
 public:
  Threads(Index ranks, Rendezvous& rendezvous) : rendezvous_(rendezvous), errors_(static_cast<std::size_t>(ranks)) {
    for (Index rank = 1; rank < ranks; ++rank) threads_.emplace_back([this, rank] { serve(rank); });
  }
  ~Threads() {
    start(nullptr);
    for (std::thread& thread : threads_) thread.join();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void run(const std::function<void(Index)>& work) {
    start(&work);
    attempt(0, work);
    {
      std::unique_lock lock(mutex_);
      finished_.wait(lock, [&] { return running_ == 0; });
    }
    const bool mismatch = rendezvous_.reset();
    for (std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(std::exchange(error, nullptr));
    }
    if (mismatch) throw Error("devices do not take part in the same exchanges", "device group");
  }

 private:
  void start(const std::function<void(Index)>* work) {
    const std::scoped_lock lock(mutex_);
    std::fill(errors_.begin(), errors_.end(), nullptr);
    work_ = work;
    running_ = threads_.size();
    ++round_;
    started_.notify_all();
  }

  void attempt(Index rank, const std::function<void(Index)>& work) {
    try {
      work(rank);
      rendezvous_.leave();
    } catch (const Abandoned&) {
    } catch (...) {
      errors_[static_cast<std::size_t>(rank)] = std::current_exception();
      rendezvous_.abandon();
    }
  }

  void serve(Index rank) {
    for (std::size_t seen = 0;;) {
      const std::function<void(Index)>* work = nullptr;
      {
        std::unique_lock lock(mutex_);
        started_.wait(lock, [&] { return round_ != seen; });
        seen = round_;
        work = work_;
      }
      if (work == nullptr) return;
      attempt(rank, *work);
      const std::scoped_lock lock(mutex_);
      if (--running_ == 0) finished_.notify_all();
    }
  }

  Rendezvous& rendezvous_;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable started_, finished_;
  const std::function<void(Index)>* work_ = nullptr;
  std::size_t running_ = 0;
  std::size_t round_ = 0;
};

namespace {

/// A rank's communicator over the rendezvous: it shows its blocks and pulls those that the others show for it. The
/// devices wait for each other's events, but the host does not wait: a copy starts after the earlier work of the
/// source's device, and later work of any device starts after the copies of all devices.
template <class Rendezvous>
class GroupCommunicator final : public Communicator {
 public:
  GroupCommunicator(std::shared_ptr<Rendezvous> rendezvous, Index rank, Index size)
      : rendezvous_(std::move(rendezvous)), rank_(rank), size_(size) {}

  Index rank() const override { return rank_; }
  Index size() const override { return size_; }
  Index bytes_received() const override { return bytes_received_; }

  void all_to_all(const Device& device, std::span<const Blocks> to, std::span<const Blocks> from) override {
    const std::shared_ptr<const Event> ready = device.record_event();
    rendezvous_->show(rank_, {&device, ready.get(), to, {}});
    Deferred pulled, marked, behind;  // a rank that fails continues until the others have read what it shows
    pulled.guard([&] { pull_all(device, from); });
    marked.guard([&] { rendezvous_->leave_event(rank_, device.record_event()); });
    rendezvous_->wait();
    behind.guard([&] {
      for (Index peer = 0; peer < size_; ++peer) device.start_after(rendezvous_->event_of(peer));
    });
    for (const Deferred* part : {&pulled, &marked, &behind}) part->rethrow();
  }

  std::vector<double> all_gather(std::span<const double> own) override {
    rendezvous_->show(rank_, {nullptr, nullptr, {}, own});
    std::vector<double> all;
    for (Index peer = 0; peer < size_; ++peer) {
      const auto numbers = rendezvous_->of(peer).numbers;
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    rendezvous_->wait();
    return all;
  }

 private:
  void pull_all(const Device& device, std::span<const Blocks> from) {
    for (Index peer = 0; peer < size_; ++peer) {
      const auto& shown = rendezvous_->of(peer);
      device.start_after(shown.ready);
      pull(device, from[static_cast<std::size_t>(peer)], *shown.device, shown.blocks[static_cast<std::size_t>(rank_)],
           peer);
    }
  }

  void pull(const Device& device, const Blocks& targets, const Device& peer_device, const Blocks& sources, Index peer) {
    if (targets.size() != sources.size()) refuse(peer);
    for (std::size_t b = 0; b < targets.size(); ++b) {
      if (targets[b].rows != sources[b].rows || targets[b].width != sources[b].width) refuse(peer);
      if (targets[b].bytes() == 0) continue;
      device.memory().copy(targets[b], peer_device.memory(), sources[b]);
      if (peer != rank_) bytes_received_ += targets[b].bytes();
    }
  }

  [[noreturn]] void refuse(Index peer) const {
    throw Error("blocks sent and received differ in shape",
                "rank " + std::to_string(peer) + " to rank " + std::to_string(rank_));
  }

  std::shared_ptr<Rendezvous> rendezvous_;
  Index rank_;
  Index size_;
  Index bytes_received_ = 0;
};

}  // namespace

DeviceGroup::DeviceGroup(std::vector<Device> devices, Index workers, std::shared_ptr<ProcessGroup> processes)
    : processes_(std::move(processes)) {
  const auto ranks = static_cast<Index>(devices.size());
  if (processes_->size() > 1) {
    if (ranks > 1)
      throw ConfigError("with several processes, each can use only one device", "devices",
                        "start one process per device");
    shards_.push_back({devices.front(), shard_ranges(workers, processes_->size()), processes_->communicator()});
    return;
  }
  if (ranks == 1) {
    shards_.push_back(whole(devices.front(), workers));
    return;
  }
  const std::vector<Range> ranges = shard_ranges(workers, ranks);
  rendezvous_ = std::make_shared<Rendezvous>(ranks);
  for (Index rank = 0; rank < ranks; ++rank) {
    shards_.push_back({devices[static_cast<std::size_t>(rank)], ranges,
                       std::make_shared<GroupCommunicator<Rendezvous>>(rendezvous_, rank, ranks)});
  }
  threads_ = std::make_unique<Threads>(ranks, *rendezvous_);
}

DeviceGroup::~DeviceGroup() = default;

void DeviceGroup::run(const std::function<void(Index device)>& work) {
  if (threads_) {
    threads_->run(work);
  } else {
    processes_->run([&] { work(0); });
  }
}

}  // namespace onebit::device
