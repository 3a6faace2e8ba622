#include "netmodel/step/tensor_shapes.hpp"

#include <utility>

namespace onebit::netmodel {
namespace {

/// A list of tensors that grows layer by layer.
class Tensors {
 public:
  void matrix(const std::string& name, Index rows, Index columns) { list_.push_back({name, rows, columns}); }
  void vector(const std::string& name, Index size) { list_.push_back({name, 1, size}); }
  /// A linear layer with a bias.
  void linear(const std::string& name, Index outputs, Index inputs) {
    matrix(name + ".weight", outputs, inputs);
    vector(name + ".bias", outputs);
  }
  /// A layer norm or batch norm, with scale and shift.
  void norm(const std::string& name, Index size) {
    vector(name + ".weight", size);
    vector(name + ".bias", size);
  }
  /// A convolution with kernels of width x width, followed by a batch norm.
  void convolution(const std::string& name, Index outputs, Index inputs, Index width) {
    matrix(name + ".weight", outputs, inputs * width * width);
    norm(name + ".norm", outputs);
  }
  std::vector<TensorShape> take() { return std::move(list_); }

 private:
  std::vector<TensorShape> list_;
};

std::string layer_name(Index layer) {
  return "layer" + std::to_string(layer) + ".";
}

}  // namespace

Index total_size(std::span<const TensorShape> tensors) {
  Index sum = 0;
  for (const TensorShape& tensor : tensors) sum += tensor.size();
  return sum;
}

std::vector<TensorShape> bert_tensors(Index layers, Index hidden, BertHead head) {
  constexpr Index vocabulary = 30'522, positions = 512, segments = 2;
  Tensors all;
  all.matrix("embeddings.words", vocabulary, hidden);
  all.matrix("embeddings.positions", positions, hidden);
  all.matrix("embeddings.segments", segments, hidden);
  all.norm("embeddings.norm", hidden);
  for (Index layer = 0; layer < layers; ++layer) {
    const std::string name = layer_name(layer);
    for (const char* part : {"query", "key", "value", "attention"}) all.linear(name + part, hidden, hidden);
    all.norm(name + "attention.norm", hidden);
    all.linear(name + "intermediate", 4 * hidden, hidden);
    all.linear(name + "output", hidden, 4 * hidden);
    all.norm(name + "output.norm", hidden);
  }
  all.linear("pooler", hidden, hidden);
  if (head == BertHead::questions) {
    all.linear("answers", 2, hidden);
    return all.take();
  }
  all.vector("words.bias", vocabulary);
  all.linear("words.transform", hidden, hidden);
  all.norm("words.norm", hidden);
  all.linear("next_sentence", 2, hidden);
  return all.take();
}

std::vector<TensorShape> gpt2_tensors(Index layers, Index hidden) {
  constexpr Index vocabulary = 50'257, positions = 1'024;
  Tensors all;
  all.matrix("embeddings.words", vocabulary, hidden);
  all.matrix("embeddings.positions", positions, hidden);
  for (Index layer = 0; layer < layers; ++layer) {
    const std::string name = layer_name(layer);
    all.norm(name + "norm1", hidden);
    all.linear(name + "query_key_value", 3 * hidden, hidden);
    all.linear(name + "attention", hidden, hidden);
    all.norm(name + "norm2", hidden);
    all.linear(name + "intermediate", 4 * hidden, hidden);
    all.linear(name + "output", hidden, 4 * hidden);
  }
  all.norm("norm", hidden);
  return all.take();
}

std::vector<TensorShape> resnet_tensors(std::span<const Index> blocks) {
  constexpr Index classes = 1'000, expansion = 4;
  Tensors all;
  all.convolution("first", 64, 3, 7);
  Index inputs = 64, width = 64;
  for (std::size_t group = 0; group < blocks.size(); ++group, width *= 2) {
    for (Index block = 0; block < blocks[group]; ++block) {
      const std::string name = "group" + std::to_string(group) + ".block" + std::to_string(block) + ".";
      all.convolution(name + "narrow", width, inputs, 1);
      all.convolution(name + "middle", width, width, 3);
      all.convolution(name + "wide", expansion * width, width, 1);
      if (block == 0) all.convolution(name + "shortcut", expansion * width, inputs, 1);
      inputs = expansion * width;
    }
  }
  all.linear("classes", classes, inputs);
  return all.take();
}

std::vector<TensorShape> gpt_neox_tensors(Index layers, Index hidden, Index vocabulary) {
  Tensors all;
  all.matrix("embeddings.words", vocabulary, hidden);
  for (Index layer = 0; layer < layers; ++layer) {
    const std::string name = layer_name(layer);
    all.norm(name + "norm1", hidden);
    all.norm(name + "norm2", hidden);
    all.linear(name + "query_key_value", 3 * hidden, hidden);
    all.linear(name + "attention", hidden, hidden);
    all.linear(name + "intermediate", 4 * hidden, hidden);
    all.linear(name + "output", hidden, 4 * hidden);
  }
  all.norm("norm", hidden);
  all.matrix("words", vocabulary, hidden);
  return all.take();
}

std::vector<TensorShape> llama_tensors(const LlamaSizes& sizes) {
  const Index hidden = sizes.hidden;
  Tensors all;
  const auto projection = [&](const std::string& name, Index outputs) {
    all.matrix(name + ".weight", outputs, hidden);
    if (sizes.biases) all.vector(name + ".bias", outputs);
  };
  all.matrix("embeddings.words", sizes.vocabulary, hidden);
  for (Index layer = 0; layer < sizes.layers; ++layer) {
    const std::string name = layer_name(layer);
    projection(name + "query", hidden);
    projection(name + "key", sizes.keys);
    projection(name + "value", sizes.keys);
    all.matrix(name + "attention.weight", hidden, hidden);
    all.matrix(name + "gate.weight", sizes.feed_forward, hidden);
    all.matrix(name + "up.weight", sizes.feed_forward, hidden);
    all.matrix(name + "down.weight", hidden, sizes.feed_forward);
    all.vector(name + "norm1.weight", hidden);
    all.vector(name + "norm2.weight", hidden);
  }
  all.vector("norm.weight", hidden);
  if (!sizes.tied) all.matrix("words.weight", sizes.vocabulary, hidden);
  return all.take();
}

}  // namespace onebit::netmodel
