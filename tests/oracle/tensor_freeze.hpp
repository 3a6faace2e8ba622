#pragma once
// 1-bit Adam whose tensors are frozen one by one, each when the l1 norm of its variance is stable: sequential, in
// double. A variance that moves is Adam's own, with its bias.

#include <algorithm>
#include <optional>

#include "tests/oracle/adam.hpp"

namespace onebit::oracle {

struct TensorFreezeOptions {
  std::size_t lag = 10;
  double threshold = 0.96;
  int dwell = 1;
  int after = 0;
  bool stored = false;    ///< the ratio of the stored variance decides, with its bias
  bool identity = false;  ///< the exchange loses nothing
  double floor = 0;       ///< floor of a frozen variance: a share of the tensor's mean over elements that are not 0
};

class TensorFreeze {
 public:
  struct Tensor {
    std::size_t first = 0, size = 0;
    std::vector<double> norms = {};
    int stays = 0;      ///< number of steps on which the ratio has been at the threshold
    int frozen_by = 0;  ///< 0: not frozen
    std::optional<CompressedMean> channel = {};
  };

  TensorFreeze(const AdamOptions& adam_options, const TensorFreezeOptions& freeze_options, Vector x0,
               const std::vector<std::size_t>& sizes)
      : adam(adam_options), freeze(freeze_options), x(std::move(x0)), m(x.size()), v(x.size()), frozen(x.size()) {
    std::size_t first = 0;
    for (const std::size_t size : sizes) {
      tensors.push_back({first, size});
      first += size;
    }
  }

  void step(double lr, const Rows& gradients) {
    ++t;
    const bool compressing = std::ranges::any_of(tensors, [](const Tensor& each) { return each.frozen_by > 0; });
    Rows rows;
    for (const Vector& row : gradients) rows.push_back(compressing ? clipped(row, adam.clip) : row);
    const Vector g = compressing ? mean(rows) : clipped(mean(rows), adam.clip);
    for (Tensor& tensor : tensors) {
      tensor.frozen_by > 0 ? exchange(tensor, rows) : follow(tensor, g);
      move(tensor, lr);
    }
    for (Tensor& tensor : tensors) {
      if (tensor.frozen_by == 0 && stable(tensor)) freeze_now(tensor, gradients.size());
    }
  }

  /// Returns what divides the momentum of a coordinate, squared and without eps.
  double preconditioner(const Tensor& tensor, std::size_t i) const {
    return tensor.frozen_by > 0 ? frozen[i] : v[i] / weight(t);
  }

  AdamOptions adam;
  TensorFreezeOptions freeze;
  Vector x, m, v, frozen;
  std::vector<Tensor> tensors;
  int t = 0;

 private:
  double weight(int updates) const { return adam.bias_correction ? 1 - std::pow(adam.beta2, updates) : 1; }

  void follow(const Tensor& tensor, const Vector& g) {
    for (std::size_t i = tensor.first; i < tensor.first + tensor.size; ++i) {
      m[i] = adam.beta1 * m[i] + (1 - adam.beta1) * g[i];
      v[i] = adam.beta2 * v[i] + (1 - adam.beta2) * g[i] * g[i];
    }
  }

  void exchange(Tensor& tensor, const Rows& rows) {
    Rows momenta;
    for (const Vector& row : rows) {
      momenta.emplace_back();
      for (std::size_t i = tensor.first; i < tensor.first + tensor.size; ++i) {
        momenta.back().push_back(adam.beta1 * m[i] + (1 - adam.beta1) * row[i]);
      }
    }
    const Vector result = freeze.identity ? mean(momenta) : (*tensor.channel)(momenta);
    for (std::size_t i = 0; i < tensor.size; ++i) {
      m[tensor.first + i] = frozen[tensor.first + i] == 0 ? 0 : result[i];
    }
  }

  void move(const Tensor& tensor, double lr) {
    const double bias = adam.bias_correction ? 1 - std::pow(adam.beta1, t) : 1;
    for (std::size_t i = tensor.first; i < tensor.first + tensor.size; ++i) {
      const double root = std::sqrt(preconditioner(tensor, i));
      x[i] -= lr * (m[i] / bias / (root + adam.eps) + adam.weight_decay * x[i]);
    }
  }

  bool stable(Tensor& tensor) const {
    double norm = 0;
    for (std::size_t i = tensor.first; i < tensor.first + tensor.size; ++i) norm += v[i];
    tensor.norms.push_back(norm);
    if (tensor.norms.size() <= freeze.lag) return false;
    double before = tensor.norms[tensor.norms.size() - 1 - freeze.lag];
    if (t < freeze.after || norm == 0 || before == 0) return false;
    if (!freeze.stored) {
      norm /= weight(t);
      before /= weight(t - static_cast<int>(freeze.lag));
    }
    tensor.stays = std::min(norm / before, before / norm) >= freeze.threshold ? tensor.stays + 1 : 0;
    return tensor.stays >= freeze.dwell;
  }

  void freeze_now(Tensor& tensor, std::size_t workers) {
    tensor.frozen_by = t;
    tensor.channel.emplace(workers, tensor.size, Norm::l2, false);
    double sum = 0, count = 0;
    for (std::size_t i = tensor.first; i < tensor.first + tensor.size; ++i) {
      frozen[i] = v[i] / weight(t);
      sum += frozen[i];
      count += frozen[i] > 0 ? 1 : 0;
    }
    for (std::size_t i = tensor.first; i < tensor.first + tensor.size; ++i) {
      if (frozen[i] > 0) frozen[i] = std::max(frozen[i], freeze.floor * sum / count);
    }
  }
};

}  // namespace onebit::oracle
