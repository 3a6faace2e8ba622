#pragma once
// LAMB (You et al. 2020, Algorithm 2) and 1-bit LAMB (Li et al. 2021, Algorithm 1) on rows of gradients: sequential, in
// double, a tensor at a time, written from the papers.

#include <algorithm>
#include <utility>

#include "tests/oracle/adam.hpp"

namespace onebit::oracle {

struct LambOptions {
  AdamOptions adam;
  double min_coeff = 0.01, max_coeff = 10;
  double coeff_beta = 0.9;
  double factor_min = 0.5, factor_max = 4, factor_threshold = 0.1;
  std::vector<std::size_t> tensors;    ///< sizes; their sum is the size of x0
  std::vector<std::size_t> undecayed;  ///< tensors without weight decay
};

/// Returns the norm of a slice of a vector.
inline double slice_norm(const Vector& values, std::size_t begin, std::size_t size) {
  double squares = 0;
  for (std::size_t i = begin; i < begin + size; ++i) squares += values[i] * values[i];
  return std::sqrt(squares);
}

class Lamb {
 public:
  Lamb(LambOptions lamb_options, Vector x0)
      : options(std::move(lamb_options)), x(std::move(x0)), m(x.size(), 0.0), v(x.size(), 0.0) {
    ratios.assign(options.tensors.size(), 1.0);
  }

  void step(double lr, const Rows& gradients) {
    const Vector g = clipped(mean(gradients), options.adam.clip);
    for (std::size_t i = 0; i < x.size(); ++i) {
      m[i] = options.adam.beta1 * m[i] + (1 - options.adam.beta1) * g[i];
      v[i] = options.adam.beta2 * v[i] + (1 - options.adam.beta2) * g[i] * g[i];
    }
    variance_updates = ++updates;
    for_each_tensor([&](std::size_t l, std::size_t begin, std::size_t size) {
      const Vector u = direction(l, true);
      const double a = slice_norm(x, begin, size);
      const double b = slice_norm(u, begin, size);
      ratios[l] = a == 0 || b == 0 ? 1 : std::max(options.min_coeff, std::min(options.max_coeff, a / b));
      for (std::size_t i = begin; i < begin + size; ++i) x[i] -= lr * ratios[l] * u[i];
    });
  }

  LambOptions options;
  Vector x, m, v;
  Vector ratios;  ///< the coefficients used in the last step
  int updates = 0;
  int variance_updates = 0;

 protected:
  template <class Visit>
  void for_each_tensor(Visit visit) const {
    std::size_t begin = 0;
    for (std::size_t l = 0; l < options.tensors.size(); ++l) {
      visit(l, begin, options.tensors[l]);
      begin += options.tensors[l];
    }
  }

  double decay(std::size_t l) const {
    const bool without = std::count(options.undecayed.begin(), options.undecayed.end(), l) > 0;
    return without ? 0 : options.adam.weight_decay;
  }

  /// 1 - beta^t, or 1 without bias correction.
  double bias(double beta, int t) const { return options.adam.bias_correction ? 1 - std::pow(beta, t) : 1; }

  /// sqrt(v / (1 - beta2^t)) + eps
  double root(double variance, int t) const {
    return std::sqrt(variance / bias(options.adam.beta2, t)) + options.adam.eps;
  }

  /// Tensor l's direction in the whole vector.
  Vector direction(std::size_t l, bool decays) const {
    Vector u(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      u[i] = m[i] / bias(options.adam.beta1, updates) / root(v[i], variance_updates) + (decays ? decay(l) * x[i] : 0);
    }
    return u;
  }
};

/// Choices that 1-bit LAMB leaves open, and differences between the released code and the paper.
struct OnebitLambOptions {
  int dense_updates = 1;
  bool identity = false;         ///< the exchange loses nothing
  bool released = false;         ///< the released code's quirks: see below
  bool fresh_from_zero = false;  ///< its fresh variance with freeze_step 0 or 1
  double floor_of_mean = 0;      ///< smallest frozen variance, as a share of the tensor's mean over what is not 0
  int refresh = 0;               ///< interval of dense steps in the compression stage; 0: none
};

class OnebitLamb : public Lamb {
 public:
  OnebitLamb(const LambOptions& lamb_options, const OnebitLambOptions& onebit_options, Vector x0)
      : Lamb(lamb_options, std::move(x0)), onebit(onebit_options) {
    average.assign(options.tensors.size(), 0.0);
    factors.assign(options.tensors.size(), 1.0);
    scaling.assign(options.tensors.size(), 1.0);
  }

  void step(double lr, const Rows& gradients) {
    if (onebit.released && !dry_run_done) {
      dry_run_done = true;
    } else if (updates < onebit.dense_updates) {
      Lamb::step(lr, gradients);
      for (std::size_t l = 0; l < average.size(); ++l) {
        if (onebit.released && ratios[l] == 1) continue;
        average[l] = options.coeff_beta * average[l] + (1 - options.coeff_beta) * ratios[l];
      }
      if (updates == onebit.dense_updates) freeze(gradients.size());
    } else if (onebit.refresh > 0 && (updates + 1 - onebit.dense_updates) % onebit.refresh == 0) {
      refreshing_step(lr, gradients);
    } else {
      compressed_step(lr, gradients);
    }
  }

  /// Returns c_avg as it is used.
  double frozen(std::size_t l) const {
    return average[l] / bias(options.coeff_beta, std::min(updates, onebit.dense_updates));
  }

  OnebitLambOptions onebit;
  Vector average, factors, scaling;
  Vector fresh;

 private:
  /// Raises the frozen variance; least[l] is the floor of what preconditions.
  void raise() {
    least.assign(scaling.size(), 0.0);
    for_each_tensor([&](std::size_t l, std::size_t begin, std::size_t size) {
      double sum = 0, count = 0;
      for (std::size_t i = begin; i < begin + size; ++i) {
        sum += v[i];
        count += v[i] > 0 ? 1 : 0;
      }
      const double stored = count > 0 ? onebit.floor_of_mean * sum / count : 0;
      for (std::size_t i = begin; i < begin + size; ++i) {
        if (v[i] > 0) v[i] = std::max(v[i], stored);
      }
      least[l] = stored / bias(options.adam.beta2, variance_updates);
    });
  }

  void refreshing_step(double lr, const Rows& gradients) {
    const Vector g = clipped(mean(gradients), options.adam.clip);
    ++updates;
    ++variance_updates;
    for_each_tensor([&](std::size_t l, std::size_t begin, std::size_t size) {
      for (std::size_t i = begin; i < begin + size; ++i) {
        m[i] = options.adam.beta1 * m[i] + (1 - options.adam.beta1) * g[i];
        v[i] = options.adam.beta2 * v[i] + (1 - options.adam.beta2) * g[i] * g[i];
        fresh[i] = options.adam.beta2 * fresh[i] + (1 - options.adam.beta2) * g[i] * g[i];
      }
      move(lr, l, begin, size);
    });
    raise();
  }

  void freeze(std::size_t workers) {
    raise();
    fresh = onebit.fresh_from_zero ? Vector(x.size(), 0.0) : v;
    double sum = 0, count = 0;
    Vector s(scaling.size(), 0.0);
    for_each_tensor([&](std::size_t l, std::size_t begin, std::size_t size) {
      if (size > 0) s[l] = slice_norm(m, begin, size) / std::sqrt(static_cast<double>(size));
      sum += s[l];
      count += s[l] > 0 ? 1 : 0;
    });
    for (std::size_t l = 0; l < s.size(); ++l) scaling[l] = s[l] > 0 ? sum / count / s[l] : 1;
    channel.emplace_back(workers, x.size(), Norm::l2, false);
    if (!onebit.released) return;
    tail.assign(channel[0].padded - x.size(), 0.0);
    channel[0] = CompressedMean(workers, channel[0].padded, Norm::l2, false);  // the padding is part of the vector
  }

  /// The mean of the workers' scaled momenta.
  Vector exchanged(const Rows& gradients) {
    Rows rows;
    for (const Vector& row : gradients) {
      const Vector g = clipped(row, options.adam.clip);
      Vector z(x.size());
      for_each_tensor([&](std::size_t l, std::size_t begin, std::size_t size) {
        for (std::size_t i = begin; i < begin + size; ++i) {
          z[i] = scaling[l] * (options.adam.beta1 * m[i] + (1 - options.adam.beta1) * g[i]);
        }
      });
      z.insert(z.end(), tail.begin(), tail.end());
      rows.push_back(z);
    }
    if (onebit.identity) return mean(rows);
    if (onebit.released && rows.size() == 1) return rows[0];
    const Vector z = channel[0](rows);
    std::copy(z.begin() + static_cast<std::ptrdiff_t>(x.size()), z.end(), tail.begin());
    return z;
  }

  void compressed_step(double lr, const Rows& gradients) {
    const Vector z = exchanged(gradients);
    ++updates;
    for_each_tensor([&](std::size_t l, std::size_t begin, std::size_t size) {
      for (std::size_t i = begin; i < begin + size; ++i) {
        const double last = m[i];
        m[i] = masked(i) ? 0 : z[i] / scaling[l];
        const double g = (m[i] - options.adam.beta1 * last) / (1 - options.adam.beta1);
        fresh[i] = options.adam.beta2 * fresh[i] + (1 - options.adam.beta2) * g * g;
      }
      move(lr, l, begin, size);
    });
  }

  void move(double lr, std::size_t l, std::size_t begin, std::size_t size) {
    factors[l] = next_factor(l, begin, size);
    ratios[l] = frozen(l) * factors[l];
    const Vector u = direction(l, true);
    for (std::size_t i = begin; i < begin + size; ++i) x[i] -= lr * ratios[l] * u[i];
  }

  bool masked(std::size_t i) const { return !onebit.released && v[i] == 0; }

  double next_factor(std::size_t l, std::size_t begin, std::size_t size) const {
    double r = 0;
    for (std::size_t i = begin; i < begin + size; ++i) {
      if (masked(i)) continue;
      const double floor = std::sqrt(least[l]) + options.adam.eps;
      r = std::max(r, root(v[i], variance_updates) / std::max(root(fresh[i], updates), floor));
    }
    if (r == 0) r = 1;
    if (decay(l) > 0) {
      const double whole = slice_norm(direction(l, true), begin, size);
      const double share = whole > 0 ? std::min(1.0, slice_norm(direction(l, false), begin, size) / whole) : 1;
      r = r * share + (1 - share);
    }
    r = std::max(std::min(r, options.factor_max), options.factor_min);
    r = std::min(r, factors[l] * (1 + options.factor_threshold));
    return std::max(r, factors[l] * (1 - options.factor_threshold));
  }

  bool dry_run_done = false;
  std::vector<CompressedMean> channel;  ///< exchange of the fused vector, once it exists
  Vector tail;                          ///< padding that is an input of the next exchange
  Vector least;                         ///< [tensors]
};

}  // namespace onebit::oracle
