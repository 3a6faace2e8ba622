#pragma once
// The CUDA backend's execution resource: a GPU with one stream. Free of CUDA's headers, so that every room can hold
// one.

#include <memory>

#include "device/memory.hpp"

namespace onebit::device::cuda {

/// Stream, cuBLAS handle and workspace of one GPU (cuda/context.cuh).
struct Context;

class Queue {
 public:
  explicit Queue(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }

  /// Waits for the stream. Throws Error with CUDA's reason.
  void synchronize() const;

 private:
  std::shared_ptr<Context> context_;
};

/// Throws ConfigError where there is no such GPU or it is older than compute capability 8.0.
Queue open(int ordinal);

std::shared_ptr<Memory> make_memory(const Queue& queue);

}  // namespace onebit::device::cuda
