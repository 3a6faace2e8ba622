#include "sim/data/tokens/word_pieces.hpp"

#include <algorithm>
#include <utility>

namespace onebit::sim {
namespace {

constexpr Index most_pieces = Index{1} << 24;
constexpr std::size_t longest_word = 200;

bool continues(std::string_view piece) {
  return piece.size() > 2 && piece.starts_with("##");
}

bool separates(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == 127;
}

bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

WordPieces::WordPieces(Bytes file) : file_(std::move(file)) {
  const std::string_view text = file_.text();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view piece = text.substr(begin, end - begin);
    if (piece.ends_with('\r')) piece.remove_suffix(1);
    add(piece, static_cast<Index>(begin));
    begin = end + 1;
  }
  const auto unknown = starts_.find("[UNK]");
  if (unknown == starts_.end())
    file_.refuse("no piece [UNK]", file_.size(), "a vocabulary has one piece per line, and [UNK] must be one");
  move_mask();
  unknown_ = unknown->second;
}

void WordPieces::add(std::string_view piece, Index offset) {
  if (piece.empty()) file_.refuse("an empty piece", offset, "a vocabulary has one piece per line");
  if (size_ == most_pieces) file_.refuse("more than " + std::to_string(most_pieces) + " pieces", offset);
  const std::string_view part = continues(piece) ? piece.substr(2) : piece;
  const auto token = static_cast<std::int32_t>(size_++);
  if (!(continues(piece) ? continuations_ : starts_).emplace(part, token).second) {
    file_.refuse("a repeated piece", offset);
  }
  longest_ = std::max(longest_, part.size());
  last_ = piece;
}

void WordPieces::move_mask() {
  const auto mask = starts_.find("[MASK]");
  has_mask_ = mask != starts_.end();
  if (!has_mask_) return;
  std::int32_t& last = continues(last_) ? continuations_.at(last_.substr(2)) : starts_.at(last_);
  std::swap(mask->second, last);
}

void WordPieces::encode(std::string_view text, bool lowercase, std::vector<std::int32_t>& tokens) const {
  std::string word;
  feed(text, lowercase, word, tokens);
  finish(word, tokens);
}

void WordPieces::finish(std::string& word, std::vector<std::int32_t>& tokens) const {
  if (!word.empty()) encode_word(word, tokens);
  word.clear();
}

void WordPieces::feed(std::string_view text, bool lowercase, std::string& word,
                      std::vector<std::int32_t>& tokens) const {
  for (const char c : text) {
    if (separates(c)) {
      finish(word, tokens);
    } else if (is_punctuation(c)) {
      finish(word, tokens);
      encode_word({&c, 1}, tokens);
    } else if (word.size() <= longest_word) {  // stops at one byte more than allowed
      word += lowercase ? lower(c) : c;
    }
  }
}

void WordPieces::encode_word(std::string_view word, std::vector<std::int32_t>& tokens) const {
  const std::size_t before = tokens.size();
  const Pieces* pieces = &starts_;
  while (!word.empty() && word.size() <= longest_word) {
    std::size_t length = std::min(word.size(), longest_);
    auto found = pieces->find(word.substr(0, length));
    while (found == pieces->end() && length > 1) found = pieces->find(word.substr(0, --length));
    if (found == pieces->end()) break;
    tokens.push_back(found->second);
    word.remove_prefix(length);
    pieces = &continuations_;
  }
  if (word.empty()) return;
  tokens.resize(before);
  tokens.push_back(unknown_);
}

}  // namespace onebit::sim
