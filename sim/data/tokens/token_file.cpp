#include "sim/data/tokens/token_file.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "sim/data/files/input_file.hpp"
#include "sim/data/hash.hpp"
#include "sim/data/tokens/token_store.hpp"

namespace onebit::sim {
namespace {

constexpr std::string_view magic = "1BTOKENS";
constexpr Index header_bytes = 32;
constexpr Index most_tokens = Index{1} << 32;  // uniform_index cannot draw from more
constexpr Index most_vocabulary = Index{1} << 24;

bool is_width(Index width) {
  return width == 1 || width == 2 || width == 4;
}

/// The contents of a header.
struct Header {
  TokenLayout layout;  ///< with the vocabulary as stored, which may be 0
  Index size = 0;      ///< size of the whole file
};

Header read_header(const Bytes& bytes) {
  bytes.need(header_bytes);
  if (bytes.little_endian(8, 4) != 1) {
    bytes.refuse("the token file has version " + std::to_string(bytes.little_endian(8, 4)) + ", expected 1", 8);
  }
  const auto width = static_cast<Index>(bytes.little_endian(12, 4));
  if (!is_width(width)) bytes.refuse("tokens of " + std::to_string(width) + " bytes, expected 1, 2 or 4", 12);
  const std::uint64_t vocabulary = bytes.little_endian(16, 8);
  if (vocabulary > static_cast<std::uint64_t>(most_vocabulary)) {
    bytes.refuse("the vocabulary has " + std::to_string(vocabulary) + " entries; at most " +
                     std::to_string(most_vocabulary) + " are allowed",
                 16);
  }
  const std::uint64_t count = bytes.little_endian(24, 8);
  if (count > static_cast<std::uint64_t>(most_tokens)) {
    bytes.refuse(
        "the file has " + std::to_string(count) + " tokens; at most " + std::to_string(most_tokens) + " are allowed",
        24);
  }
  return {{width, header_bytes, static_cast<Index>(vocabulary)}, header_bytes + static_cast<Index>(count) * width};
}

bool has_header(const Bytes& bytes) {
  return bytes.text().starts_with(magic);
}

TokenLayout with_header(const Bytes& bytes) {
  const Header header = read_header(bytes);
  bytes.need(header.size);
  bytes.expect_end(header.size);
  return header.layout;
}

TokenLayout without_header(const Bytes& bytes, Index token_bytes) {
  if (token_bytes == 0) {
    bytes.refuse("the file has no header", 0, "give the bytes per token with --data.token-bytes 1, 2 or 4");
  }
  if (bytes.size() / token_bytes > most_tokens) bytes.refuse("more than 2^32 tokens", most_tokens * token_bytes);
  bytes.need(round_up(bytes.size(), token_bytes));
  return {token_bytes, 0, 0};
}

/// Returns the size of the vocabulary: layout.vocabulary or, if that is 0, the largest token plus one. Refuses tokens
/// outside the vocabulary.
Index checked_vocabulary(const Bytes& bytes, const TokenLayout& layout) {
  const Index limit = layout.vocabulary > 0 ? layout.vocabulary : most_vocabulary;
  Index largest = 0;
  for (Index at = layout.first; at < bytes.size(); at += layout.width) {
    const auto token = static_cast<Index>(bytes.little_endian(at, layout.width));
    if (token >= limit) {
      bytes.refuse("token " + std::to_string(token) + " is outside the vocabulary of " + std::to_string(limit), at);
    }
    largest = std::max(largest, token);
  }
  return layout.vocabulary > 0 ? layout.vocabulary : largest + 1;
}

}  // namespace

Index token_file_size(const Bytes& begin) {
  return has_header(begin) && begin.size() >= header_bytes ? read_header(begin).size : 0;
}

TokenLayout parse_tokens(const Bytes& bytes, Index token_bytes) {
  TokenLayout layout = has_header(bytes) ? with_header(bytes) : without_header(bytes, token_bytes);
  if (token_bytes != 0 && layout.width != token_bytes) {
    bytes.refuse("tokens of " + std::to_string(layout.width) + " bytes, expected " + std::to_string(token_bytes), 12);
  }
  if (layout.first == bytes.size()) bytes.refuse("no tokens", bytes.size());
  layout.vocabulary = checked_vocabulary(bytes, layout);
  return layout;
}

std::unique_ptr<DataSource> make_tokens(const DataConfig& config) {
  if (config.paths.empty()) throw ConfigError("no token files given", "--data tokens", "give files with --data.path");
  if (config.token_bytes != 0 && !is_width(config.token_bytes)) {
    throw ConfigError("option out of range", "--data.token-bytes " + std::to_string(config.token_bytes), "1, 2 or 4");
  }
  TokenData data{.facts = {.name = "tokens"}, .tokens = TokenStore(1), .where = join(config.paths, ", ")};
  Fnv1a hash;
  const auto add = [&](const std::vector<std::string>& paths) {
    const Index before = data.tokens.size();
    for (const std::string& path : paths) {
      const InputFile file(path, "give token files with --data.path");
      const Index stated = token_file_size(file.opening()), enough = stated > 0 ? stated + 1 : 0;
      const Bytes bytes = file.load(config.mapping, header_bytes + 4 * most_tokens, enough);
      const TokenLayout layout = parse_tokens(bytes, config.token_bytes);
      if (data.tokens.size() == 0) data.tokens = TokenStore(layout.width);
      if (layout.width != data.tokens.width()) {
        bytes.refuse("tokens of " + std::to_string(layout.width) + " bytes, but those of the previous files have " +
                         std::to_string(data.tokens.width()),
                     12);
      }
      data.tokens.add(bytes, layout.first);
      data.vocabulary = std::max(data.vocabulary, layout.vocabulary);
      hash.add(bytes.data(), bytes.view().size());
      data.facts.provenance.push_back(path + ": " + std::to_string((bytes.size() - layout.first) / layout.width) +
                                      " tokens");
    }
    return data.tokens.size() - before;
  };
  add(config.paths);
  data.test = add(config.test);
  if (data.tokens.size() > most_tokens) {
    throw ConfigError("more than 2^32 tokens", data.where, "give fewer files with --data.path");
  }
  data.facts.hash = hash.hex();
  return make_token_source(std::move(data), config);
}

}  // namespace onebit::sim
