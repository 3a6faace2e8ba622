#include <algorithm>

#include "sim/data/word_pieces.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace onebit;

/// A vocabulary, up to the first zero byte, and a text.
ONEBIT_FUZZ(input) {
  const bool lowercase = input.byte() % 2 != 0;
  const auto rest = input.rest();
  const auto end = std::find(rest.begin(), rest.end(), 0);
  const sim::WordPieces pieces(sim::Bytes("FILE", {rest.begin(), end}));
  const std::string text(end, rest.end());
  std::vector<std::int32_t> tokens;
  pieces.encode(text, lowercase, tokens);
  fuzz::require(tokens.size() <= text.size());
  for (const std::int32_t token : tokens) fuzz::require(token >= 0 && token < pieces.size());
}
