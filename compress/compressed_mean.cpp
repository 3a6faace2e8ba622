#include "compress/compressed_mean.hpp"

namespace onebit::compress {
namespace {

CodecConfig down_of(const ExchangeConfig& config) {
  CodecConfig down = config.up;
  if (!config.down.empty()) down.name = config.down;
  return down;
}

}  // namespace

void check(const ExchangeConfig& config) {
  make_codec(config.up);
  make_codec(down_of(config));
}

CompressedMean::CompressedMean(const device::Shard& shard, std::span<const Tensor> tensors,
                               const ExchangeConfig& config)
    : layout_(shard.device, sizes_of(tensors), shard.workers(), config.granularity, config.padding),
      up_(make_codec(config.up)),
      down_(make_codec(down_of(config))),
      traits_(up_->traits()),
      feedback_(config.feedback == Feedback::ef || (config.feedback == Feedback::automatic && !traits_.unbiased)),
      channel_(shard, layout_, *up_, *down_),
      worker_errors_(device::Buffer<float>::zeros(shard.device, shard.own().count * layout_.state_size())),
      server_error_(device::Buffer<float>::zeros(shard.device, channel_.server_state_size())) {}

void CompressedMean::begin(Index) {
  if (!feedback_) reset_errors();
}

void CompressedMean::absorb(Range group, const EncodeInput& input) {
  channel_.absorb(group, input, worker_errors_);
}

ExchangeSeconds CompressedMean::exchange(float* result, netmodel::TrafficList& traffic) {
  return channel_.exchange(server_error_, result, traffic);
}

void CompressedMean::reset_errors() {
  worker_errors_.zero();
  server_error_.zero();
}

}  // namespace onebit::compress
