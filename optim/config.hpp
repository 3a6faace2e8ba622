#pragma once
// Hyper-parameters that the user gives, and the problem that an optimizer is made for.

#include <string>
#include <vector>

#include "compress/channels/exchange_config.hpp"
#include "compress/layout/tensor.hpp"
#include "device/comm/communicator.hpp"
#include "optim/two_stage/freeze.hpp"

namespace onebit::optim {

/// Version of an algorithm. `paper`: the published one, with the deviations listed in each optimizer's class comment.
/// `deepspeed`: the released code with its quirks (optim/quirks.hpp).
enum class Semantics { paper, deepspeed };

/// LAMB and 1-bit LAMB (Li et al. 2021).
struct LambConfig {
  double max_coeff = 10;          ///< upper bound of the trust ratio
  double min_coeff = 0.01;        ///< lower bound of the trust ratio
  double coeff_beta = 0.9;        ///< decay of the running average of the trust ratio, which is later frozen
  double factor_max = 4;          ///< upper bound of the factor r of the frozen coefficient
  double factor_min = 0.5;        ///< lower bound of r
  double factor_threshold = 0.1;  ///< largest relative change of r in a step
};

/// 0/1 Adam (Lu et al. 2023).
struct ZeroOneConfig {
  Index var_freeze_step = 100000;   ///< steps before the variance is frozen
  Index var_update_scaler = 16;     ///< variance updates after which their interval doubles
  Index local_step_scaler = 32678;  ///< steps after which the synchronisation interval doubles
  Index local_step_clipper = 16;    ///< longest synchronisation interval
};

/// Local SGD, local Adam and DiLoCo.
struct LocalConfig {
  Index period = 16;            ///< steps between two synchronisations, H
  double outer_lr = 0.7;        ///< DiLoCo: learning rate of the outer step
  double outer_momentum = 0.9;  ///< DiLoCo: Nesterov momentum of the outer step
};

/// CADA (Chen et al. 2021).
struct CadaConfig {
  double threshold = 1;   ///< constant c of the upload rule
  Index window = 10;      ///< number of past steps that the rule uses, d_max
  Index max_delay = 100;  ///< largest number of steps from one upload to the next, and period of rule 1's snapshot, D
};

/// All optimizer options. Each optimizer reads only those that are listed in its row of registry.cpp.
struct OptimizerConfig {
  std::string name = "adam";
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double momentum = 0.9;              ///< SGD family: decay of the momentum
  bool nesterov = false;              ///< SGD family: whether to use Nesterov's momentum
  double weight_decay = 0;            ///< decoupled weight decay
  bool bias_correction = true;        ///< paper semantics only; the released code has no bias correction
  std::string variance_floor = "0";   ///< two-stage: floor on the frozen variance, see parse_variance_floor
  Index variance_refresh = 0;         ///< two-stage: period of dense steps in the compression stage; 0: no such steps
  double clip = 0;                    ///< bound on the gradient norm; 0: no clipping
  std::vector<std::string> no_decay;  ///< patterns of the tensors without weight decay
  Semantics semantics = Semantics::paper;
  FreezeConfig freeze;
  LambConfig lamb;
  ZeroOneConfig zeroone;
  LocalConfig local;
  CadaConfig cada;
  double ef21_momentum = 0.1;  ///< ef21-sgdm: share of the new gradient, eta
  Index ramp = 0;              ///< dgc: steps over which the density falls from 1/4 to k
  bool shadow = false;         ///< two-stage: whether to keep a ShadowVariance after the freeze, for probes
  compress::ExchangeConfig exchange;
};

/// The problem that an optimizer is made for. With several devices, each device has its own optimizer, which holds the
/// rows of the device's workers and a copy of what all workers share; the optimizers' channels are collective.
struct Problem {
  device::Shard shard;
  std::vector<compress::Tensor> tensors;
  Index total_steps = 1;
  Index lr_warmup = 0;  ///< steps of learning-rate warm-up

  Index parameters() const { return compress::total_size(tensors); }
};

}  // namespace onebit::optim
