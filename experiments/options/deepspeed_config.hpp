#pragma once
// A DeepSpeed configuration (JSON) as options of a run: its optimizer section, gradient_clipping and the sizes of its
// batches (deepspeed_batch.hpp). The rest is named with the reason why it is left out.

#include <string>
#include <vector>

#include "experiments/options/options.hpp"

namespace onebit::experiments {

struct DeepspeedConfig {
  struct Mapped {
    std::string key;  ///< dotted place in the file
    std::string option, value;
    bool given;  ///< by the file; otherwise it is DeepSpeed's default
  };
  struct Ignored {
    std::string key, reason;
  };
  std::string path;
  std::vector<Mapped> mapped;
  std::vector<Ignored> ignored;
  Index train_batch = 0;  ///< train_batch_size, samples of a step of all workers; 0: not given

  Settings settings() const;
};

/// Throws ConfigError naming file and place: unreadable or malformed file, an optimizer or a parameter that DeepSpeed
/// or this program does not know, a value of the wrong type.
DeepspeedConfig read_deepspeed_config(const std::string& path);

}  // namespace onebit::experiments
