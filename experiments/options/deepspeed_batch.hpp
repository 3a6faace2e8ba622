#pragma once
// The three sizes of a DeepSpeed configuration: train_batch_size is train_micro_batch_size_per_gpu (batch) times
// gradient_accumulation_steps (accumulation) times the workers.

#include "experiments/options/deepspeed_config.hpp"

namespace onebit::experiments {

/// Infers the missing size as DeepSpeed does, and adds it to the settings of a run and to the file's mapped rows. The
/// size follows from train_batch_size if that is given; otherwise the accumulation is 1. preset: number of leading
/// settings that come from a preset, which the file overrides; all later ones, including the file's own, count as
/// given.
void infer_batch(DeepspeedConfig& file, Settings& settings, std::size_t preset);

/// Throws ConfigError if train_batch_size is not batch x accumulation x workers of the run. name: name of the arm or of
/// the point of a sweep; empty if there is only one run.
void check_batch(const DeepspeedConfig& file, const sim::RunConfig& config, const std::string& name = "");

}  // namespace onebit::experiments
