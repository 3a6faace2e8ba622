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
    bool given;  ///< whether the file gives the value; otherwise it is DeepSpeed's default
  };
  struct Ignored {
    std::string key, reason;
  };
  std::string path;
  std::vector<Mapped> mapped;
  std::vector<Ignored> ignored;
  Index train_batch = 0;  ///< train_batch_size, samples per step over all workers; 0 if not given

  Settings settings() const;
};

/// Reads a configuration. Throws ConfigError, with file and place, for an unreadable or malformed file, for an
/// optimizer or parameter that DeepSpeed or this program does not have, and for a value that is unsupported or of the
/// wrong type.
DeepspeedConfig read_deepspeed_config(const std::string& path);

}  // namespace onebit::experiments
