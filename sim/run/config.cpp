#include "sim/run/config.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "optim/parent.hpp"
#include "optim/quirks.hpp"

namespace onebit::sim {
namespace {

void check_range(const std::string& option, Index value, Index low, Index high) {
  if (value >= low && value <= high) return;
  throw ConfigError("option out of range", option + " " + std::to_string(value),
                    "from " + std::to_string(low) + " to " + std::to_string(high));
}

void check_not_negative(const std::string& option, double value) {
  if (!(std::isfinite(value) && value >= 0)) {
    throw ConfigError("option out of range", option + " " + shortest(value), "a finite number, at least 0");
  }
}

/// Refuses options that cover only the weights that all workers share, if workers own a part of the model.
void refuse_owned(const RunConfig& config) {
  const ModelConfig& model = config.model;
  if (model_entry(model.name).input != Input::bags) return;
  if (config.optimizer.name.starts_with("cada") && !model_entry(model.name).whole_batch) {
    throw ConfigError("this optimizer compares gradients at old weights, and old tables are not kept",
                      "optimizer " + config.optimizer.name + ", model " + model.name, "use another optimizer");
  }
  if (config.probe.every > 0) {
    throw ConfigError("probes do not cover the tables that workers own", "probe.every, model " + model.name,
                      "leave it out");
  }
}

/// Returns the learning rate that the tables have if none is given; 0 stands for the rate of the run.
double table_rate(const RunConfig& config) {
  const std::string parent(optim::parent_of(config.optimizer.name));
  const std::string& dense = parent.empty() ? config.optimizer.name : parent;
  if (dense == "sgd" || dense == "momentum-sgd") return 0;
  return config.model.tables.optimizer == "adagrad" ? kAdagradRate : kTableRate;
}

/// Refuses options that change the exchange of gradients, if the model's workers exchange none.
void refuse_exchanges(const RunConfig& config) {
  if (!model_entry(config.model.name).whole_batch) return;
  const std::string model = ", model " + config.model.name;
  if (!optim::parent_of(config.optimizer.name).empty()) {
    throw ConfigError("the workers of this model exchange no gradients that an optimizer could compress or leave out",
                      "optimizer " + config.optimizer.name + model,
                      "sgd, momentum-sgd, adam or lamb; --boundary.codec compresses what they exchange");
  }
  if (config.optimizer.clip > 0) {
    throw ConfigError("clipping needs the norm of all gradients, but each worker has only a part of them",
                      "optimizer.clip" + model, "leave it out");
  }
}

}  // namespace

void validate(const RunConfig& config) {
  constexpr Index many = Index{1} << 32;
  check_range("workers", config.workers, 1, 1 << 16);
  check_range("batch", config.batch, 1, 1 << 20);
  check_range("accumulation", config.accumulation, 1, 1 << 16);
  check_range("batch x accumulation", config.batch * config.accumulation, 1, (1 << 27) - 1);
  check_range("steps", config.steps, 0, many);
  check_range("worker-group", config.worker_group, 0, config.workers);
  check_range("memory", config.memory, 0, Index{1} << 60);
  check_range("log.every", config.log.every, 1, many);
  check_range("log.workers-every", config.log.workers_every, 0, many);
  check_range("log.tensors-every", config.log.tensors_every, 0, many);
  check_range("log.flush-every", config.log.flush_every, 0, many);
  check_range("log.compression", config.log.compression, 0, 9);
  check_range("probe.every", config.probe.every, 0, many);
  check_range("probe.curvature", config.probe.curvature, 0, 10000);
  check_range("checkpoint.every", config.checkpoint.every, 0, many);
  check_range("checkpoint.keep", config.checkpoint.keep, 1, many);
  check_range("eval.every", config.eval.every, 0, many);
  check_range("eval.examples", config.eval.examples, 0, many);
  check_not_negative("log.flush", config.log.flush_seconds);
  check_not_negative("probe.moved", config.probe.moved);
  check_not_negative("epochs", config.epochs);
  if (config.epochs > 0 && config.data.name == "none") {
    throw ConfigError("a run without data has no epochs", "epochs, data none", "give steps instead");
  }
  if (config.steps > 0 && config.epochs > 0) {
    throw ConfigError("both steps and epochs are given", "steps, epochs", "give only one of them");
  }
}

RunConfig with_short_stages(RunConfig config, Index steps) {
  optim::OptimizerConfig& optimizer = config.optimizer;
  if (optimizer.freeze.policy != "never") {
    optimizer.freeze.policy = optim::TwoStageQuirks::of(optimizer).counts_steps ? "fixed:2" : "fixed:1";
  }
  optimizer.exchange.dense_steps = std::min<Index>(optimizer.exchange.dense_steps, 1);
  config.epochs = 0;
  config.steps = steps;
  config.schedule.warmup = 0;
  return config;
}

RunConfig completed(RunConfig config) {
  validate(config);
  config.model = completed(config.model);
  refuse_owned(config);
  if (config.model.tables.lr == 0) config.model.tables.lr = table_rate(config);
  refuse_exchanges(config);
  config.model.workers = config.workers;
  config.model.seed = config.seed;
  return config;
}

EvalConfig planned_evaluations(const RunConfig& config, Index steps, Index size) {
  constexpr Index most = kMostEvaluated, few = 512, usual = 21;
  const auto times_at = [&](Index every) { return 1 + (steps + every - 1) / every; };  // counts the one at the start
  const Index of_a_step = config.workers * config.batch * config.accumulation, all = std::max<Index>(1, size);
  const double affordable = 0.5 * static_cast<double>(of_a_step) * static_cast<double>(steps);
  const auto budget = static_cast<Index>(std::min(affordable, 0x1p62));
  EvalConfig eval = config.eval;
  if (eval.examples == 0) {
    const Index each = std::max<Index>(1, budget / (eval.every > 0 ? times_at(eval.every) : usual));
    const auto power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(each)));
    const Index least = eval.every > 0 ? 1 : std::min(few, std::max<Index>(1, budget / 2));
    eval.examples = each >= std::min(most, all) ? most : std::clamp(power, least, most);
  }
  if (eval.every == 0) {
    const Index times = std::max<Index>(2, budget / std::min(eval.examples, all));
    eval.every = std::max<Index>(1, steps / (usual - 1));
    const Index rest = std::min(times, usual) - 1;
    if (times_at(eval.every) > times) eval.every = (steps + rest - 1) / rest;
  }
  return eval;
}

Index total_steps(const RunConfig& config, Index examples) {
  if (config.steps > 0) return config.steps;
  if (config.epochs == 0) return 1000;
  const double per_epoch =
      static_cast<double>(examples) / static_cast<double>(config.workers * config.batch * config.accumulation);
  const double steps = config.epochs * per_epoch;
  if (steps > 0x1p32)
    throw ConfigError("option out of range", "epochs " + shortest(config.epochs), "at most 2^32 steps");
  return std::max<Index>(1, std::llround(steps));
}

}  // namespace onebit::sim
