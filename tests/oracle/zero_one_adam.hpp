#pragma once
// 0/1 Adam (Lu et al. 2023) on rows of gradients: sequential, in double. A letter gives the kind of every step's round:
// F full, 1 one bit, S synchronization, . local.

#include "tests/oracle/adam.hpp"

namespace onebit::oracle {

class ZeroOneAdam {
 public:
  /// released: the released code's local phase (weight decay in the drift, going back by subtraction), its padding,
  /// no mask. The released code's dry run is not a step here.
  ZeroOneAdam(const AdamOptions& adam_options, std::string round_letters, std::size_t workers, const Vector& x0,
              bool released_code)
      : options(adam_options),
        rounds(std::move(round_letters)),
        released(released_code),
        channel(workers, x0.size(), Norm::l2, released_code),
        x(workers, x0),
        m(workers, Vector(x0.size(), 0.0)),
        v(x0.size(), 0.0),
        drift(m),
        anchor(x0) {}

  void step(double lr, const Rows& gradients) {
    const char round = rounds.at(static_cast<std::size_t>(updates++));
    if (round == 'F' || round == '1') return shared_step(round, lr, gradients);
    if (!frozen) channel = CompressedMean(x.size(), anchor.size(), Norm::l2, released);
    if (!frozen) anchor = x[0];
    frozen = true;
    local_step(lr, gradients);
    if (round == 'S') meet();
  }

  AdamOptions options;
  std::string rounds;
  bool released;
  CompressedMean channel;
  Rows x, m;
  Vector v;
  Rows drift;
  Vector anchor;
  double rates = 0;
  int updates = 0, variance_updates = 0;
  bool frozen = false;

 private:
  double m_bias() const { return options.bias_correction ? 1 - std::pow(options.beta1, updates) : 1; }
  double denominator(std::size_t i) const {
    const double bias = options.bias_correction ? 1 - std::pow(options.beta2, variance_updates) : 1;
    return std::sqrt(v[i] / bias) + options.eps;
  }
  bool masked(std::size_t i) const { return !released && v[i] == 0; }

  void shared_step(char round, double lr, const Rows& gradients) {
    const Vector g = round == 'F' ? mean(gradients) : channel(gradients);
    if (round == 'F') ++variance_updates;
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (round == 'F') v[i] = options.beta2 * v[i] + (1 - options.beta2) * g[i] * g[i];
      const double fresh = options.beta1 * m[0][i] + (1 - options.beta1) * g[i];
      for (std::size_t w = 0; w < x.size(); ++w) {
        m[w][i] = masked(i) ? 0 : fresh;
        x[w][i] -= lr * (m[w][i] / m_bias() / denominator(i) + options.weight_decay * x[w][i]);
      }
    }
  }

  void local_step(double lr, const Rows& gradients) {
    rates += lr / m_bias();
    for (std::size_t i = 0; i < v.size(); ++i) {
      for (std::size_t w = 0; w < x.size(); ++w) {
        m[w][i] = masked(i) ? 0 : options.beta1 * m[w][i] + (1 - options.beta1) * gradients[w][i];
        const double decay = options.weight_decay * x[w][i];
        const double move = lr * (m[w][i] / m_bias() / denominator(i) + decay);
        x[w][i] -= move;
        drift[w][i] += released ? move * denominator(i) : lr * m[w][i] / m_bias();
      }
      if (!released) anchor[i] -= lr * options.weight_decay * anchor[i];
    }
  }

  void meet() {
    const Vector together = channel(drift);
    for (std::size_t i = 0; i < v.size(); ++i) {
      const double moved = masked(i) ? 0 : together[i];
      anchor[i] -= moved / denominator(i);
      for (std::size_t w = 0; w < x.size(); ++w) {
        x[w][i] = anchor[i];
        m[w][i] = moved / rates;
        drift[w][i] = 0;
      }
    }
    rates = 0;
  }
};

}  // namespace onebit::oracle
