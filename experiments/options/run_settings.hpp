#pragma once
// The options of a run as the user gave them.

#include <optional>
#include <string>

#include "experiments/options/deepspeed_config.hpp"

namespace onebit::experiments {

/// They come from the preset, then DeepSpeed's configuration, then the config file, then the command line; later ones
/// override earlier ones.
struct RunSettings {
  Settings settings;
  std::size_t from_preset = 0;  ///< number of entries of `settings`, the first ones, that come from the preset
  std::optional<DeepspeedConfig> deepspeed = {};
  std::string preset = {};  ///< name of the preset; empty: none
};

}  // namespace onebit::experiments
