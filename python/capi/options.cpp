#include "python/capi/options.hpp"

#include "compress/channels/exchange_pattern.hpp"
#include "compress/codecs/codec_options.hpp"
#include "experiments/options/option_fields.hpp"
#include "optim/optimizer.hpp"

namespace onebit::capi {
namespace {

using Table = std::vector<experiments::RunOption>;

Table exchange_table() {
  Table table = experiments::exchange_options();
  table.push_back(experiments::bounded("seed", "seed of the codecs' random numbers", 0xFFFFFFFF, ONEBIT_PLACE(seed)));
  return table;
}

/// Throws ConfigError if the option is a parameter of codecs that neither of the chosen codecs reads.
void require_read(const std::string& option, const compress::ExchangeConfig& exchange) {
  const std::string prefix = "codec.";
  if (!option.starts_with(prefix)) return;
  for (const char* of_all : {"codec.down", "codec.dense", "codec.dense-steps"}) {
    if (option == of_all) return;
  }
  for (const std::string& codec : {exchange.up.name, compress::down_of(exchange).name}) {
    if (has_word(compress::options_of_codec(codec).value_or(""), option.substr(prefix.size()))) return;
  }
  throw ConfigError("option has no effect", option + " with codec " + exchange.up.name, "leave it out");
}

optim::OptimizerConfig config_of(std::span<const onebit_option> options, const Table& table) {
  sim::RunConfig config;
  bool chose_codec = false;
  for (const onebit_option& option : options) {
    experiments::option_in(table, option.name, "").set(config, option.value);
    chose_codec |= std::string_view(option.name) == "codec";
  }
  optim::OptimizerConfig optimizer = config.optimizer;
  compress::ExchangeConfig& exchange = optimizer.exchange;
  exchange.up.name = optim::codec_of(optimizer, chose_codec);
  exchange.seed = config.seed;
  compress::codec_entry(exchange.up.name);  // an unknown codec is refused before its parameters are
  for (const onebit_option& option : options) require_read(option.name, exchange);
  if (exchange.pattern == compress::ExchangePattern::tree) {
    throw ConfigError("the channel tree exists in simulations only: real ranks would exchange all payloads",
                      "channel tree", "use channel gather");
  }
  return optimizer;
}

}  // namespace

compress::ExchangeConfig exchange_of(std::span<const onebit_option> options) {
  return config_of(options, exchange_table()).exchange;
}

optim::OptimizerConfig optimizer_of(std::span<const onebit_option> options) {
  return config_of(options, experiments::joined<sim::RunConfig>(
                                {experiments::optimizer_options(), experiments::freeze_options(), exchange_table()}));
}

}  // namespace onebit::capi
