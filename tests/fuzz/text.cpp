#include <algorithm>

#include "sim/data/tokens/token_store.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace onebit;

/// Windows of a text in two files, with any context, split and target: drawn ones, and the first and the last held-out
/// one.
ONEBIT_FUZZ(text, input) {
  sim::DataConfig config{.holdout = static_cast<double>(input.byte()) / 200.0};
  const char* splits[] = {"iid", "size", "size:0", "label"};
  config.context = input.byte() % 9;
  config.split = splits[input.byte() % 4];
  config.workers = 1 + input.byte() % 5;
  config.target = static_cast<sim::Target>(input.byte() % 3);
  const bool test = input.byte() % 2 != 0;
  const auto rest = input.rest();
  sim::TokenData data{.facts = {.name = "text"}, .tokens = sim::TokenStore(1), .vocabulary = 256, .where = "FILE"};
  const std::size_t half = rest.size() / 2;
  data.tokens.add(sim::Bytes("FILE", {rest.data(), rest.data() + half}));
  data.tokens.add(sim::Bytes("FILE", {rest.data() + half, rest.data() + rest.size()}));
  if (test) data.test = static_cast<Index>(rest.size() - half);
  const auto source = sim::make_token_source(std::move(data), config);
  sim::Batch batch;
  const auto check = [&] {
    for (const std::int32_t token : batch.tokens) fuzz::require(token >= 0 && token < source->vocabulary());
    for (const std::int32_t label : batch.labels) fuzz::require(label >= sim::kNoLabel && label < source->classes());
  };
  source->sample(0, {0, config.workers}, 3, batch);
  check();
  const Index held_out = source->holdout_size(), few = std::min(held_out, Index{8});
  for (const Index first : {Index{0}, held_out - few}) {
    source->holdout(first, few, batch);
    check();
  }
}
