// Token files, word pieces, and the store of tokens below them.

#include <algorithm>
#include <string>
#include <vector>

#include "device/base/error.hpp"
#include "sim/data/tokens/token_file.hpp"
#include "sim/data/tokens/token_store.hpp"
#include "sim/data/tokens/word_pieces.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

namespace onebit::sim {
namespace {

using Catch::Matchers::Contains;
using tests::Folder;
using Tokens = std::vector<std::int32_t>;

Bytes bytes(const std::string& content) {
  return {"FILE", {content.begin(), content.end()}};
}

std::string little(std::uint64_t value, int width) {
  std::string text;
  for (int i = 0; i < width; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string token_file(const std::vector<std::uint64_t>& tokens, int width, std::uint64_t vocabulary = 0) {
  std::string text = "1BTOKENS" + little(1, 4) + little(static_cast<std::uint64_t>(width), 4) + little(vocabulary, 8) +
                     little(tokens.size(), 8);
  for (const std::uint64_t token : tokens) text += little(token, width);
  return text;
}

DataConfig tokens(std::vector<std::string> paths) {
  return {.name = "tokens", .paths = std::move(paths), .holdout = 0, .context = 2};
}

template <class Make>
void refuses(const Make& make, const std::string& reason) {
  CHECK_THROWS_AS(make(), ConfigError);
  CHECK_THROWS_WITH(make(), Contains(reason));
}

TEST_CASE("token store: any window, over pieces of any size") {
  for (const int width : {1, 2, 4}) {
    TokenStore store(width);
    Tokens all;
    for (const int size : {3, 0, 1, 5}) {
      std::string piece = "head";
      for (int i = 0; i < size; ++i) {
        all.push_back(width == 1 ? 200 + static_cast<int>(all.size()) : 60000 + static_cast<int>(all.size()));
        piece += little(static_cast<std::uint64_t>(all.back()), width);
      }
      store.add(bytes(piece), 4);
    }
    REQUIRE(store.size() == 9);
    for (std::size_t first = 0; first <= 9; ++first) {
      for (std::size_t count = 0; count <= 9 - first; ++count) {
        Tokens window(count);
        store.read(static_cast<Index>(first), window);
        CHECK(std::equal(window.begin(), window.end(), all.begin() + static_cast<std::ptrdiff_t>(first)));
      }
    }
  }
}

TEST_CASE("tokens: headers, widths, vocabularies") {
  for (const int width : {1, 2, 4}) {
    TokenLayout layout = parse_tokens(bytes(token_file({3, 250, 7}, width)), 0);
    CHECK((layout.width == width && layout.first == 32 && layout.vocabulary == 251));
    layout = parse_tokens(bytes(token_file({3, 250, 7}, width, 1000)), width);
    CHECK(layout.vocabulary == 1000);
    layout = parse_tokens(bytes(little(5, width) + little(4, width)), width);
    CHECK((layout.width == width && layout.first == 0 && layout.vocabulary == 6));
  }
}

TEST_CASE("tokens: files one after the other, a test file, windows") {
  const Folder folder;
  DataConfig config =
      tokens({folder.write("a", token_file({1, 2, 3}, 2, 9)), folder.write("b", token_file({4, 5}, 2))});
  config.test = {folder.write("c", token_file({6, 7, 8}, 2))};
  const auto source = make_data(config);
  CHECK(source->vocabulary() == 9);
  CHECK(source->classes() == 9);
  CHECK(source->train_size() == 3);
  CHECK(source->holdout_size() == 1);
  Batch out;
  source->holdout(0, 1, out);
  CHECK(out.tokens == Tokens{6, 7});
  CHECK(out.labels == Tokens{8});
  source->sample(0, {0, 1}, 60, out);
  CHECK(*std::min_element(out.labels.begin(), out.labels.end()) == 3);
  CHECK(*std::max_element(out.labels.begin(), out.labels.end()) == 5);
  for (std::size_t b = 0; b < 60; ++b) {
    CHECK((out.tokens[2 * b] == out.labels[b] - 2 && out.tokens[2 * b + 1] == out.labels[b] - 1));
  }
  config.target = Target::masked;
  CHECK(make_data(config)->vocabulary() == 10);
}

TEST_CASE("tokens: mapped or read, packed or not, the same source") {
  const Folder folder;
  DataConfig config = tokens({folder.write("a", token_file({1, 2, 3, 4, 5, 6, 7, 8}, 4))});
  Batch read, mapped;
  config.mapping = Switch::no;
  make_data(config)->sample(0, {0, 2}, 9, read);
  config.mapping = Switch::yes;
  const auto source = make_data(config);
  source->sample(0, {0, 2}, 9, mapped);
  CHECK(read.tokens == mapped.tokens);
  CHECK(read.labels == mapped.labels);
}

TEST_CASE("tokens: damage is refused with file, offset and reason") {
  const std::string good = token_file({3, 200}, 2, 201);
  const auto changed = [&](std::size_t place, const std::string& by) {
    std::string text = good;
    return text.replace(place, by.size(), by);
  };
  const struct {
    std::string content;
    Index token_bytes;
    const char* reason;
  } damages[] = {
      {"", 0, "the file has no header (FILE, offset 0); give the bytes per token"},
      {"1BTOKEN", 0, "no header"},
      {"", 2, "no tokens (FILE, offset 0)"},
      {"abc", 2, "truncated: 3 of 4 bytes (FILE, offset 3)"},
      {good.substr(0, 31), 0, "truncated: 31 of 32 bytes"},
      {good.substr(0, 35), 0, "truncated: 35 of 36 bytes"},
      {good + "x", 0, "trailing bytes: the header promises 36 (FILE, offset 36)"},
      {changed(8, little(2, 4)), 0, "the token file has version 2, expected 1 (FILE, offset 8)"},
      {changed(12, little(3, 4)), 0, "tokens of 3 bytes, expected 1, 2 or 4 (FILE, offset 12)"},
      {changed(12, little(0, 4)), 0, "tokens of 0 bytes"},
      {changed(16, little(200, 8)), 0, "token 200 is outside the vocabulary of 200 (FILE, offset 34)"},
      {changed(16, little(1ULL << 63, 8)), 0,
       "the vocabulary has 9223372036854775808 entries; at most 16777216 are allowed"},
      {changed(24, little(~0ULL, 8)), 0,
       "the file has 18446744073709551615 tokens; at most 4294967296 are allowed (FILE, offset 24)"},
      {changed(24, little(1ULL << 32, 8)), 0, "truncated: 36 of 8589934624 bytes"},
      {good, 4, "tokens of 2 bytes, expected 4"},
      {token_file({}, 2), 0, "no tokens (FILE, offset 32)"},
      {little(1, 4) + "\xff\xff\xff\xff", 4, "token 4294967295 is outside the vocabulary of 16777216 (FILE, offset 4)"},
  };
  for (const auto& damage : damages) {
    INFO(damage.reason);
    refuses([&] { parse_tokens(bytes(damage.content), damage.token_bytes); }, damage.reason);
  }
  const Folder folder;
  const std::string two = folder.write("two", good);
  refuses([&] { make_data(tokens({})); }, "--data.path");
  refuses(
      [&] {
        make_data(tokens({two, folder.write("four", token_file({1}, 4))}));
      },
      "those of the previous files have 2");
  refuses([&] { make_data(tokens({two})); }, "the training text has 2 tokens and --model.context is 2");
  DataConfig config = tokens({two});
  config.token_bytes = 3;
  refuses([&] { make_data(config); }, "--data.token-bytes 3");
}

Tokens encode(const std::string& vocabulary, const std::string& text, bool lowercase = false) {
  Tokens result;
  WordPieces(bytes(vocabulary)).encode(text, lowercase, result);
  return result;
}

const std::string small = "[UNK]\nun\n##aff\n##able\n,\nUn\n##a\naff\n";

TEST_CASE("word pieces: the longest first, unknown words whole") {
  CHECK(encode(small, "unaffable un") == Tokens{1, 2, 3, 1});
  CHECK(encode(small, " \tun,\nun\r\n") == Tokens{1, 4, 1});
  CHECK(encode(small, "una affaff unx able x ,,") == Tokens{1, 6, 7, 2, 0, 0, 0, 4, 4});
  CHECK(encode(small, "Un UN") == Tokens{5, 0});
  CHECK(encode(small, "Un UN", true) == Tokens{1, 1});
  CHECK(encode(small, "").empty());
  CHECK(encode(small, "caf\xc3\xa9 un") == Tokens{0, 1});
  CHECK(encode("[UNK]\r\n\xc3\xa9\r\n", "\xc3\xa9") == Tokens{1});
}

TEST_CASE("word pieces: a word of 200 bytes is cut, a longer one is unknown") {
  const std::string vocabulary = "a\n##a\n[UNK]\n";
  CHECK(encode(vocabulary, std::string(200, 'a')).size() == 200);
  CHECK(encode(vocabulary, std::string(201, 'a')) == Tokens{2});
  CHECK(encode(vocabulary, std::string(5000, 'a') + " a") == Tokens{2, 0});
}

TEST_CASE("word pieces: the mask comes last") {
  const WordPieces pieces(bytes("a\n[MASK]\n[UNK]\n##b"));
  CHECK(pieces.has_mask());
  CHECK(pieces.size() == 4);
  Tokens result;
  pieces.encode("ab a x", false, result);
  CHECK(result == Tokens{0, 1, 0, 2});
  CHECK_FALSE(WordPieces(bytes(small)).has_mask());
}

TEST_CASE("word pieces: a damaged vocabulary is refused") {
  refuses([] { WordPieces(bytes("a\nb\n")); }, "no piece [UNK] (FILE, offset 4)");
  refuses([] { WordPieces(bytes("")); }, "no piece [UNK]");
  refuses([] { WordPieces(bytes("a\n\n[UNK]\n")); }, "an empty piece (FILE, offset 2)");
  refuses([] { WordPieces(bytes("[UNK]\na\na\n")); }, "a repeated piece (FILE, offset 8)");
  CHECK_NOTHROW(WordPieces(bytes("[UNK]\na\n##a\n##\n")));
}

TEST_CASE("text: word pieces instead of bytes") {
  const Folder folder;
  DataConfig config{.name = "text", .paths = {folder.write("a", "un aff un aff un aff\nUn, unaff!")}, .holdout = 0.25};
  config.context = 2;
  config.vocabulary = folder.write("vocabulary", small);
  const auto source = make_data(config);
  CHECK(source->vocabulary() == 8);
  CHECK(source->train_size() + source->holdout_size() == 11 - 2 * 2);
  config.target = Target::masked;
  CHECK(make_data(config)->vocabulary() == 9);
  config.vocabulary = folder.write("with mask", small + "[MASK]\n");
  CHECK(make_data(config)->vocabulary() == 9);
  config.vocabulary = folder.path("missing");
  refuses([&] { make_data(config); }, "no such file");
}

}  // namespace
}  // namespace onebit::sim
