#pragma once
// Text as data: a model predicts its bytes or word pieces.

#include <memory>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Makes a source of text. The corpus is the concatenation of all files of config.paths. Paths are read in the order
/// given. Folders are read with everything below them, sorted by path, without hidden entries and symbolic links. A
/// file with a NUL byte in its first 8 KiB counts as binary and is skipped, and so is a file that was already read; the
/// provenance lists skipped files. Without paths, the corpus is Debian's licence texts or, if there are none, the
/// program's own sources if they still exist. Bytes are not copied but used where they were read or mapped; with a
/// vocabulary, only the encoded tokens are kept.
///
/// config.target (objective.hpp) selects what is predicted. Tokens are the 256 byte values (257 tokens with the mask
/// token) or, if config.vocabulary is given, the word pieces in that file (word_pieces.hpp). The held-out split is the
/// text of config.test or, without it, the last tokens: a fraction config.holdout of all of them. An example is a
/// position that is preceded by at least config.context tokens of the same split, so the examples of different splits
/// share no tokens. The hash is that of the text. Throws ConfigError if there is no readable text, too little of it or
/// more than 4 GiB, if a file cannot be read, or if the vocabulary is damaged; IoError if mapping a file fails.
std::unique_ptr<DataSource> make_text(const DataConfig& config);

}  // namespace onebit::sim
