#pragma once
// The tensors of published architectures, from their hyper-parameters. Each list contains every trained parameter once,
// in the order of the layers.

#include <span>
#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::netmodel {

/// A tensor as a matrix. A convolution has a row for each of its outputs. Vectors have one row.
struct TensorShape {
  std::string name;
  Index rows = 1, columns = 1;

  Index size() const { return rows * columns; }
};

Index total_size(std::span<const TensorShape> tensors);

/// What follows the encoder of a BERT: the two tasks of pre-training (tied output embedding), or the two outputs of
/// question answering.
enum class BertHead { pretraining, questions };

/// Tensors of a BERT (Devlin et al. 2019) with 30,522 tokens, 512 positions and feed-forward layers of 4 x hidden.
std::vector<TensorShape> bert_tensors(Index layers, Index hidden, BertHead head);

/// Tensors of a GPT-2 (Radford et al. 2019) with 50,257 tokens, 1,024 positions and a tied output embedding.
std::vector<TensorShape> gpt2_tensors(Index layers, Index hidden);

/// Tensors of a ResNet with bottleneck blocks (He et al. 2016) for 1,000 classes. `blocks`: number of blocks in each of
/// the four groups.
std::vector<TensorShape> resnet_tensors(std::span<const Index> blocks);

/// Tensors of GPT-NeoX (Black et al. 2022), whose output embedding is not tied.
std::vector<TensorShape> gpt_neox_tensors(Index layers, Index hidden, Index vocabulary);

/// Hyper-parameters of Llama and of the models built like it (Mistral, Qwen2).
struct LlamaSizes {
  Index layers, hidden;
  Index keys;          ///< outputs of the key and of the value projection: key-value heads x head size
  Index feed_forward;  ///< outputs of the gate
  Index vocabulary;
  bool biases = false;  ///< whether queries, keys and values have biases, as in Qwen2
  bool tied = false;    ///< whether the output embedding is the input embedding
};

std::vector<TensorShape> llama_tensors(const LlamaSizes& sizes);

}  // namespace onebit::netmodel
