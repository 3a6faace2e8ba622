#pragma once
// Adam (Kingma and Ba 2015, Algorithm 1, with decoupled weight decay) and 1-bit Adam (Tang et al. 2021, Algorithm 1) on
// rows of gradients: sequential, in double, written from the papers.

#include <utility>

#include "tests/oracle/compressed_mean.hpp"

namespace onebit::oracle {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  double clip = 0;  ///< bound of the norm; 0: off
  bool bias_correction = true;
};

/// Returns the row, scaled down to norm `clip` if it is longer.
inline Vector clipped(Vector row, double clip) {
  const double length = norm(row);
  if (clip <= 0 || length <= clip) return row;
  for (double& value : row) value *= clip / (length + 1e-6);
  return row;
}

inline Vector mean(const Rows& rows) {
  Vector result(rows.front().size(), 0.0);
  for (const Vector& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) result[i] += row[i];
  }
  for (double& value : result) value /= static_cast<double>(rows.size());
  return result;
}

class Adam {
 public:
  Adam(const AdamOptions& adam_options, Vector x0)
      : options(adam_options), x(std::move(x0)), m(x.size(), 0.0), v(x.size(), 0.0) {}

  void step(double lr, const Rows& gradients) {
    const Vector g = clipped(mean(gradients), options.clip);
    for (std::size_t i = 0; i < x.size(); ++i) {
      m[i] = options.beta1 * m[i] + (1 - options.beta1) * g[i];
      v[i] = options.beta2 * v[i] + (1 - options.beta2) * g[i] * g[i];
    }
    ++updates;
    variance_updates = updates;
    move(lr);
  }

  AdamOptions options;
  Vector x, m, v;
  int updates = 0;
  int variance_updates = 0;

 protected:
  /// x -= lr (m_hat / (sqrt(v_hat) + eps) + weight_decay x)
  void move(double lr) {
    const double m_bias = options.bias_correction ? 1 - std::pow(options.beta1, updates) : 1;
    const double v_bias = options.bias_correction ? 1 - std::pow(options.beta2, variance_updates) : 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] -= lr * (m[i] / m_bias / (std::sqrt(v[i] / v_bias) + options.eps) + options.weight_decay * x[i]);
    }
  }
};

/// Choices that 1-bit Adam leaves open, and differences between the released code and the paper.
struct OnebitOptions {
  int dense_updates = 1;
  Norm norm = Norm::l2;
  bool feedback = true;
  bool dry_run = false;         ///< the first gradient is thrown away
  bool padding_counts = false;  ///< padded elements count like others
  bool mask = true;             ///< no momentum where the frozen variance is zero
  bool exchange_alone = true;   ///< a single worker compresses too
  bool identity = false;        ///< the exchange loses nothing
};

class OnebitAdam : public Adam {
 public:
  /// sizes: elements of each exchanged vector; their sum is the size of x0.
  OnebitAdam(const AdamOptions& adam_options, const OnebitOptions& onebit_options, Vector x0,
             std::vector<std::size_t> sizes)
      : Adam(adam_options, std::move(x0)), onebit(onebit_options), vectors(std::move(sizes)) {}

  void step(double lr, const Rows& gradients) {
    if (onebit.dry_run && !dry_run_done) {
      dry_run_done = true;
    } else if (updates < onebit.dense_updates) {
      Adam::step(lr, gradients);
    } else {
      compressed_step(lr, gradients);
    }
  }

  OnebitOptions onebit;
  std::vector<std::size_t> vectors;
  std::vector<CompressedMean> channels;

 private:
  void compressed_step(double lr, const Rows& gradients) {
    Rows momenta;
    for (const Vector& row : gradients) {
      Vector momentum = m;
      const Vector g = clipped(row, options.clip);
      for (std::size_t i = 0; i < x.size(); ++i) {
        momentum[i] = options.beta1 * m[i] + (1 - options.beta1) * g[i];
      }
      momenta.push_back(momentum);
    }
    m = gradients.size() == 1 && !onebit.exchange_alone ? momenta.front() : exchanged(momenta);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (onebit.mask && v[i] == 0) m[i] = 0;
    }
    ++updates;
    move(lr);
  }

  Vector exchanged(const Rows& momenta) {
    if (onebit.identity) return mean(momenta);
    if (channels.empty() || !onebit.feedback) {
      channels.clear();
      for (const std::size_t size : vectors) {
        channels.emplace_back(momenta.size(), size, onebit.norm, onebit.padding_counts);
      }
    }
    Vector result;
    for (CompressedMean& channel : channels) {
      Rows slices;
      const auto begin = static_cast<std::ptrdiff_t>(result.size());
      for (const Vector& row : momenta) {
        slices.emplace_back(row.begin() + begin, row.begin() + begin + static_cast<std::ptrdiff_t>(channel.size));
      }
      const Vector part = channel(slices);
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }

  bool dry_run_done = false;
};

/// "Adam (1-bit Naive)": Adam that uses the error-compensated exchange of the clipped gradients, as one vector, as the
/// mean gradient.
class AdamNaiveEc : public Adam {
 public:
  AdamNaiveEc(const AdamOptions& adam_options, Vector x0, std::size_t workers, bool padding_counts)
      : Adam(adam_options, std::move(x0)), channel(workers, x.size(), Norm::l2, padding_counts), bound(options.clip) {
    options.clip = 0;
  }

  void step(double lr, const Rows& gradients) {
    Rows rows;
    for (const Vector& row : gradients) rows.push_back(clipped(row, bound));
    Adam::step(lr, {channel(rows)});
  }

 private:
  CompressedMean channel;
  double bound;  ///< clipping bound of the workers' own gradients
};

}  // namespace onebit::oracle
