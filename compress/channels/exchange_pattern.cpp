#include "compress/channels/exchange_pattern.hpp"

#include "compress/channels/gather_mean.hpp"
#include "compress/channels/global_top_k.hpp"
#include "compress/channels/server_mean.hpp"

namespace onebit::compress {
namespace {

[[noreturn]] void refuse(const Codec& codec, const std::string& channel, const std::string& reason,
                         const std::string& hint) {
  throw ConfigError("codec does not fit its channel: " + reason,
                    "codec " + std::string(codec.name()) + ", channel " + channel, hint);
}

}  // namespace

ExchangePattern pattern_of(const Codec& up, const ExchangeConfig& config) {
  if (config.pattern != ExchangePattern::automatic) return config.pattern;
  if (!config.down.empty()) return ExchangePattern::server;
  const Traits traits = up.traits();
  if (traits.linear) return ExchangePattern::linear;
  return traits.sparse ? ExchangePattern::gather : ExchangePattern::server;
}

CodecConfig down_of(const ExchangeConfig& config) {
  CodecConfig down = config.up;
  if (config.down.empty() || config.down == config.up.name) return down;
  down.name = config.down;
  down.packing = "none";
  return down;
}

netmodel::CodecPasses passes_of(const ExchangeConfig& config) {
  netmodel::CodecPasses passes = make_codec(config.up)->passes();
  if (config.down.empty()) return passes;
  const netmodel::CodecPasses down = make_codec(down_of(config))->passes();
  passes.serve = down.serve;
  passes.decode = down.decode;
  if (down.released == 0) passes.released = 0;
  return passes;
}

std::unique_ptr<Channel> make_channel(const device::Shard& shard, const ExchangeLayout& layout,
                                      std::span<const Tensor> tensors, const Codec& up, const Codec& down,
                                      const ExchangeConfig& config) {
  switch (pattern_of(up, config)) {
    case ExchangePattern::linear:
      if (!config.down.empty()) {
        refuse(down, "linear", "an all-reduce compresses nothing on the way down",
               "leave out --codec.down, or use --channel server");
      }
      if (const auto make = codec_entry(up.name()).linear_channel; make != nullptr) {
        return make(shard, layout, tensors, config);
      }
      refuse(up, "linear", "its payloads cannot be added up", "use --channel server or gather");
    case ExchangePattern::gather:
      if (!config.down.empty()) {
        refuse(down, "gather", "an all-gather compresses nothing on the way down",
               "leave out --codec.down, or use --channel server");
      }
      if (up.traits().shared_max) {
        refuse(up, "gather", "all workers must agree on its scale before they encode", "use --channel server");
      }
      return std::make_unique<GatherMean>(shard, layout, up);
    case ExchangePattern::tree:
      if (!config.down.empty()) {
        refuse(down, "tree", "a tree sends the merged elements down without compressing them again",
               "leave out --codec.down, or use --channel server");
      }
      if (!GlobalTopKMean::fits(up)) {
        refuse(up, "tree", "only payloads of top-k without packing, which all have the same size, can be merged",
               "use --codec top-k --codec.packing none");
      }
      return std::make_unique<GlobalTopKMean>(shard, layout, up);
    default:
      return std::make_unique<ServerMean>(shard, layout, up, down);
  }
}

}  // namespace onebit::compress
