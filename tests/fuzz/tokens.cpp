#include "sim/data/tokens/token_file.hpp"
#include "sim/data/tokens/token_store.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace onebit;

ONEBIT_FUZZ(tokens, input) {
  constexpr Index widths[] = {0, 1, 2, 4};
  const Index token_bytes = widths[input.byte() % 4];
  const sim::Bytes file = input.file();
  const sim::TokenLayout layout = sim::parse_tokens(file, token_bytes);
  sim::TokenStore store(layout.width);
  store.add(file, layout.first);
  fuzz::require(store.size() > 0 && layout.first + store.size() * layout.width == file.size());
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(store.size()));
  store.read(0, tokens);
  for (const std::int32_t token : tokens) fuzz::require(token >= 0 && token < layout.vocabulary);
}
