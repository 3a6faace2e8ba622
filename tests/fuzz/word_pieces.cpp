#include <algorithm>

#include "sim/data/tokens/word_pieces.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace onebit;

/// A vocabulary, up to the first zero byte, and a text.
ONEBIT_FUZZ(word_pieces, input) {
  const bool lowercase = input.byte() % 2 != 0;
  const std::uint8_t* const begin = input.rest().data();
  const std::uint8_t* const end = begin + input.rest().size();
  const std::uint8_t* const middle = std::find(begin, end, 0);
  const sim::WordPieces pieces(sim::Bytes("FILE", {begin, middle}));
  const std::string text(middle, end);
  std::vector<std::int32_t> tokens;
  pieces.encode(text, lowercase, tokens);
  fuzz::require(tokens.size() <= text.size());
  for (const std::int32_t token : tokens) fuzz::require(token >= 0 && token < pieces.size());
}
