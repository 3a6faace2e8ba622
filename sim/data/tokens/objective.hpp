#pragma once
// What is predicted from a window of tokens.

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Number of different tokens in examples of data that has `tokens` of them: masking adds the mask token, the last one.
Index vocabulary_of(Target target, Index tokens);

/// Number of labels of an example of `context` tokens.
Index targets_of(Target target, Index context);

/// Finishes row `row` of a batch of token data: out.tokens has its tokens, `next` is the one after them, and out's
/// sizes and place are set. Writes the row's labels, and if the target is masked, masks its tokens:
///
/// max(1, round(0.15 context)) places are chosen, the same number in every example (Devlin et al. 2018, A.1; the number
/// as in the released code). Of these 80% become the mask token, vocabulary - 1; 10% a token drawn uniformly from all
/// others; 10% stay. Their labels are the original tokens, all other labels kNoLabel. The choice is a function of the
/// row's place alone: seed, step, worker and draw in training, the example in the held-out split.
void set_labels(Target target, Index vocabulary, std::int32_t next, Index row, Batch& out);

}  // namespace onebit::sim
