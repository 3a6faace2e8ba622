#pragma once
// The worker of one rank: a compressed mean, or an optimizer.

#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.hpp"
#include "python/capi/onebit_codecs.h"
#include "python/capi/state.hpp"

namespace onebit::capi {

class Worker {
 public:
  explicit Worker(const onebit_problem& problem);
  virtual ~Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// mean() throws ConfigError if the worker runs an optimizer, and step() throws it if the worker computes means.
  virtual void mean(Index step, const float* vector, float* mean);
  virtual void step(Index step, double lr, const float* gradient, float* parameters);

  onebit_report report() const;
  void save(onebit_take take, void* context);
  void load(onebit_give give, void* context);

 protected:
  const device::Shard& shard() const { return shard_; }
  std::span<const compress::Tensor> tensors() const { return tensors_; }
  std::span<const float> vector(const float* values) const;
  /// Records what a step has sent.
  void record(const netmodel::TrafficList& traffic, optim::Phase phase, const std::vector<optim::Event>& events);
  /// Calls check() and throws on every rank if check() throws NumericError on at least one. Collective.
  void agree(const std::function<void()>& check) const;

 private:
  virtual void visit_state(device::StateVisitor& visitor) = 0;

  device::Shard shard_;
  std::vector<compress::Tensor> tensors_;
  double bytes_up_ = 0, bytes_down_ = 0;
  Index messages_ = 0;
  std::string phase_, events_;
};

/// Return a worker. Throw ConfigError for options that make no sense.
std::unique_ptr<Worker> make_mean(const onebit_problem& problem);
std::unique_ptr<Worker> make_optimizer(const onebit_problem& problem);

}  // namespace onebit::capi
