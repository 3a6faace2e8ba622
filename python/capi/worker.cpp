#include "python/capi/worker.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/error.hpp"
#include "python/capi/options.hpp"
#include "python/capi/ranks.hpp"

namespace onebit::capi {
namespace {

std::span<const onebit_option> options_of(const onebit_problem& problem) {
  return {problem.options, static_cast<std::size_t>(problem.option_count)};
}

std::vector<compress::Tensor> tensors_of(const onebit_problem& problem) {
  std::vector<compress::Tensor> tensors;
  for (const onebit_tensor& t : std::span(problem.tensors, static_cast<std::size_t>(problem.tensor_count))) {
    if (t.size < 0 || t.rows < 1 || t.size % t.rows != 0) {
      throw ConfigError(
          "the size of a tensor is not a multiple of its rows",
          std::string(t.name) + ": " + std::to_string(t.size) + " elements, " + std::to_string(t.rows) + " rows",
          "a vector has one row");
    }
    tensors.push_back({t.name, t.size, t.rows});
  }
  return tensors;
}

/// Throws NumericError if the result of a step is not finite, and names the worker's vector if that is the reason.
void require_finite(bool finite, const compress::CompressedMean* exchange, const std::string& result, Index step) {
  if (finite) return;
  const std::string own = exchange != nullptr ? exchange->first_bad() : "";
  throw NumericError((own.empty() ? result : own) + " is not finite", "step " + std::to_string(step),
                     "lower the learning rate or clip gradients");
}

/// A worker that computes compressed means.
class MeanWorker final : public Worker {
 public:
  explicit MeanWorker(const onebit_problem& problem)
      : Worker(problem),
        exchange_(shard(), tensors(), exchange_of(options_of(problem))),
        vector_(shard().device, compress::total_size(tensors())),
        mean_(shard().device, vector_.size()),
        one_(device::Buffer<float>::copy_of(shard().device, std::vector{1.0f})) {}

  void mean(Index step, const float* vector, float* mean) override {
    netmodel::TrafficList traffic;
    vector_.upload(this->vector(vector));
    exchange_.begin(step);
    exchange_.absorb(shard().own(), {.rows = vector_.data(), .stride = vector_.size(), .factors = one_.data()});
    exchange_.exchange(mean_.data(), traffic);
    mean_.download({mean, static_cast<std::size_t>(mean_.size())});
    agree([&] {
      exchange_.require_finite();
      const auto values = this->vector(mean);
      const bool finite = std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
      require_finite(finite, &exchange_, "the mean", step);
    });
    record(traffic, exchange_.averages() ? optim::Phase::warmup : optim::Phase::compression, {});
  }

 private:
  void visit_state(device::StateVisitor& visitor) override { exchange_.visit_state(visitor); }

  compress::CompressedMean exchange_;
  device::Buffer<float> vector_, mean_, one_;
};

/// A worker that runs an optimizer.
class OptimizerWorker final : public Worker {
 public:
  explicit OptimizerWorker(const onebit_problem& problem)
      : Worker(problem),
        optimizer_(optim::make_optimizer({.shard = shard(),
                                          .tensors = {tensors().begin(), tensors().end()},
                                          .total_steps = problem.steps,
                                          .lr_warmup = problem.warmup},
                                         optimizer_of(options_of(problem)))),
        gradient_(shard().device, compress::total_size(tensors())),
        parameters_(shard().device, gradient_.size()) {
    if (!optimizer_->wants_extra_gradients()) return;
    throw ConfigError("this optimizer needs gradients at points that it chooses itself",
                      optimizer_of(options_of(problem)).name, "use another optimizer");
  }

  void step(Index step, double lr, const float* gradient, float* parameters) override {
    gradient_.upload(vector(gradient));
    parameters_.upload(vector(parameters));
    optimizer_->begin(step, lr);
    optimizer_->absorb(shard().own(), gradient_.data(), gradient_.size());
    const optim::StepReport report = optimizer_->finish(parameters_);
    agree([&] {
      optimizer_->require_finite();
      const bool finite = report.phase == optim::Phase::dry_run || std::isfinite(double{report.update_norm});
      const compress::CompressedMean* exchange = optimizer_->state().exchange;
      require_finite(finite, exchange, "the update", step);
    });
    parameters_.download({parameters, static_cast<std::size_t>(parameters_.size())});
    record(report.traffic, report.phase, report.events);
  }

 private:
  void visit_state(device::StateVisitor& visitor) override { optimizer_->visit_state(visitor); }

  std::unique_ptr<optim::Optimizer> optimizer_;
  device::Buffer<float> gradient_, parameters_;
};

}  // namespace

Worker::Worker(const onebit_problem& problem)
    : shard_(shard_of(problem.ranks, problem.threads)), tensors_(tensors_of(problem)) {}

void Worker::mean(Index, const float*, float*) {
  throw ConfigError("this worker runs an optimizer", "onebit_mean", "call onebit_step");
}

void Worker::step(Index, double, const float*, float*) {
  throw ConfigError("this worker computes means", "onebit_step", "call onebit_mean");
}

std::span<const float> Worker::vector(const float* values) const {
  return {values, static_cast<std::size_t>(compress::total_size(tensors_))};
}

void Worker::record(const netmodel::TrafficList& traffic, optim::Phase phase, const std::vector<optim::Event>& events) {
  bytes_up_ = bytes_down_ = 0;
  messages_ = 0;
  for (const netmodel::Traffic& exchange : traffic) {
    bytes_up_ += netmodel::sent_bytes(exchange, netmodel::Direction::up).value;
    bytes_down_ += netmodel::sent_bytes(exchange, netmodel::Direction::down).value;
    messages_ += exchange.messages;
  }
  phase_ = optim::name(phase);
  events_.clear();
  for (const optim::Event& event : events) events_ += (events_.empty() ? "" : "\n") + event.kind + ": " + event.text;
}

void Worker::agree(const std::function<void()>& check) const {
  std::string failure;
  try {
    check();
  } catch (const NumericError& error) {
    failure = error.what();
  }
  const std::vector<double> failures = shard_.communicator->all_gather(std::vector{failure.empty() ? 0.0 : 1.0});
  if (!failure.empty()) throw NumericError(failure);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (failures[rank] != 0) throw NumericError("a vector is not finite", "rank " + std::to_string(rank));
  }
}

onebit_report Worker::report() const {
  return {bytes_up_, bytes_down_, messages_, phase_.c_str(), events_.c_str()};
}

void Worker::save(onebit_take take, void* context) {
  capi::save(
      shard_, [this](device::StateVisitor& visitor) { visit_state(visitor); }, take, context);
}

void Worker::load(onebit_give give, void* context) {
  capi::load(
      shard_, [this](device::StateVisitor& visitor) { visit_state(visitor); }, give, context);
}

std::unique_ptr<Worker> make_mean(const onebit_problem& problem) {
  return std::make_unique<MeanWorker>(problem);
}

std::unique_ptr<Worker> make_optimizer(const onebit_problem& problem) {
  return std::make_unique<OptimizerWorker>(problem);
}

}  // namespace onebit::capi
