#pragma once
// A DeepSpeed configuration (JSON) as options of a run: its optimizer section, gradient_clipping and its batch sizes
// (deepspeed_batch.hpp). Everything else is listed with the reason for leaving it out.

#include <string>
#include <vector>

#include "experiments/options/options.hpp"

namespace onebit::experiments {

struct DeepspeedConfig {
  struct Mapped {
    std::string key;  ///< dotted path in the file
    std::string option, value;
    bool given;  ///< whether the file gives the value; else it is DeepSpeed's default
  };
  struct Ignored {
    std::string key, reason;
  };
  std::string path;
  std::vector<Mapped> mapped;
  std::vector<Ignored> ignored;
  Index train_batch = 0;  ///< train_batch_size, samples per step of all workers; 0: not given

  Settings settings() const;
};

/// Reads a configuration. Throws ConfigError naming file and place for an unreadable or malformed file, an optimizer or
/// parameter that DeepSpeed or this program does not know, or a value of the wrong type.
DeepspeedConfig read_deepspeed_config(const std::string& path);

}  // namespace onebit::experiments
