#include <algorithm>
#include <limits>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "optim/adam/adam.hpp"
#include "optim/adam/adam_naive_ec.hpp"
#include "optim/adam/cada.hpp"
#include "optim/lamb/lamb.hpp"
#include "optim/parent.hpp"
#include "optim/read_options.hpp"
#include "optim/sgd/dgc.hpp"
#include "optim/sgd/ef21.hpp"
#include "optim/sgd/local.hpp"
#include "optim/sgd/worker_momentum.hpp"
#include "optim/two_stage/onebit_adam.hpp"
#include "optim/two_stage/onebit_lamb.hpp"
#include "optim/two_stage/variance_floor.hpp"
#include "optim/zero_one/zero_one_adam.hpp"
#include "optim/zero_one/zero_one_adam_32.hpp"

namespace onebit::optim {
namespace {

template <class Algorithm>
std::unique_ptr<Optimizer> make(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<Algorithm>(problem, config);
}

/// Checks all options, even those that the optimizer does not read, because arms share options.
void check_common(const OptimizerConfig& config) {
  check_adam(config);
  check_lamb(config.lamb);
  check_sgd(config);
  check_cada(config.cada);
  check_zero_one(config.zeroone);
  check_local(config.local);
  parse_variance_floor(config.variance_floor);
  check_option(config.variance_refresh == 0 || config.variance_refresh > 1, "variance-refresh",
               static_cast<double>(config.variance_refresh), "at least 2, or 0 for no refreshes");
  FreezePolicy(config.freeze, std::numeric_limits<Index>::max(), 0, config.beta2);
  compress::check(config.exchange);
}

/// A row of the table: an optimizer, its parent (optim/parent.hpp), and the options that it reads
/// (optim/read_options.hpp).
struct Row {
  std::string_view parent;
  OptimizerEntry entry;
  std::string options;
  std::string_view uncompressed = "";  ///< name of its uncompressed twin (uncompressed_twin_of)
};

/// Options that many optimizers read.
struct CommonOptions {
  std::string sgd = "lr weight-decay no-decay clip";
  std::string moments = sgd + " beta1 beta2 eps";
  std::string corrected = moments + " bias-correction semantics";
};

/// Optimizers with a variance.
std::vector<Row> adaptive_rows(const CommonOptions& common) {
  const std::string adam = common.corrected + " freeze.lag";
  const std::string lamb = adam + " max-coeff min-coeff";
  const std::string two_stage = " freeze variance-floor variance-refresh";
  const std::string cada = common.moments + " cada-threshold cada-window cada-delay";
  return {
      {"",
       {"adam", "Adam / AdamW on the dense mean gradient: the uncompressed baseline", make<Adam>, "", Codecs::none},
       adam},
      {"adam",
       {"onebit-adam", "1-bit Adam: Adam until the variance is frozen, then a 1-bit momentum exchange",
        make<OnebitAdam>},
       adam + two_stage + " granularity",
       "onebit-adam-32"},
      {"adam",
       {"onebit-adam-32", "ablation of 1-bit Adam: after the freeze the momenta are averaged uncompressed",
        make<OnebitAdam32>, "", Codecs::none},
       adam + two_stage},
      {"adam",
       {"adam-naive-ec",
        "ablation of 1-bit Adam: Adam on error-compensated compressed gradients from the very first step",
        make<AdamNaiveEc>},
       adam + " granularity"},
      {"adam",
       {"zeroone-adam", "0/1 Adam: rare variance updates, 1-bit gradient rounds, then 1-bit rounds after local steps",
        make<ZeroOneAdam>, "", Codecs::any, &ZeroOneAdam::kSchedule},
       common.corrected + " var-freeze-step var-update-scaler local-step-scaler local-step-clipper granularity",
       "zeroone-adam-32"},
      {"adam",
       {"zeroone-adam-32", "ablation of 0/1 Adam: its variance schedule with gradients averaged uncompressed",
        make<ZeroOneAdam32>, "", Codecs::none, &ZeroOneAdam32::kSchedule},
       common.moments + " bias-correction var-freeze-step var-update-scaler"},
      {"adam",
       {"cada1", "CADA rule 1: AMSGrad; a worker uploads if its gradient has changed enough, relative to a snapshot",
        make_cada1, "", Codecs::none},
       cada},
      {"adam",
       {"cada2", "CADA rule 2: AMSGrad; a worker uploads if its gradient has changed enough since its last upload",
        make_cada2, "", Codecs::none},
       cada},
      {"",
       {"lamb", "LAMB on the dense mean gradient: Adam's direction with a trust ratio for every tensor", make<Lamb>, "",
        Codecs::none},
       lamb},
      {"lamb",
       {"onebit-lamb", "1-bit LAMB: LAMB until the variance is frozen, then a 1-bit exchange of the scaled momenta",
        make<OnebitLamb>},
       lamb + two_stage + " coeff-beta factor-max factor-min factor-threshold",
       "onebit-lamb-32"},
      {"lamb",
       {"onebit-lamb-32", "ablation of 1-bit LAMB: after the freeze the scaled momenta are averaged uncompressed",
        make<OnebitLamb32>, "", Codecs::none},
       lamb + two_stage + " coeff-beta factor-max factor-min factor-threshold"},
  };
}

/// Optimizers that follow the gradient or its momentum.
std::vector<Row> gradient_rows(const CommonOptions& common) {
  return {
      {"", {"sgd", "stochastic gradient descent on the dense mean gradient", make_sgd, "", Codecs::none}, common.sgd},
      {"",
       {"momentum-sgd", "stochastic gradient descent with heavy-ball or Nesterov momentum", make_momentum_sgd, "",
        Codecs::none},
       common.sgd + " momentum nesterov"},
      {"sgd",
       {"ef-sgd", "EF-SGD: gradients through any codec, with error feedback scaled by the learning rate", make_ef_sgd},
       common.sgd + " granularity"},
      {"momentum-sgd",
       {"ef-momentum-sgd", "gradients through any codec, with momentum after the exchange (PowerSGD)",
        make_ef_momentum_sgd},
       common.sgd + " momentum nesterov granularity"},
      {"momentum-sgd",
       {"ef-sgdm", "EF-SGD with heavy-ball or Nesterov momentum at the workers, through any codec", make_ef_sgdm},
       common.sgd + " momentum nesterov granularity"},
      {"momentum-sgd",
       {"dist-ef-sgdm", "dist-EF-blockSGD: error feedback with Nesterov momentum at the workers", make_dist_ef_sgdm},
       common.sgd + " momentum granularity"},
      {"sgd",
       {"ef21", "EF21: the workers send compressed changes of their gradients", make_ef21},
       common.sgd + " granularity"},
      {"momentum-sgd",
       {"ef21-sgdm", "EF21 on gradients averaged over time (ef21-momentum)", make_ef21_sgdm},
       common.sgd + " ef21-momentum granularity"},
      {"sgd",
       {"signsgd", "signSGD with majority vote; codec sign, no error feedback", make_signsgd, "sign", Codecs::its_own},
       common.sgd + " granularity"},
      {"momentum-sgd",
       {"signum", "signSGD with momentum (beta1) at the workers and majority vote", make_signum, "sign",
        Codecs::its_own},
       common.sgd + " beta1 granularity"},
      {"momentum-sgd",
       {"dgc", "deep gradient compression: sparse codec (top-k), momentum correction and masking, density ramp",
        make_dgc, "top-k"},
       common.sgd + " momentum nesterov ramp granularity"},
      {"sgd",
       {"onebit-sgd", "1-bit SGD: ef-sgd with the codec onebit", make_onebit_sgd, "onebit", Codecs::its_own},
       common.sgd + " granularity"},
  };
}

/// Optimizers whose workers take local steps.
std::vector<Row> local_rows(const CommonOptions& common) {
  return {
      {"momentum-sgd",
       {"local-sgd", "SGD with momentum on every worker; the weights are averaged every local-period steps",
        make<LocalSgd>, "", Codecs::none, &LocalOptimizer::kSchedule},
       common.sgd + " momentum local-period"},
      {"adam",
       {"local-adam", "AdamW on every worker; weights and moments are averaged every local-period steps",
        make<LocalAdam>, "", Codecs::none, &LocalOptimizer::kSchedule},
       common.corrected + " local-period"},
      {"adam",
       {"diloco", "AdamW on every worker; every local-period steps, an outer Nesterov step along the mean displacement",
        make<DiLoCo>, "", Codecs::none, &LocalOptimizer::kSchedule},
       common.corrected + " local-period outer-lr outer-momentum"},
  };
}

const std::vector<Row>& rows() {
  static const std::vector<Row> table = [] {
    const CommonOptions common;
    std::vector<Row> all;
    for (const std::vector<Row>& part : {adaptive_rows(common), gradient_rows(common), local_rows(common)})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return table;
}

}  // namespace

const std::vector<OptimizerEntry>& optimizers() {
  static const std::vector<OptimizerEntry> table = [] {
    std::vector<OptimizerEntry> entries;
    for (const Row& row : rows()) entries.push_back(row.entry);
    return entries;
  }();
  return table;
}

std::string_view options_of_optimizer(std::string_view optimizer) {
  for (const Row& row : rows()) {
    if (row.entry.name == optimizer) return row.options;
  }
  return {};
}

std::string_view parent_of(std::string_view optimizer) {
  for (const Row& row : rows()) {
    if (row.entry.name == optimizer) return row.parent;
  }
  return "";
}

bool takes_option(std::string_view optimizer, std::string_view option) {
  return has_word(options_of_optimizer(optimizer), option);
}

bool is_dense_until_freeze(std::string_view optimizer) {
  return takes_option(optimizer, "freeze");
}

OptimizerConfig never_frozen(OptimizerConfig config) {
  config.freeze.policy = "never";
  if (!is_dense_until_freeze(config.name)) config.name = parent_of(config.name);
  return config;
}

OptimizerConfig frozen_after(OptimizerConfig config, Index steps) {
  if (is_dense_until_freeze(config.name)) {
    config.freeze.policy = "fixed:" + std::to_string(steps);
  } else {
    config.zeroone.var_freeze_step = steps;
  }
  return config;
}

std::string freeze_option(std::string_view optimizer, Index steps) {
  const std::string option = is_dense_until_freeze(optimizer) ? "--freeze fixed:" : "--optimizer.var-freeze-step ";
  return option + std::to_string(steps);
}

std::string_view uncompressed_twin_of(std::string_view optimizer) {
  for (const Row& row : rows()) {
    if (row.entry.name == optimizer) return row.uncompressed;
  }
  return "";
}

Codecs codecs_of(const OptimizerConfig& config) {
  for (const OptimizerEntry& entry : optimizers()) {
    if (entry.name == config.name) return entry.codecs;
  }
  return Codecs::any;
}

const StepSchedule* schedule_of(std::string_view optimizer) {
  for (const OptimizerEntry& entry : optimizers()) {
    if (entry.name == optimizer) return entry.schedule;
  }
  return nullptr;
}

std::string codec_of(const OptimizerConfig& config, bool chosen) {
  for (const OptimizerEntry& entry : optimizers()) {
    if (entry.name == config.name && !entry.codec.empty() && (entry.codecs == Codecs::its_own || !chosen)) {
      return std::string(entry.codec);
    }
  }
  return config.exchange.up.name;
}

std::unique_ptr<Optimizer> make_optimizer(const Problem& problem, const OptimizerConfig& config) {
  std::vector<std::string_view> names;
  for (const OptimizerEntry& entry : optimizers()) {
    if (entry.name == config.name) {
      check_common(config);
      return entry.make(problem, config);
    }
    names.push_back(entry.name);
  }
  throw ConfigError("unknown optimizer", config.name, suggestion(config.name, names));
}

}  // namespace onebit::optim
