// Evaluations of a cluster, its final weights, and the tensors that it reads from weights files.

#include <algorithm>

#include "sim/cluster/virtual_cluster.hpp"
#include "sim/models/auc.hpp"
#include "sim/run/weights_file.hpp"

namespace onebit::sim {

/// Reads the tensors that workers own.
void VirtualCluster::read_owned(const std::string& file) {
  const std::vector<compress::Tensor> tensors = model().all_tensors();
  const Index all = compress::total_size(tensors);
  for (Index first = model().parameters(); first < all; first += kWeightsAtOnce) {
    const std::vector<float> part = read_weights(file, tensors, {first, std::min(kWeightsAtOnce, all - first)});
    for (Replica& replica : replicas_) replica.model->owned_weights()->upload(part, first - model().parameters());
  }
}

device::Buffer<float> VirtualCluster::mean_weights() {
  device::Buffer<float> result;
  on_each_device([&](const Replica& replica) {
    device::Buffer<float> mean = replica.mean_weights();
    if (replica.shard.rank() == 0) result = std::move(mean);
  });
  return result;
}

std::vector<float> VirtualCluster::final_weights() {
  return optimizer().local_weights() ? mean_weights().to_host() : weights().to_host();
}

Evaluation VirtualCluster::evaluate(bool crosses_boundaries) {
  device::Buffer<float> mean;
  if (optimizer().local_weights()) mean = mean_weights();
  Evaluation total;
  on_each_device([&](const Replica& replica) {
    std::vector<double> numbers;
    if (replica.shard.rank() == 0) {
      total =
          evaluate_first({optimizer().local_weights() ? mean.data() : replica.weights.data(), 0}, crosses_boundaries);
      numbers = {total.loss, static_cast<double>(total.correct), static_cast<double>(total.examples), total.auc};
    }
    numbers = replica.shard.communicator->all_gather(numbers);
    if (&replica != &replicas_.front()) return;
    total = {.loss = numbers[0],
             .correct = static_cast<Index>(numbers[1]),
             .examples = static_cast<Index>(numbers[2]),
             .auc = numbers[3]};
  });
  return total;
}

/// Evaluates on the first device, about 256 labels at a time, so that a long context takes no more memory than in
/// training. On a device that only counts memory, evaluates only the first block and the last one, which may be
/// smaller.
Evaluation VirtualCluster::evaluate_first(const Weights& weights, bool crosses_boundaries) {
  const Index block = std::min(256 / std::clamp<Index>(data_->targets(), 1, 256), config_.eval.examples);
  const Index size = data_->size(config_.eval.split);
  const Index blocks = std::max<Index>(1, std::min(config_.eval.examples, size) / block);
  const bool all = config_.eval.examples >= size;
  const Index count = all ? ceil_div(size, block) : blocks;
  const bool plans = replicas_.front().shard.device.plans();
  Evaluation total;
  Batch batch;
  for (Index b = 0; b < count; b = plans ? std::max(b + 1, count - 1) : b + 1) {
    const Index start = all ? b * block : b * (size - block) / std::max<Index>(1, blocks - 1);
    data_->read(config_.eval.split, start, std::min(block, size - start), batch);
    if (crosses_boundaries) batch.boundaries = AtBoundaries::coded;
    const Evaluation part = replicas_.front().model->evaluate(weights, batch);
    total.loss += part.loss;
    total.correct += part.correct;
    total.examples += part.examples;
    total.scores.insert(total.scores.end(), part.scores.begin(), part.scores.end());
    total.labels.insert(total.labels.end(), part.labels.begin(), part.labels.end());
  }
  total.auc = area_under_curve(total.scores, total.labels);
  return total;
}

}  // namespace onebit::sim
