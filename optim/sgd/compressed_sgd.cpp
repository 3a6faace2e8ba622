#include "optim/sgd/compressed_sgd.hpp"

#include <utility>

#include "compress/channels/exchange_pattern.hpp"
#include "device/base/error.hpp"
#include "device/launch/stopwatch.hpp"

namespace onebit::optim {

CompressedSgd::CompressedSgd(const Problem& problem, const OptimizerConfig& config, const SgdMethod& method)
    : shard_(problem.shard),
      rescales_(method.rescale_errors),
      exchange_(problem.shard, problem.tensors, method.exchange),
      clipping_(problem, method.clip),
      update_(problem, config, method.momentum),
      mean_(device(), problem.parameters()),
      ones_(device::Buffer<float>::copy_of(device(),
                                           std::vector<float>(static_cast<std::size_t>(own_workers()), 1.0f))) {}

StateView CompressedSgd::state() const {
  return {.momentum = update_.momentum(), .exchange = &exchange_, .exchanged = exchanged_};
}

void CompressedSgd::visit_state(device::StateVisitor& visitor) {
  exchange_.visit_state(visitor);
  update_.visit_state(visitor);
  visitor.number("last_lr", last_lr_);
  visitor.number("exchanged", exchanged_);
}

void CompressedSgd::do_begin() {
  clipping_.begin();
  encode_seconds_ = 0;
  exchange_.begin(step());
  if (rescales_) rescale_errors();
}

/// Multiplies the errors by lr_{t-1} / lr_t, which converts them to the scale of this step's gradients.
void CompressedSgd::rescale_errors() {
  const double last = std::exchange(last_lr_, lr());
  if (last > 0 && lr() > 0 && last != lr()) exchange_.scale_errors(static_cast<float>(last / lr()));
}

compress::EncodeInput CompressedSgd::plain(const float* rows) const {
  return {.rows = rows, .stride = parameters(), .factors = ones_.data()};
}

void CompressedSgd::do_absorb(Range group, const float* gradients, Index stride) {
  device::Stopwatch watch(device());
  const float* factors = clipping_.factors(group, gradients, stride, 1);
  exchange_.absorb(group, worker_side(group, {.rows = gradients, .stride = stride, .factors = factors}));
  encode_seconds_ += watch.lap();
}

StepReport CompressedSgd::do_finish(device::Buffer<float>& parameters) {
  StepReport report;
  report.phase = exchange_.averages() ? Phase::warmup : Phase::compression;
  report.seconds.encode = encode_seconds_;
  const compress::ExchangeSeconds seconds = exchange_.exchange(mean_.data(), report.traffic);
  report.seconds.exchange = seconds.exchange;
  report.seconds.server = seconds.server;
  exchanged_ = !exchange_.averages();
  clipping_.report(report);
  device::Stopwatch watch(device());
  after_exchange();
  report.update_norm = update_.apply(lr(), nullptr, mean_, parameters);
  report.seconds.update = watch.lap();
  return report;
}

void require_feedback(const std::string& optimizer, const compress::ExchangeConfig& config) {
  if (config.feedback == compress::Feedback::none) {
    throw ConfigError(optimizer + " needs error feedback", "feedback none", "leave out --feedback none");
  }
  for (const compress::CodecConfig& codec : {config.up, compress::down_of(config)}) {
    if (!compress::make_codec(codec)->traits().expanding) continue;
    throw ConfigError("error feedback would let this codec's error grow: it may be many times as long as the vector",
                      "optimizer " + optimizer + ", codec " + codec.name, "use a contraction, e.g. top-k or sign-l1");
  }
}

std::unique_ptr<Optimizer> make_ef_sgd(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<CompressedSgd>(
      problem, config, SgdMethod{.exchange = config.exchange, .clip = config.clip, .rescale_errors = true});
}

std::unique_ptr<Optimizer> make_ef_momentum_sgd(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<CompressedSgd>(
      problem, config, SgdMethod{.exchange = config.exchange, .momentum = momentum_of(config), .clip = config.clip});
}

std::unique_ptr<Optimizer> make_onebit_sgd(const Problem& problem, const OptimizerConfig& config) {
  SgdMethod method{.exchange = config.exchange, .clip = config.clip, .rescale_errors = true};
  method.exchange.up.name = "onebit";
  method.exchange.down = "onebit";
  return std::make_unique<CompressedSgd>(problem, config, method);
}

compress::ExchangeConfig majority_vote(const OptimizerConfig& config) {
  compress::ExchangeConfig exchange = config.exchange;
  exchange.up.name = "sign";
  exchange.down = "sign";
  exchange.feedback = compress::Feedback::none;
  exchange.pattern = compress::ExchangePattern::server;
  return exchange;
}

std::unique_ptr<Optimizer> make_signsgd(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<CompressedSgd>(problem, config,
                                         SgdMethod{.exchange = majority_vote(config), .clip = config.clip});
}

}  // namespace onebit::optim
