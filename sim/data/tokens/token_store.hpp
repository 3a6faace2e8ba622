#pragma once
// Tokens in memory or mapped, and the source that serves windows of them.

#include <vector>

#include "sim/data/data.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// A sequence of tokens, each an unsigned little-endian number of `width` bytes, in pieces that stay where they were
/// read.
class TokenStore {
 public:
  /// Takes a width of 1, 2 or 4.
  explicit TokenStore(Index width) : width_(width) {}

  /// Appends the tokens of `bytes` from byte `first` on, a whole number of them.
  void add(Bytes bytes, Index first = 0);

  Index width() const { return width_; }
  Index size() const { return pieces_.empty() ? 0 : pieces_.back().end; }

  /// Writes the tokens [first, first + out.size()), which must exist, to `out`.
  void read(Index first, std::span<std::int32_t> out) const;

 private:
  struct Piece {
    Bytes bytes;
    Index first;
    Index end;  // tokens of this piece and those before it
  };

  void unpack(const std::uint8_t* from, std::span<std::int32_t> out) const;

  Index width_;
  std::vector<Piece> pieces_;
};

/// Tokens as they were read.
struct TokenData {
  DataFacts facts;        ///< name, hash, provenance
  TokenStore tokens;      ///< all below `vocabulary`
  Index test = 0;         ///< how many of the last tokens are held out; 0: config.holdout of all
  Index vocabulary = 0;   ///< different tokens
  bool has_mask = false;  ///< the last of them is the mask token; else masking adds one
  std::string where;      ///< names the data in errors
  std::string unit = "tokens";
};

/// Makes a source whose examples are places with config.context tokens before them in their own split: no token is in
/// both. config.target says what is predicted. Throws ConfigError if a split is shorter than an example.
std::unique_ptr<DataSource> make_token_source(TokenData data, const DataConfig& config);

}  // namespace onebit::sim
