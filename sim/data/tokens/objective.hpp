#pragma once
// Sets what a model predicts from a window of tokens.

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Returns the vocabulary size of the examples, for data that contain `tokens` different tokens. The masked target adds
/// one token, the mask token, which comes last.
Index vocabulary_of(Target target, Index tokens);

/// Returns the number of labels of an example of `context` tokens.
Index targets_of(Target target, Index context);

/// Finishes row `row` of a batch of token data. out.tokens already has the row's tokens, `next` is the token after
/// them, and the sizes and place of `out` are set. Writes the row's labels and, for the masked target, masks its
/// tokens:
///
/// max(1, round(0.15 context)) places are chosen, the same number in every example (Devlin et al. 2018, A.1; the number
/// is that of the released code). Of the chosen tokens, 80% become the mask token, vocabulary - 1; 10% become a token
/// drawn uniformly from all but the mask token (possibly the same one); 10% stay unchanged. Their labels are the
/// original tokens; all other labels are kNoLabel. The choice depends only on where the row comes from: in training, on
/// seed, step, worker and draw; in the held-out split, on the number of the example.
void set_labels(Target target, Index vocabulary, std::int32_t next, Index row, Batch& out);

}  // namespace onebit::sim
