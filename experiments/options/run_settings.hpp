#pragma once
// The options of a run as the user gave them.

#include <optional>
#include <string>

#include "experiments/options/deepspeed_config.hpp"

namespace onebit::experiments {

/// Settings from the preset, the DeepSpeed configuration, the config file and the command line, in this order. Later
/// settings override earlier ones.
struct RunSettings {
  Settings settings;
  std::size_t from_preset = 0;  ///< number of leading entries of `settings` that come from the preset
  std::optional<DeepspeedConfig> deepspeed = {};
  std::string preset = {};  ///< name of the preset; empty: none
};

}  // namespace onebit::experiments
