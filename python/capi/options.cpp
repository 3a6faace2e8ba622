#include "python/capi/options.hpp"

#include "experiments/options/option_fields.hpp"
#include "optim/optimizer.hpp"

namespace onebit::capi {
namespace {

using experiments::RunOption;

const std::vector<RunOption>& table() {
  static const std::vector<RunOption> all = experiments::joined<sim::RunConfig>(
      {experiments::optimizer_options(),
       experiments::freeze_options(),
       experiments::exchange_options(),
       {experiments::bounded("seed", "seed of the codecs' random numbers", 0xFFFFFFFF, ONEBIT_PLACE(seed))}});
  return all;
}

void refuse_tree(const compress::ExchangeConfig& exchange) {
  if (exchange.pattern != compress::ExchangePattern::tree) return;
  throw ConfigError("the channel tree exists in simulations only: real ranks would exchange all payloads",
                    "channel tree", "use --channel gather");
}

}  // namespace

optim::OptimizerConfig config_of(std::span<const onebit_option> options) {
  sim::RunConfig config;
  bool chose_codec = false;
  for (const onebit_option& option : options) {
    experiments::option_in(table(), option.name, "").set(config, option.value);
    chose_codec |= std::string_view(option.name) == "codec";
  }
  optim::OptimizerConfig optimizer = config.optimizer;
  optimizer.exchange.up.name = optim::codec_of(optimizer, chose_codec);
  optimizer.exchange.seed = config.seed;
  refuse_tree(optimizer.exchange);
  return optimizer;
}

}  // namespace onebit::capi
