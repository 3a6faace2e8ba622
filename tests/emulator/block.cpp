#include "tests/emulator/block.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/queue.hpp"

#if !defined(__x86_64__)
#error "emulated GPUs need x86-64: their threads switch stacks"
#endif

/// Pushes the registers that a function must preserve, saves the stack pointer in *from, and continues where the stack
/// `to` stopped. swapcontext would make two system calls, and is a hundred times slower under ASan.
extern "C" void onebit_emulator_switch(void** from, void* to);
asm(R"(
.text
.globl onebit_emulator_switch
.type onebit_emulator_switch, @function
onebit_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size onebit_emulator_switch, .-onebit_emulator_switch
)");

/// The shared memory of the block that this thread of the process runs: all variables of the section in which
/// __shared__ puts them. The linker defines the two names.
extern "C" {
extern __thread char __start_onebit_shared[], __stop_onebit_shared[];
}

namespace onebit::emulator {
namespace {

constexpr std::size_t kStack = 256 * 1024;

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
  Call call;                                            ///< where the first thread of this round waits
  std::array<std::uint64_t, 32> bringing{}, brought{};  ///< of the lanes; of a block, the first number counts
};

/// A stack that runs threads of the block until one of them has to wait.
struct Fiber {
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStack);
  void* top = nullptr;  ///< stack pointer where it stopped
  Place place;
  bool finished = false;

  /// Prepares the stack to begin with `enter`, which never returns.
  void prepare(void (*enter)()) {
    finished = false;
    const auto end = reinterpret_cast<std::uintptr_t>(stack.get() + kStack) / 16 * 16;
    // Six registers, the address of `enter`, and its unused return address.
    auto* words = reinterpret_cast<std::uintptr_t*>(end) - 8;
    for (int k = 0; k < 8; ++k) words[k] = 0;
    words[6] = reinterpret_cast<std::uintptr_t>(enter);
    top = words;
  }
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
  void use_shared_memory();

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
  const std::function<void()>* kernel_ = nullptr;
  Place first_;
  bool backwards_ = false;
  unsigned threads_ = 0, next_ = 0, returned_ = 0;
  std::uint64_t progress_ = 0;
  bool shared_is_poisoned_ = false;
};

thread_local Block first_block;
/// The block that this thread of the process runs. Its stacks are kept, because making them takes longer than running a
/// block.
thread_local Block* block = &first_block;

void Block::enter() {
  block->run_threads();
  Fiber& self = *block->fibers_[block->current_];
  self.finished = true;
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
  onebit_emulator_switch(&scheduler_, fibers_[fiber]->top);
}

void Block::yield() {
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
  Meeting& meeting = *meetings_.emplace_back(std::make_unique<Meeting>());
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
  if (is_over(meeting)) close(meeting);
  while (meeting.round == round) yield();
  return meeting;
}

void Block::use_shared_memory() {
  if (shared_is_poisoned_) return;
  shared_is_poisoned_ = true;
  std::memset(__start_onebit_shared, 0xFF, static_cast<std::size_t>(__stop_onebit_shared - __start_onebit_shared));
}

/// Whenever all fibers wait, a new fiber runs the threads that have not begun.
void Block::run(const Place& place, bool backwards, const std::function<void()>& kernel) {
  first_ = place;
  backwards_ = backwards;
  kernel_ = &kernel;
  threads_ = place.block.x * place.block.y * place.block.z;
  next_ = returned_ = 0;
  shared_is_poisoned_ = false;
  meetings_.clear();
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
}

}  // namespace

void run_grid(dim3 grid, dim3 threads, const std::function<void()>& kernel, bool together) {
  thread_local bool backwards = false;
  backwards = !backwards;
  const auto run = [&, from_last = backwards](dim3 index) {
    [[maybe_unused]] const device::cpu::FlushDenormals flush{};  // kernels compiled for GPUs do the same
    block->run({grid, threads, index, {}}, from_last, kernel);
  };
  thread_local std::deque<Block> others;
  std::vector<std::thread> all;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        if (together) {
          if (all.size() == others.size()) others.emplace_back();
          all.emplace_back([&run, own = &others[all.size()], index = dim3(x, y, z)] {
            block = own;
            run(index);
          });
        } else {
          run({x, y, z});
        }
      }
    }
  }
  for (std::thread& one : all) one.join();
}

const Place& place() {
  return block->place();
}

unsigned lane() {
  return block->thread() % 32;
}

void use_shared_memory() {
  block->use_shared_memory();
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
