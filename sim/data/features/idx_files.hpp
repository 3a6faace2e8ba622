#pragma once
// Finds the two files of an IDX data set.

#include <string>
#include <vector>

namespace onebit::sim {

struct IdxPair {
  std::string images;
  std::string labels;
  std::string note;  ///< which pair was chosen and what the alternatives were; empty if there was only one
};

/// Finds the pair of files; see make_idx for the rules. Throws ConfigError if there is no pair, or no way to choose
/// one.
IdxPair find_idx_pair(const std::vector<std::string>& paths);

}  // namespace onebit::sim
