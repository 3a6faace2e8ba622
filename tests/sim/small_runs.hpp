#pragma once
// Runs that take an instant, for tests of whole runs.

#include "sim/config.hpp"
#include "tests/folder.hpp"

namespace onebit::tests {

inline sim::RunConfig mlp_config() {
  sim::RunConfig config;
  config.model = {.name = "mlp", .layers = {9, 11, 3}, .activation = "gelu"};
  config.data = {.name = "synthetic", .features = 9, .classes = 3, .examples = 400};
  config.optimizer.lr = 1e-2;
  config.workers = 16;
  config.batch = 5;
  config.steps = 9;
  config.threads = 1;
  return config;
}

/// The text is written to the folder.
inline sim::RunConfig ngram_config(const Folder& folder) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "line " + std::to_string(i * i) + ": the quick brown fox\n";
  write_file(folder / "text.txt", text);
  sim::RunConfig config = mlp_config();
  config.model = {.name = "ngram", .layers = {}, .context = 4, .embedding = 4, .hidden = 8};
  config.data = {.name = "text", .paths = {folder / "text.txt"}};
  return config;
}

/// A small bert-nano or gpt-nano, with dropout. The text is written to the folder.
inline sim::RunConfig transformer_config(const Folder& folder, const std::string& name) {
  sim::RunConfig config = ngram_config(folder);
  config.model = {
      .name = name, .layers = {}, .context = 6, .depth = 1, .width = 8, .heads = 2, .dropout = 0.2, .tied = true};
  config.batch = 2;
  config.steps = 6;
  return config;
}

}  // namespace onebit::tests
