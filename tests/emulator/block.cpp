#include "tests/emulator/block.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/queue.hpp"
#include "tests/emulator/fiber.hpp"

namespace onebit::emulator {
namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fputs(("emulated GPU: " + what + "\n").c_str(), stderr);
  std::abort();
}

std::string text_of(const Call& call) {
  return std::string(call.name) + " (" + call.file + ":" + std::to_string(call.line) + ")";
}

bool same(const Call& a, const Call& b) {
  const auto equal = [](const char* x, const char* y) { return x == y || std::strcmp(x, y) == 0; };
  return a.line == b.line && equal(a.name, b.name) && equal(a.file, b.file);
}

/// Threads that wait for each other: those of the block, or those of a warp that a mask names.
struct Meeting {
  unsigned warp = 0;
  std::uint32_t mask = 0;  ///< the warp's threads that take part; 0 for the whole block
  unsigned arrived = 0;
  std::uint64_t round = 0;
  std::array<char, 2> points{};  ///< for the race detector; two, because some threads may begin a round before others
                                 ///< have left the previous one
  Call call;                     ///< where the first thread of this round waits
  std::array<std::uint64_t, 32> bringing{}, brought{};  ///< values of the lanes; a block uses the first number only
};

class Block {
 public:
  void run(const Place& place, bool backwards, const std::function<void()>& kernel);

  const Place& place() const { return fibers_[current_]->place; }
  unsigned thread() const {
    const Place& at = place();
    return at.thread_index.x + at.block.x * (at.thread_index.y + at.block.y * at.thread_index.z);
  }
  const Meeting& meet(unsigned warp, std::uint32_t mask, std::uint64_t value, const Call& call);
  void use_shared_memory(char* begin, const char* end);

 private:
  static void enter();
  void run_threads();
  void switch_to(std::size_t fiber);
  void yield();
  unsigned needed(const Meeting& meeting) const;
  bool is_over(const Meeting& meeting) const { return meeting.arrived >= needed(meeting); }
  Meeting& meeting_of(unsigned warp, std::uint32_t mask);
  void close(Meeting& meeting);
  void close_full_meetings();

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::size_t current_ = 0;
  std::vector<std::unique_ptr<Meeting>> meetings_;
  void* scheduler_ = nullptr;  ///< stack pointer where run() stopped
  const race::Context* outside_ = nullptr;
  char begin_ = 0, end_ = 0;  ///< points that all threads of a block pass, for the race detector
  const std::function<void()>* kernel_ = nullptr;
  Place first_;
  bool backwards_ = false;
  unsigned threads_ = 0, next_ = 0, returned_ = 0;
  std::uint64_t progress_ = 0;
  /// Where each part of shared memory that this block has filled begins. A fiber must not allocate memory for this, or
  /// the race detector would take the allocation for an access of its thread.
  std::array<const char*, 8> filled_{};
  std::size_t filled_count_ = 0;
};

/// The block that this thread of the process runs. Its stacks are kept, because making them takes longer than running a
/// block.
constinit thread_local Block* block = nullptr;

void Block::enter() {
  race::acquire(&block->begin_);
  block->run_threads();
  race::release(&block->end_);
  block->fibers_[block->current_]->finished = true;
  block->yield();
}

void Block::run_threads() {
  while (next_ < threads_) {
    const unsigned thread = backwards_ ? threads_ - 1 - next_ : next_;
    ++next_;
    Place& place = fibers_[current_]->place;
    place = first_;
    place.thread_index = {thread % first_.block.x, thread / first_.block.x % first_.block.y,
                          thread / (first_.block.x * first_.block.y)};
    (*kernel_)();
    ++returned_;
    ++progress_;
    close_full_meetings();  // from now on the block waits only for the remaining threads
  }
}

void Block::switch_to(std::size_t fiber) {
  current_ = fiber;
  fibers_[fiber]->enter(&scheduler_);
}

void Block::yield() {
  outside_->enter();
  onebit_emulator_switch(&fibers_[current_]->top, scheduler_);
}

unsigned Block::needed(const Meeting& meeting) const {
  if (meeting.mask == 0) return threads_ - returned_;
  return static_cast<unsigned>(__builtin_popcount(meeting.mask));
}

void Block::close(Meeting& meeting) {
  meeting.brought = std::exchange(meeting.bringing, {});
  meeting.arrived = 0;
  ++meeting.round;
  ++progress_;
}

void Block::close_full_meetings() {
  for (auto& meeting : meetings_) {
    if (meeting->mask == 0 && meeting->arrived > 0 && is_over(*meeting)) close(*meeting);
  }
}

Meeting& Block::meeting_of(unsigned warp, std::uint32_t mask) {
  for (auto& known : meetings_) {
    if (known->warp == warp && known->mask == mask) return *known;
  }
  outside_->enter();  // or the race detector would take the allocation for an access of this thread
  Meeting& meeting = *meetings_.emplace_back(std::make_unique<Meeting>());
  for (char& point : meeting.points) race::release(&point);
  fibers_[current_]->context.enter();
  meeting.warp = warp;
  meeting.mask = mask;
  return meeting;
}

const Meeting& Block::meet(unsigned warp, std::uint32_t mask, std::uint64_t value, const Call& call) {
  Meeting& meeting = meeting_of(warp, mask);
  if (meeting.arrived++ == 0) meeting.call = call;
  if (!same(meeting.call, call)) {
    fail("threads that wait for each other are in different calls: " + text_of(meeting.call) + " and " + text_of(call));
  }
  meeting.bringing[mask == 0 ? 0 : thread() % 32] |= value;
  const std::uint64_t round = meeting.round;
  char* const point = &meeting.points[round % 2];
  race::release(point);
  if (is_over(meeting)) close(meeting);
  while (meeting.round == round) yield();
  race::acquire(point);
  return meeting;
}

void Block::use_shared_memory(char* begin, const char* end) {
  for (std::size_t k = 0; k < filled_count_; ++k) {
    if (filled_[k] == begin) return;
  }
  if (filled_count_ == filled_.size()) fail("a kernel declares shared memory in more lines than expected");
  [[maybe_unused]] const race::Ignored ignored{};
  filled_[filled_count_++] = begin;
  std::memset(begin, 0xFF, static_cast<std::size_t>(end - begin));
}

/// Whenever all fibers wait, a new fiber runs the threads that have not begun.
void Block::run(const Place& place, bool backwards, const std::function<void()>& kernel) {
  first_ = place;
  backwards_ = backwards;
  kernel_ = &kernel;
  threads_ = place.block.x * place.block.y * place.block.z;
  next_ = returned_ = 0;
  filled_count_ = 0;
  meetings_.clear();
  const race::Context outside = race::Context::current();
  outside_ = &outside;
  race::release(&begin_);
  std::size_t used = 0;
  while (returned_ < threads_) {
    const std::uint64_t before = progress_;
    if (next_ < threads_) {
      if (used == fibers_.size()) fibers_.push_back(std::make_unique<Fiber>());
      fibers_[used]->prepare(&Block::enter);
      switch_to(used++);
      continue;
    }
    for (std::size_t k = 0; k < used; ++k) {
      const std::size_t fiber = backwards_ ? used - 1 - k : k;
      if (!fibers_[fiber]->finished) switch_to(fiber);
    }
    if (progress_ == before && returned_ < threads_) {
      fail("threads of a block wait for others that never arrive");
    }
  }
  race::acquire(&end_);
}

/// The blocks of a grid in random order, which is the same in every run of a program without threads.
std::vector<dim3> shuffled_blocks(dim3 grid) {
  static std::atomic<std::uint32_t> launches = 0;
  std::vector<dim3> all;
  all.reserve(std::size_t{grid.x} * grid.y * grid.z);
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) all.emplace_back(x, y, z);
    }
  }
  std::shuffle(all.begin(), all.end(), std::minstd_rand(++launches));
  return all;
}

/// Calls run(host) for every host in [0, hosts), each in its own thread of this process and with its own block.
void run_on_hosts(std::size_t hosts, const std::function<void(std::size_t)>& run) {
  if (hosts == 1) {
    thread_local Block only;
    block = &only;
    return run(0);
  }
  thread_local std::deque<Block> blocks;
  if (blocks.size() < hosts) blocks.resize(hosts);
  std::vector<std::thread> threads;
  for (std::size_t host = 0; host < hosts; ++host) {
    threads.emplace_back([&run, host, own = &blocks[host]] {
      block = own;
      run(host);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

void run_grid(dim3 grid, dim3 threads, const std::function<void()>& kernel, bool together) {
  thread_local bool backwards = false;
  backwards = !backwards;
  const std::vector<dim3> order = shuffled_blocks(grid);
  const std::size_t hosts = together ? order.size() : std::min<std::size_t>(order.size(), race::kHosts);
  run_on_hosts(hosts, [&, from_last = backwards](std::size_t host) {
    [[maybe_unused]] const device::cpu::FlushDenormals flush{};  // kernels compiled for GPUs do the same
    for (std::size_t k = host; k < order.size(); k += hosts)
      block->run({grid, threads, order[k], {}}, from_last, kernel);
  });
}

const Place& place() {
  return block->place();
}

unsigned lane() {
  return block->thread() % 32;
}

void fence() {
  static char point = 0;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  race::release(&point);
  race::acquire(&point);
}

void use_shared_memory(char* begin, const char* end) {
  block->use_shared_memory(begin, end);
}

bool wait_for_block(bool any, const Call& call) {
  return block->meet(0, 0, any ? 1 : 0, call).brought[0] != 0;
}

/// The returned values stay valid until all of these threads meet again.
const std::uint64_t* meet_in_warp(std::uint32_t mask, std::uint64_t value, const Call& call) {
  if ((mask >> lane() & 1u) == 0) fail("a thread that the mask does not name is in " + text_of(call));
  return block->meet(block->thread() / 32, mask, value, call).brought.data();
}

std::uint64_t brought_by(unsigned other, std::uint32_t mask, std::uint64_t value, const Call& call) {
  const std::uint64_t* brought = meet_in_warp(mask, value, call);
  if (other >= 32 || (mask >> other & 1u) == 0) {
    fail("a thread reads a lane that the mask does not name, in " + text_of(call));
  }
  return brought[other];
}

}  // namespace onebit::emulator
