#pragma once
// Very short runs, for tests of whole runs.

#include "sim/run/config.hpp"
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

/// Clicks with 18 tables of 3 to 20 rows.
inline sim::DataConfig few_click_data() {
  sim::DataConfig data;
  data.name = "clicks";
  data.examples = 400;
  data.rows = "20,3,20,5,20,7,20,9,20,3,20,5,20,7,20,9,20,11";
  return data;
}

/// A recommendation model whose tables are divided among eight workers.
inline sim::RunConfig dlrm_config() {
  sim::RunConfig config = mlp_config();
  config.model = {};
  config.model.name = "dlrm-nano";
  config.model.tables.width = 4;
  config.model.bottom = {6};
  config.model.top = {5};
  config.data = few_click_data();
  config.workers = 8;
  config.batch = 6;
  config.steps = 7;
  config.eval.every = 3;
  config.optimizer.name = "sgd";
  config.optimizer.lr = 0.1;
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

/// A run of an optimizer through all of its stages, with every group of rows in its log.
inline sim::RunConfig staged_run(const std::string& optimizer) {
  sim::RunConfig config = mlp_config();
  config.workers = 8;
  config.batch = 2;
  config.steps = 9;
  config.eval.every = 4;
  config.log.workers_every = 2;
  config.log.tensors_every = 3;
  config.optimizer.name = optimizer;
  config.optimizer.freeze.policy = "fixed:3";
  config.optimizer.weight_decay = 0.01;
  config.optimizer.clip = 2;
  config.optimizer.zeroone = {
      .var_freeze_step = 4, .var_update_scaler = 1, .local_step_scaler = 2, .local_step_clipper = 4};
  config.optimizer.local.period = 3;
  config.optimizer.cada.max_delay = 4;
  config.optimizer.cada.window = 3;
  config.optimizer.ramp = 4;
  config.optimizer.exchange.up.k = 0.1;
  config.optimizer.exchange.up.name = optim::codec_of(config.optimizer, /*chosen=*/false);
  config.schedule.warmup = 3;
  return config;
}

/// A run of a model of the registry, with its own sizes, on suitable data. A text is written to the folder.
inline sim::RunConfig run_of(const sim::ModelEntry& model, const Folder& folder) {
  sim::RunConfig config = model.input == sim::Input::tokens ? ngram_config(folder) : mlp_config();
  config.model = {};
  config.model.name = model.name;
  if (model.input == sim::Input::none) config.data.name = "none";
  if (model.input == sim::Input::images) config.data.image = {3, 4, 4};
  if (model.input == sim::Input::bags) config.data = few_click_data();
  if (model.name == "logistic") config.data.classes = 2;
  return config;
}

/// The same run with the smallest possible model.
inline sim::RunConfig smallest_run_of(const sim::ModelEntry& model, const Folder& folder) {
  sim::RunConfig config = run_of(model, folder);
  config.model = {.name = config.model.name,
                  .layers = {},
                  .context = 6,
                  .embedding = 4,
                  .hidden = 8,
                  .dimension = 30,
                  .bottom = {4},
                  .top = {4},
                  .tables = {.width = 4},
                  .depth = 1,
                  .width = 8,
                  .heads = 2,
                  .dropout = 0.2};
  return config;
}

}  // namespace onebit::tests
