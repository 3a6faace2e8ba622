#include "experiments/sweep/shard.hpp"

#include <cstdlib>

#include "device/base/error.hpp"
#include "experiments/options/options.hpp"

namespace onebit::experiments {

Shard parse_shard(const std::string& text) {
  const char* const task = std::getenv("SLURM_PROCID");
  const char* const tasks = std::getenv("SLURM_NTASKS");
  const bool of_slurm = text.empty() && task != nullptr && tasks != nullptr;
  if (text.empty() && !of_slurm) return {};
  const std::string source = of_slurm ? "SLURM_PROCID/SLURM_NTASKS" : "shard";
  const std::vector<std::string> parts = of_slurm ? std::vector<std::string>{task, tasks} : split(text, '/');
  if (parts.size() != 2) throw ConfigError("malformed option value", "shard '" + text + "'", "write i/n, e.g. 0/4");
  const Shard shard{parse_integer(source, parts[0]), parse_integer(source, parts[1]), of_slurm};
  if (shard.count < 1 || shard.index < 0 || shard.index >= shard.count) {
    throw ConfigError("option out of range", source + " " + shard.text(), "shard i/n has 0 <= i < n");
  }
  return shard;
}

}  // namespace onebit::experiments
