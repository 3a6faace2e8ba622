#pragma once
// Any text as data: its bytes or word pieces are predicted.

#include <memory>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// The corpus is the concatenation of all files of config.paths: paths in the order given, folders with everything
/// below them, sorted by path, without hidden entries and symbolic links. A file with a NUL byte in its first 8 KiB
/// counts as binary and is skipped, as is one that was already read; provenance says so. Without paths: Debian's
/// licence texts, else the program's own sources if they still exist. Files stay in memory, or mapped, as they are.
///
/// config.target (objective.hpp) says what is predicted, out of 256 tokens, or 257 with the mask; with
/// config.vocabulary, out of its word pieces (word_pieces.hpp). The last config.holdout of the tokens is held out, or
/// the text of config.test. An example is a place with config.context tokens before it in its own split, so that no
/// token is in both. The hash is that of the text. Throws ConfigError if there is no readable text, too little or more
/// than 4 GiB, or the vocabulary is damaged; IoError if reading fails.
std::unique_ptr<DataSource> make_text(const DataConfig& config);

}  // namespace onebit::sim
