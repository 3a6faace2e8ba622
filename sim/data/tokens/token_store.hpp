#pragma once
// Tokens in memory or mapped, and a data source whose examples are windows of them.

#include <vector>

#include "sim/data/data.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// A sequence of tokens, each an unsigned little-endian number of `width` bytes. It consists of pieces, which are not
/// copied but used where they are in memory.
class TokenStore {
 public:
  /// Makes an empty sequence. width: 1, 2 or 4.
  explicit TokenStore(Index width) : width_(width) {}

  /// Appends the tokens of `bytes` starting at byte `first`; the bytes must be a whole number of tokens.
  void add(Bytes bytes, Index first = 0);

  Index width() const { return width_; }
  Index size() const { return pieces_.empty() ? 0 : pieces_.back().end; }

  /// Writes the tokens [first, first + out.size()), which must exist, to `out`.
  void read(Index first, std::span<std::int32_t> out) const;

 private:
  struct Piece {
    Bytes bytes;
    Index first;
    Index end;  // number of tokens in this piece and the pieces before it
  };

  void unpack(const std::uint8_t* from, std::span<std::int32_t> out) const;

  Index width_;
  std::vector<Piece> pieces_;
};

/// Tokens as they were read.
struct TokenData {
  DataFacts facts;        ///< name, hash and provenance are set
  TokenStore tokens;      ///< tokens, all below `vocabulary`
  Index test = 0;         ///< number of tokens at the end that are held out; 0: as config.holdout says
  Index vocabulary = 0;   ///< number of different tokens
  bool has_mask = false;  ///< whether the last of them is the mask token; if not, masking adds one
  std::string where;      ///< names the data in errors
  std::string unit = "tokens";
};

/// Makes a source of examples. An example is a position that is preceded by at least config.context tokens of the same
/// split, so the examples of different splits share no tokens. config.target selects what is predicted. Throws
/// ConfigError if a split is shorter than an example.
std::unique_ptr<DataSource> make_token_source(TokenData data, const DataConfig& config);

}  // namespace onebit::sim
