#pragma once
// Text as tokens of a fixed vocabulary of words and parts of words.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// A vocabulary of word pieces like BERT's (Wu et al. 2016; Devlin et al. 2018): a text file with one piece per line.
/// The token of a piece is its line number, from 0. A piece that continues a word starts with `##`. [UNK] must be one
/// of the pieces.
///
/// Text is split at white space and control characters; every ASCII punctuation character is a separate word. A word is
/// cut greedily into the longest pieces from its start. A word that cannot be split this way, or that has more than 200
/// bytes, becomes [UNK].
///
/// Deviations from the released code: characters beyond ASCII are neither converted to lower case nor stripped of
/// accents, and words are not split at them. [MASK], if there is one, changes places with the last piece, because
/// masking expects the mask last.
class WordPieces {
 public:
  /// Reads the vocabulary. Throws ConfigError naming file, offset and reason for an empty or repeated piece, too many
  /// pieces, or no [UNK].
  explicit WordPieces(Bytes file);

  Index size() const { return size_; }
  bool has_mask() const { return has_mask_; }

  /// Appends the tokens of `text`. lowercase: converts ASCII letters to lower case first.
  void encode(std::string_view text, bool lowercase, std::vector<std::int32_t>& tokens) const;

  /// Append the tokens of a text that comes in pieces of any size. `word` must be empty at first, and holds the
  /// beginning of an unfinished word between calls; finish() marks the end of the text.
  void feed(std::string_view text, bool lowercase, std::string& word, std::vector<std::int32_t>& tokens) const;
  void finish(std::string& word, std::vector<std::int32_t>& tokens) const;

 private:
  using Pieces = std::unordered_map<std::string_view, std::int32_t>;

  void add(std::string_view piece, Index offset);
  void move_mask();
  void encode_word(std::string_view word, std::vector<std::int32_t>& tokens) const;

  Bytes file_;  // owns the text of the pieces
  Pieces starts_, continuations_;
  std::string_view last_;
  std::int32_t unknown_ = 0;
  std::size_t longest_ = 0;
  Index size_ = 0;
  bool has_mask_ = false;
};

}  // namespace onebit::sim
