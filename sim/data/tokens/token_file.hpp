#pragma once
// Reads files of tokens that another program made from text.

#include <memory>

#include "sim/data/data.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// Reads files of unsigned little-endian tokens, plain or gzipped, in sequence. Each begins with 32 bytes,
///   0  "1BTOKENS"
///   8  uint32 version, 1
///  12  uint32 bytes of a token: 1, 2 or 4
///  16  uint64 size of the vocabulary; 0 for the largest token plus one
///  24  uint64 number of tokens, which fill the rest of the file
/// or has no header; config.token_bytes then gives the bytes per token. config.paths names one or more files,
/// config.test any number of files; all must have the same number of bytes per token. The vocabulary is the largest of
/// all files, at most 2^24. Tokens are not copied but used where they were read or mapped. Examples are as in
/// make_text; the hash covers the unpacked bytes. Throws ConfigError naming file, offset and reason for anything
/// damaged, a token outside the vocabulary, or more than 2^32 tokens.
std::unique_ptr<DataSource> make_tokens(const DataConfig& config);

/// Layout of a token file.
struct TokenLayout {
  Index width = 0;       ///< bytes per token
  Index first = 0;       ///< bytes before the tokens
  Index vocabulary = 0;  ///< size of the vocabulary; all tokens are below it
};

/// Checks the header of a file, if it has one. Returns the size that the file should have; 0 if `begin`
/// does not contain a whole header.
Index token_file_size(const Bytes& begin);

/// Checks a whole file and returns its layout. token_bytes: as in DataConfig.
TokenLayout parse_tokens(const Bytes& bytes, Index token_bytes);

}  // namespace onebit::sim
