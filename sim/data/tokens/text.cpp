#include "sim/data/tokens/text.hpp"

#include <optional>
#include <utility>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "sim/data/hash.hpp"
#include "sim/data/tokens/text_files.hpp"
#include "sim/data/tokens/token_store.hpp"
#include "sim/data/tokens/word_pieces.hpp"

namespace onebit::sim {
namespace {

constexpr Index vocabulary_limit = Index{1} << 30;  // bytes of the vocabulary's file

std::optional<WordPieces> read_vocabulary(const DataConfig& config) {
  if (config.vocabulary.empty() && config.lowercase) {
    throw ConfigError("lower case applies only to word pieces", "--data.lowercase", "give --data.vocabulary FILE");
  }
  if (config.vocabulary.empty()) return std::nullopt;
  const InputFile file(config.vocabulary, "give a file with one word piece per line with --data.vocabulary");
  return WordPieces(file.load(Switch::no, vocabulary_limit));
}

/// Packs tokens of the text `name` into the store's width.
Bytes packed(const std::string& name, const std::vector<std::int32_t>& tokens, Index width) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(tokens.size() * static_cast<std::size_t>(width));
  for (const std::int32_t token : tokens) {
    for (Index i = 0; i < width; ++i) bytes.push_back(static_cast<std::uint8_t>(token >> (8 * i)));
  }
  return {name, std::move(bytes)};
}

Index width_for(Index vocabulary) {
  return vocabulary <= 256 ? 1 : vocabulary <= 65536 ? 2 : 4;
}

}  // namespace

std::unique_ptr<DataSource> make_text(const DataConfig& config) {
  const std::vector<std::string> paths = config.paths.empty() ? default_texts() : config.paths;
  const std::optional<WordPieces> pieces = read_vocabulary(config);
  const Index vocabulary = pieces ? pieces->size() : 256;
  TokenData data{.facts = {.name = "text"},
                 .tokens = TokenStore(width_for(vocabulary)),
                 .vocabulary = vocabulary,
                 .has_mask = pieces && pieces->has_mask(),
                 .where = join(paths, ", "),
                 .unit = pieces ? "tokens" : "bytes"};
  TextReader reader(config.mapping, pieces.has_value());
  Fnv1a hash;
  std::string word;
  const auto take = [&](const Bytes& text, bool ends) {
    hash.add(text.data(), text.view().size());
    if (!pieces) return data.tokens.add(text);
    std::vector<std::int32_t> tokens;
    pieces->feed(text.text(), config.lowercase, word, tokens);
    if (ends) pieces->finish(word, tokens);
    data.tokens.add(packed(text.name(), tokens, data.tokens.width()));
  };
  const auto add = [&](const std::vector<std::string>& names) {
    const Index before = data.tokens.size();
    reader.read(names, take);
    return data.tokens.size() - before;
  };
  add(paths);
  if (!config.test.empty()) data.test = add(config.test);
  data.facts.hash = hash.hex();
  data.facts.provenance = reader.provenance();
  return make_token_source(std::move(data), config);
}

}  // namespace onebit::sim
