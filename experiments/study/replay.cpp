#include "experiments/study/replay.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/base/error.hpp"
#include "device/base/system.hpp"
#include "optim/two_stage/variance_floor.hpp"

namespace onebit::experiments {
namespace {

std::vector<float> repeated(const std::vector<float>& row, Index rows) {
  std::vector<float> all;
  for (Index r = 0; r < rows; ++r) all.insert(all.end(), row.begin(), row.end());
  return all;
}

/// Returns the mean of the rows, summed in double.
std::vector<float> mean_of(const std::vector<float>& rows, std::size_t columns) {
  std::vector<double> sums(columns);
  for (std::size_t i = 0; i < rows.size(); ++i) sums[i % columns] += static_cast<double>(rows[i]);
  const double count = static_cast<double>(rows.size()) / static_cast<double>(columns);
  std::vector<float> mean;
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / count));
  return mean;
}

/// Adds penalty * x to the gradients. x: one row per row of gradients, or one row for all.
void add_penalty(double penalty, const std::vector<float>& x, std::vector<float>& gradients) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] += static_cast<float>(penalty * static_cast<double>(x[i % x.size()]));
  }
}

/// Throws ConfigError if the l1 norm of the variance does not follow from the norms of the gradients.
void require_compact(const ReplayPlan& plan) {
  constexpr std::string_view known[] = {"adam",           "lamb",        "onebit-adam",
                                        "onebit-adam-32", "onebit-lamb", "onebit-lamb-32"};
  const optim::OptimizerConfig& optimizer = plan.config.optimizer;
  if (std::ranges::find(known, optimizer.name) == std::end(known)) {
    throw ConfigError("a compact trace cannot be replayed through this optimizer", optimizer.name,
                      "its norms determine the variance of adam, lamb, onebit-adam and onebit-lamb");
  }
  const auto refuse = [](const std::string& option) {
    throw ConfigError("a compact trace does not show the effect of this option", option, "leave it out");
  };
  if (plan.penalty != 0) refuse("penalty");
  if (optim::parse_variance_floor(optimizer.variance_floor).value > 0) refuse("optimizer.variance-floor");
}

}  // namespace

Replay::Replay(const sim::GradientTrace& trace, const ReplayPlan& plan)
    : trace_(trace),
      config_(plan.config),
      penalty_(plan.penalty),
      group_(device::parse_devices(config_.device, config_.threads), workers()) {
  if (trace.compact()) require_compact(plan);
  for (Index rank = 0; rank < group_.size(); ++rank) seats_.push_back(make_seat(group_.shard(rank)));
}

Replay::Seat Replay::make_seat(const device::Shard& shard) const {
  const optim::Problem problem{
      .shard = shard, .tensors = trace_.tensors(), .total_steps = trace_.steps(), .lr_warmup = config_.schedule.warmup};
  auto optimizer = make_optimizer(problem, config_.optimizer);
  if (optimizer->wants_extra_gradients()) {
    throw ConfigError("the optimizer cannot be replayed", config_.optimizer.name,
                      "it needs gradients at points that it chooses itself, which no trace holds");
  }
  const Index rows = optimizer->local_weights() ? shard.own().count : 1;
  return {.shard = shard,
          .optimizer = std::move(optimizer),
          .x = device::Buffer<float>::copy_of(shard.device, repeated(trace_.x0(), rows)),
          .gradients = device::Buffer<float>(shard.device, shard.own().count * trace_.parameters())};
}

sim::RunConfig Replay::config() const {
  sim::RunConfig config = config_;
  config.steps = trace_.steps();
  return config;
}

std::string Replay::devices() const {
  Index threads = 0;
  for (const Seat& seat : seats_) threads += seat.shard.device.threads();
  return device::devices_text(config_.device, threads);
}

sim::MeasuredDevices Replay::measured() {
  return sim::MeasuredDevices([this](const sim::MeasuredDevices::Work& work) {
    group_.run([&](Index rank) {
      const Seat& seat = seats_[static_cast<std::size_t>(rank)];
      work({seat.shard, *seat.optimizer, seat.x, trace_.tensors()});
    });
  });
}

void Replay::run(const OnStep& use) {
  optim::ScheduleConfig schedule_config = config_.schedule;
  schedule_config.total_steps = trace_.steps();
  const optim::Schedule schedule(schedule_config);
  std::vector<float> gradients;
  for (Index now = 1; now <= trace_.steps(); ++now) {
    read_step(now - 1, gradients);
    sim::StepOutcome outcome;
    outcome.step = now;
    outcome.lr = config_.optimizer.lr * schedule.factor(now);
    outcome.worker_losses = losses(now - 1);
    const double sum = std::accumulate(outcome.worker_losses.begin(), outcome.worker_losses.end(), 0.0);
    outcome.loss = sum / static_cast<double>(workers());
    group_.run([&](Index rank) {
      optim::StepReport report = step(seats_[static_cast<std::size_t>(rank)], now, outcome.lr, gradients);
      if (rank == 0) outcome.report = std::move(report);  // what workers share is the same on every device
    });
    use(outcome, parameters());
  }
  const std::string failed_expectation = seats_.front().optimizer->failed_expectation();
  if (!failed_expectation.empty()) throw Error(failed_expectation, "replay");
}

/// Returns the workers' losses of a step, counted from 0.
std::vector<double> Replay::losses(Index step) const {
  std::vector<double> losses = trace_.losses(step);
  if (losses.empty()) return std::vector<double>(static_cast<std::size_t>(workers()), sim::not_applicable);
  if (std::ssize(losses) == workers()) return losses;
  return {std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size())};
}

/// Reads the workers' gradients of a step, counted from 0.
void Replay::read_step(Index step, std::vector<float>& gradients) const {
  trace_.read_step(step, gradients);
  if (workers() < trace_.workers()) gradients = mean_of(gradients, static_cast<std::size_t>(trace_.parameters()));
  if (penalty_ != 0) add_penalty(penalty_, parameters(), gradients);
}

/// Takes one step on one device with its workers' rows of the gradients.
optim::StepReport Replay::step(Seat& seat, Index step, double lr, const std::vector<float>& gradients) const {
  const Range own = seat.shard.own();
  const Index parameters = trace_.parameters();
  seat.gradients.upload(std::span(gradients).subspan(static_cast<std::size_t>(own.first * parameters),
                                                     static_cast<std::size_t>(own.count * parameters)));
  seat.optimizer->begin(step, lr);
  seat.optimizer->absorb(own, seat.gradients.data(), parameters);
  optim::StepReport report = seat.optimizer->finish(seat.x);
  seat.optimizer->require_finite();
  if (report.phase != optim::Phase::dry_run && !std::isfinite(double{report.update_norm})) {
    const std::string bad = first_bad_gradient(seat, gradients);
    throw NumericError("the update is not finite" + (bad.empty() ? "" : ": " + bad), "step " + std::to_string(step),
                       bad.empty() ? "lower the learning rate" : "the trace holds a value that is not finite");
  }
  return report;
}

/// Names the first worker of a device whose gradient is not finite, and the tensor; empty if all gradients are finite.
std::string Replay::first_bad_gradient(const Seat& seat, const std::vector<float>& gradients) const {
  const Range own = seat.shard.own();
  const Index parameters = trace_.parameters();
  for (Index i = own.first * parameters; i < own.end() * parameters; ++i) {
    if (std::isfinite(gradients[static_cast<std::size_t>(i)])) continue;
    std::size_t tensor = 0;
    Index end = trace_.tensor_sizes()[0];
    while (end <= i % parameters) end += trace_.tensor_sizes()[++tensor];
    return "the gradient of worker " + std::to_string(i / parameters) + ", tensor " + std::to_string(tensor);
  }
  return "";
}

/// Returns the rows of all workers, or the row that they share.
std::vector<float> Replay::parameters() const {
  if (!local_weights()) return seats_.front().x.to_host();
  std::vector<float> all;
  for (const Seat& seat : seats_) {
    const std::vector<float> own = seat.x.to_host();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace onebit::experiments
