#pragma once
// The CUDA backend's execution resource: a GPU with one stream. Includes none of CUDA's headers, so that every room can
// include this file.

#include <functional>
#include <memory>

#include "device/launch/event.hpp"
#include "device/launch/recording.hpp"
#include "device/math/precision.hpp"
#include "device/memory/memory.hpp"

namespace onebit::device::cuda {

/// Stream, cuBLAS handle and workspace of one GPU (cuda/context.cuh).
struct Context;

class Queue {
 public:
  explicit Queue(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  Precision precision() const { return precision_; }
  void set_precision(Precision precision) { precision_ = precision; }

  /// Waits for the stream. Throws DeviceError with CUDA's reason.
  void synchronize() const;
  /// Records an event in the stream.
  std::shared_ptr<const Event> record_event() const;
  /// Makes the stream wait for an event of a queue of this backend; null has no effect.
  void start_after(const Event* event) const;
  /// Records what `work` launches here as a CUDA graph.
  std::shared_ptr<const Recording> record(const std::function<void()>& work) const;

 private:
  std::shared_ptr<Context> context_;
  Precision precision_ = Precision::fp32;
};

/// Opens a GPU. Throws ConfigError if there is no such GPU or it is older than compute capability 8.0.
Queue open(int ordinal);

std::shared_ptr<Memory> make_memory(const Queue& queue);

}  // namespace onebit::device::cuda
