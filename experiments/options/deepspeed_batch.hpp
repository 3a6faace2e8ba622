#pragma once
// The three sizes of a DeepSpeed configuration: train_batch_size is train_micro_batch_size_per_gpu (batch) times
// gradient_accumulation_steps (accumulation) times the workers.

#include "experiments/options/deepspeed_config.hpp"

namespace onebit::experiments {

/// Adds the missing size to the settings of a run and to the file's mapped rows, as DeepSpeed infers it: from
/// train_batch_size where that is given, else with an accumulation of one. The first `preset` settings come from a
/// preset: the file overrides them, and all later ones count as given.
void infer_batch(DeepspeedConfig& file, Settings& settings, std::size_t preset);

/// Throws ConfigError where train_batch_size is not batch x accumulation x workers of the run. name: of the arm or the
/// point; empty where there is only one run.
void check_batch(const DeepspeedConfig& file, const sim::RunConfig& config, const std::string& name = "");

}  // namespace onebit::experiments
