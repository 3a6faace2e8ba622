#include "compress/feedback/feedback_audit.hpp"

#include <algorithm>
#include <cmath>

#include "compress/feedback/audit_kernels.hpp"
#include "compress/feedback/error_kernels.hpp"
#include "device/launch/sums.hpp"
#include "device/memory/grow.hpp"

namespace onebit::compress {
namespace {

constexpr Index kGroup = device::DenseSum::kBlock;  ///< number of workers whose errors are placed at a time

}  // namespace

FeedbackAudit::FeedbackAudit(const device::Shard& shard, Index parameters, const Places& places)
    : shard_(shard),
      parameters_(parameters),
      places_(places),
      inputs_(shard, parameters),
      errors_(shard, parameters),
      workers_(device::Buffer<float>::zeros(shard.device, parameters)),
      servers_(device::Buffer<float>::zeros(shard.device, parameters)) {}

float* FeedbackAudit::rows(Index count) {
  grow(rows_, shard_.device, count * parameters_);
  return rows_.data();
}

void FeedbackAudit::absorb(Range group, const EncodeInput& input) {
  float* out = rows(group.count);
  for_each_row(shard_.device, group.count, parameters_, DenseRowKernel{input, 0, parameters_, out});
  inputs_.absorb(group, out, parameters_);
}

void FeedbackAudit::leave(Range group, const float* errors) {
  if (!left_) left_.emplace(shard_, parameters_);
  add_errors(group, errors, *left_);
}

/// Adds the errors of the group's workers to `sum`, in parameter order. Tensors that are left out have no errors, so
/// their places stay 0.
void FeedbackAudit::add_errors(Range group, const float* errors, device::DenseSum& sum) {
  float* out = rows(kGroup);
  rows_.zero();
  for (Index first = 0; first < group.count; first += kGroup) {
    const Index count = std::min(kGroup, group.count - first);
    const PlaceErrorsKernel place{
        places_.worker->device_segments(), errors + first * places_.stride, places_.stride, 1, out, parameters_};
    device::sums(shard_.device, count, places_.worker->real(), place);
    sum.absorb({group.first + first, count}, out, parameters_);
  }
}

void FeedbackAudit::mean_of_workers(const StoredErrors& errors, device::Buffer<float>& mean) {
  errors.read([&](Range part, const float* values) {
    add_errors({shard_.own().first + part.first, part.count}, values, errors_);
  });
  errors_.take_mean(mean.data());
}

/// Joins the servers' chunks, which do not overlap, by summing them. The sum is taken as a mean over the workers: the
/// first worker of each device contributes the errors of the device's servers times the number of workers, and the
/// other workers contribute 0.
void FeedbackAudit::join_servers(const device::Buffer<float>& errors, device::Buffer<float>& joined) {
  if (places_.servers == nullptr) return joined.zero();
  float* out = rows(2);
  rows_.zero();
  const auto workers = static_cast<float>(shard_.workers());
  const PlaceErrorsKernel place{places_.servers->device_segments(), errors.data(), 0, workers, out, 0};
  device::sums(shard_.device, 1, places_.servers->real(), place);
  const Range own = shard_.own();
  errors_.absorb({own.first, 1}, out, parameters_);
  if (own.count > 1) errors_.absorb({own.first + 1, own.count - 1}, out + parameters_, 0);
  errors_.take_mean(joined.data());
}

void FeedbackAudit::remember(const StoredErrors& worker_errors, const device::Buffer<float>& server_error) {
  mean_of_workers(worker_errors, workers_);
  join_servers(server_error, servers_);
  remembers_ = true;
}

FeedbackBalance FeedbackAudit::close(const StoredErrors& worker_errors, const device::Buffer<float>& server_error,
                                     const float* result) {
  device::Buffer<float> input(shard_.device, parameters_), workers(shard_.device, parameters_),
      servers(shard_.device, parameters_), unrounded;
  inputs_.take_mean(input.data());
  mean_of_workers(worker_errors, workers);
  join_servers(server_error, servers);
  if (left_) {
    unrounded = device::Buffer<float>(shard_.device, parameters_);
    left_->take_mean(unrounded.data());
  }
  const BalanceTerm term{input.data(),    result,         workers_.data(),
                         servers_.data(), workers.data(), left_ ? unrounded.data() : workers.data(),
                         servers.data()};
  const std::vector<double> squares =
      device::sums(shard_.device, BalanceTerm::count, device::Chunks(parameters_), term);
  remembers_ = false;
  return {std::sqrt(squares[0]), std::sqrt(squares[1]), std::sqrt(squares[2]), std::sqrt(squares[3]),
          std::sqrt(squares[4])};
}

void FeedbackAudit::scale(float workers, float servers) {
  for_each(shard_.device, parameters_, ScaleErrorsKernel{workers_.data(), workers});
  for_each(shard_.device, parameters_, ScaleErrorsKernel{servers_.data(), servers});
}

void FeedbackAudit::visit_state(device::StateVisitor& visitor) {
  visitor.number("remembers", remembers_);
  visitor.shared("workers", workers_);
  visitor.shared("servers", servers_);
}

}  // namespace onebit::compress
