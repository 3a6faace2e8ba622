#include "optim/common/tensor_table.hpp"

namespace onebit::optim {

std::vector<TensorRule> tensor_rules(const Problem& problem, const OptimizerConfig& config) {
  compress::require_matches(problem.tensors, config.no_decay, "optimizer.no-decay");
  const std::vector<char> exempt = compress::matching(problem.tensors, config.no_decay);
  const std::vector<Range> ranges = compress::ranges_of(problem.tensors);
  std::vector<TensorRule> rules;
  for (std::size_t t = 0; t < exempt.size(); ++t) {
    rules.push_back(
        {.offset = ranges[t].first, .weight_decay = exempt[t] ? 0.0f : static_cast<float>(config.weight_decay)});
  }
  return rules;
}

TensorTable::TensorTable(const Problem& problem, const OptimizerConfig& config)
    : chunks_(problem.shard.device, compress::sizes_of(problem.tensors)),
      rules_(device::Buffer<TensorRule>::copy_of(problem.shard.device, tensor_rules(problem, config))) {}

}  // namespace onebit::optim
