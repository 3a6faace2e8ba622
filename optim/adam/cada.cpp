#include "optim/adam/cada.hpp"

#include <cmath>

#include "device/base/error.hpp"
#include "device/launch/stopwatch.hpp"
#include "device/memory/grow.hpp"
#include "optim/adam/adam_core.hpp"
#include "optim/adam/cada_kernels.hpp"

namespace onebit::optim {

void check_cada(const CadaConfig& config) {
  check_option(std::isfinite(config.threshold) && config.threshold >= 0, "cada-threshold", config.threshold,
               "at least 0; with 0, every worker uploads in every step");
  check_option(config.window >= 1, "cada-window", static_cast<double>(config.window), "steps, at least 1");
  check_option(config.max_delay >= 1, "cada-delay", static_cast<double>(config.max_delay), "steps, at least 1");
}

Cada::Cada(const Problem& problem, const OptimizerConfig& config, Rule rule)
    : shard_(problem.shard),
      config_(config),
      rule_(rule),
      tensors_(problem, config),
      channel_(problem.shard, problem.parameters()),
      clipping_(problem, config.clip),
      mean_(device(), problem.parameters()),
      momentum_(device::Buffer<float>::zeros(device(), parameters())),
      variance_(device::Buffer<float>::zeros(device(), parameters())),
      largest_(device::Buffer<float>::zeros(device(), parameters())),
      latest_(device(), shard_.own().count * parameters()),
      stored_(device(), rule == Rule::snapshot ? latest_.size() : 0),
      points_(device(), rule == Rule::snapshot ? parameters() : latest_.size()),
      group_uploads_(device(), shard_.own().count),
      last_upload_(static_cast<std::size_t>(shard_.own().count), 0) {}

bool Cada::everybody_uploads() const {
  return step() == 1 || (rule_ == Rule::snapshot && (step() - 1) % config_.cada.max_delay == 0);
}

Optimizer::Point Cada::extra_point() const {
  if (everybody_uploads()) return {};
  return {points_.data(), rule_ == Rule::snapshot ? 0 : parameters()};
}

void Cada::absorb_extra(Range group, const float* gradients, Index stride) {
  const Index needed = group.count * parameters();
  grow(extra_, device(), needed);
  for_each_row(device(), group.count, parameters(),
               CopyRowsKernel{nullptr, gradients, stride, extra_.data(), parameters()});
  extra_rows_ = group.count;
}

void Cada::visit_state(device::StateVisitor& visitor) {
  visitor.shared("momentum", momentum_);
  visitor.shared("variance", variance_);
  visitor.shared("largest_variance", largest_);
  visitor.rows("latest_uploads", latest_, parameters());
  if (rule_ == Rule::snapshot) {
    visitor.rows("stored_differences", stored_, parameters());
    visitor.shared("snapshot", points_);
  } else {
    visitor.rows("stale_points", points_, parameters());
  }
  visitor.rows("last_upload", last_upload_);
  visitor.numbers("moves", moves_);
}

void Cada::do_begin() {
  uploads_.clear();
  absorb_seconds_ = 0;
  extra_rows_ = 0;
}

double Cada::least_innovation() const {
  return config_.cada.threshold / static_cast<double>(config_.cada.window) * total(moves_);
}

/// Decides which workers of a group upload.
std::vector<std::uint8_t> Cada::decide(Range group, const float* gradients, Index stride) {
  if (everybody_uploads()) return std::vector<std::uint8_t>(static_cast<std::size_t>(group.count), 1);
  if (extra_rows_ != group.count) {
    throw Error("the upload rule of CADA needs gradients at a second point",
                config_.name + ", step " + std::to_string(step()),
                "use 'onebit run'; a replay has no model that could compute them");
  }
  const float* stored = rule_ == Rule::snapshot ? stored_.data() + before(group) : nullptr;
  const InnovationTerm term{gradients, stride, extra_.data(), stored, parameters()};
  const std::vector<double> innovations = sums(device(), group.count, device::Chunks(parameters()), term);
  std::vector<std::uint8_t> uploads;
  for (std::size_t g = 0; g < innovations.size(); ++g) {
    const Index last = last_upload_[static_cast<std::size_t>(group.first - shard_.own().first) + g];
    const bool too_old = rule_ == Rule::stale && step() - last >= config_.cada.max_delay;
    uploads.push_back(innovations[g] < least_innovation() && !too_old ? 0 : 1);
  }
  return uploads;
}

void Cada::do_absorb(Range group, const float* gradients, Index stride) {
  device::Stopwatch watch(device());
  const std::vector<std::uint8_t> uploads = decide(group, gradients, stride);
  for (std::size_t g = 0; g < uploads.size(); ++g) {
    if (uploads[g] != 0) last_upload_[static_cast<std::size_t>(group.first - shard_.own().first) + g] = step();
  }
  group_uploads_.upload(uploads);
  const float* extra = everybody_uploads() ? nullptr : extra_.data();
  float* stored = rule_ == Rule::snapshot ? stored_.data() + before(group) : nullptr;
  float* latest = latest_.data() + before(group);
  for_each_row(device(), group.count, parameters(),
               UploadKernel{group_uploads_.data(), gradients, stride, extra, latest, stored, parameters()});
  channel_.absorb(group, latest, parameters());
  uploads_.insert(uploads_.end(), uploads.begin(), uploads.end());
  extra_rows_ = 0;
  absorb_seconds_ += watch.lap();
}

/// Stores this step's weights as the snapshot, or as the points of the workers that uploaded.
void Cada::keep_points(const device::Buffer<float>& x) {
  if (rule_ == Rule::stale) {
    group_uploads_.upload(uploads_);
    for_each_row(device(), shard_.own().count, parameters(),
                 CopyRowsKernel{group_uploads_.data(), x.data(), 0, points_.data(), parameters()});
  } else if (everybody_uploads()) {
    for_each_row(device(), 1, parameters(), CopyRowsKernel{nullptr, x.data(), 0, points_.data(), parameters()});
  }
}

double Cada::update(device::Buffer<float>& x) {
  AdamStep step;
  step.lr = static_cast<float>(lr());
  step.beta1 = static_cast<float>(config_.beta1);
  step.one_minus_beta1 = static_cast<float>(1 - config_.beta1);
  step.beta2 = static_cast<float>(config_.beta2);
  step.one_minus_beta2 = static_cast<float>(1 - config_.beta2);
  step.eps = static_cast<float>(config_.eps);
  step.gradient_factor = clipping_.factor(mean_);
  const double moved = total(sums(device(), 1, tensors_.chunks(),
                                  AmsgradKernel{step, tensors_.rules(), x.data(), momentum_.data(), variance_.data(),
                                                largest_.data(), mean_.data()}));
  moves_.push_back(moved);
  if (static_cast<Index>(moves_.size()) > config_.cada.window) moves_.pop_front();
  return std::sqrt(moved);
}

netmodel::TrafficList Cada::traffic(double share) const {
  using enum netmodel::Collective;
  const Index n = shard_.workers();
  const Index bytes = parameters() * static_cast<Index>(sizeof(float));
  const auto part = [share](Index whole) {
    return static_cast<Index>(std::llround(share * static_cast<double>(whole)));
  };
  netmodel::Traffic up{.collective = all_to_all,
                       .direction = netmodel::Direction::up,
                       .group_size = n,
                       .messages = part(messages_sent(all_to_all, n)),
                       .payload_bytes = part(bytes)};
  netmodel::Traffic down{.collective = all_gather,
                         .direction = netmodel::Direction::down,
                         .group_size = n,
                         .messages = messages_sent(all_gather, n),
                         .payload_bytes = ceil_div(bytes, n)};
  return {up, down};
}

StepReport Cada::do_finish(device::Buffer<float>& parameters) {
  StepReport report;
  report.seconds.encode = absorb_seconds_;
  device::Stopwatch watch(device());
  netmodel::TrafficList all_reduce;  // the traffic of an upload by every worker; not reported
  channel_.exchange(mean_.data(), all_reduce);
  report.uploads = total(shard_.communicator->all_gather(std::vector<double>(uploads_.begin(), uploads_.end()))) /
                   static_cast<double>(shard_.workers());
  report.traffic = traffic(report.uploads);
  report.seconds.exchange = watch.lap();
  keep_points(parameters);
  report.update_norm = update(parameters);
  clipping_.report(report);
  report.seconds.update = watch.lap();
  return report;
}

std::unique_ptr<Optimizer> make_cada1(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<Cada>(problem, config, Cada::Rule::snapshot);
}

std::unique_ptr<Optimizer> make_cada2(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<Cada>(problem, config, Cada::Rule::stale);
}

}  // namespace onebit::optim
