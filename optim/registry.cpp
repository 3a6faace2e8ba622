#include <algorithm>
#include <limits>

#include "device/error.hpp"
#include "device/text.hpp"
#include "optim/adam.hpp"
#include "optim/adam_naive_ec.hpp"
#include "optim/cada.hpp"
#include "optim/dgc.hpp"
#include "optim/ef21.hpp"
#include "optim/lamb.hpp"
#include "optim/local.hpp"
#include "optim/onebit_adam.hpp"
#include "optim/onebit_lamb.hpp"
#include "optim/worker_momentum.hpp"
#include "optim/zero_one_adam.hpp"

namespace onebit::optim {
namespace {

template <class Algorithm>
std::unique_ptr<Optimizer> make(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<Algorithm>(problem, config);
}

/// What is wrong is wrong for every optimizer, also for one that would not use it: arms share options.
void check_common(const OptimizerConfig& config) {
  check_adam(config);
  check_lamb(config.lamb);
  check_sgd(config);
  check_cada(config.cada);
  check_zero_one(config.zeroone);
  check_local(config.local);
  FreezePolicy(config.freeze, std::numeric_limits<Index>::max(), 0, config.beta2);
  compress::check(config.exchange);
}

}  // namespace

const std::vector<OptimizerEntry>& optimizers() {
  static const std::vector<OptimizerEntry> table = {
      {"adam", "Adam / AdamW on the dense mean gradient: the uncompressed baseline", make<Adam>, "", Codecs::none},
      {"onebit-adam", "1-bit Adam: Adam until the variance is frozen, then a 1-bit momentum exchange",
       make<OnebitAdam>},
      {"onebit-adam-32", "ablation of 1-bit Adam: after the freeze the momenta are averaged uncompressed",
       make<OnebitAdam32>, "", Codecs::none},
      {"adam-naive-ec", "ablation of 1-bit Adam: Adam on error-compensated compressed gradients from the first step on",
       make<AdamNaiveEc>},
      {"lamb", "LAMB on the dense mean gradient: Adam's direction with a trust ratio for every tensor", make<Lamb>, "",
       Codecs::none},
      {"onebit-lamb", "1-bit LAMB: LAMB until the variance is frozen, then a 1-bit exchange of the scaled momenta",
       make<OnebitLamb>},
      {"sgd", "stochastic gradient descent on the dense mean gradient", make_sgd, "", Codecs::none},
      {"momentum-sgd", "the same with a heavy ball, or Nesterov's momentum", make_momentum_sgd, "", Codecs::none},
      {"ef-sgd", "EF-SGD: gradients through any codec, with error feedback scaled by the rate", make_ef_sgd},
      {"ef-momentum-sgd", "gradients through any codec, momentum after the exchange (PowerSGD)", make_ef_momentum_sgd},
      {"dist-ef-sgdm", "dist-EF-blockSGD: error feedback with Nesterov's momentum at the workers", make_dist_ef_sgdm},
      {"ef21", "EF21: the workers send compressed changes of their gradients", make_ef21},
      {"ef21-sgdm", "EF21 on gradients averaged over time (ef21-momentum)", make_ef21_sgdm},
      {"cada1", "CADA rule 1: AMSGrad, a worker uploads when its gradient differs enough from a snapshot's", make_cada1,
       "", Codecs::none},
      {"cada2", "CADA rule 2: AMSGrad, a worker uploads when its gradient differs enough from its last upload",
       make_cada2, "", Codecs::none},
      {"signsgd", "signSGD with majority vote; codec sign, no feedback", make_signsgd, "sign", Codecs::its_own},
      {"signum", "signSGD with momentum (beta1) at the workers and majority vote", make_signum, "sign",
       Codecs::its_own},
      {"dgc", "deep gradient compression: sparse codec (top-k), momentum correction and masking, ramp", make_dgc,
       "top-k"},
      {"zeroone-adam", "0/1 Adam: rare variance updates, 1-bit gradient rounds, then 1-bit rounds after local steps",
       make<ZeroOneAdam>},
      {"local-sgd", "SGD with momentum on every worker; the weights are averaged every local-period steps",
       make<LocalSgd>, "", Codecs::none},
      {"local-adam", "AdamW on every worker; weights and moments are averaged every local-period steps",
       make<LocalAdam>, "", Codecs::none},
      {"diloco", "AdamW on every worker; every local-period steps an outer Nesterov step on the mean displacement",
       make<DiLoCo>, "", Codecs::none},
      {"onebit-sgd", "1-bit SGD: ef-sgd with the codec onebit", make_onebit_sgd, "onebit", Codecs::its_own},
  };
  return table;
}

Codecs codecs_of(const OptimizerConfig& config) {
  for (const OptimizerEntry& entry : optimizers()) {
    if (entry.name == config.name) return entry.codecs;
  }
  return Codecs::any;
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
