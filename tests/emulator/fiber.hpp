#pragma once
// Stacks on which the threads of a block run in turn.

#include <cstdint>
#include <memory>

#include "tests/emulator/block.hpp"
#include "tests/emulator/race.hpp"

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

namespace onebit::emulator {

constexpr std::size_t kStack = 256 * 1024;

/// A stack that runs threads of a block until one of them has to wait. The race detector sees it as a thread.
struct Fiber {
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStack);
  void* top = nullptr;  ///< stack pointer where it stopped
  race::Context context;
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

  /// Continues on this stack, and saves in *from where the current one stops.
  void enter(void** from) {
    context.enter();
    onebit_emulator_switch(from, top);
  }
};

}  // namespace onebit::emulator
