#pragma once
// A shard: the part of a sweep that one of several programs runs.

#include <string>

#include "device/base/types.hpp"

namespace onebit::experiments {

struct Shard {
  Index index = 0, count = 1;
  bool of_slurm = false;

  bool owns(Index unit) const { return unit % count == index; }
  std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }
};

/// Parses 'i/n'. Empty text means SLURM_PROCID/SLURM_NTASKS if they are set, or else all points. Throws ConfigError.
Shard parse_shard(const std::string& text);

}  // namespace onebit::experiments
