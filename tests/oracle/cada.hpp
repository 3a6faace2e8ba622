#pragma once
// CADA (Chen et al. 2021) with gradients as a function of worker and weights: sequential, in double.

#include <functional>

#include "tests/oracle/adam.hpp"

namespace onebit::oracle {

struct CadaOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double threshold = 1;
  int window = 10;
  int max_delay = 100;
  bool snapshot_rule = true;  ///< rule 1; otherwise rule 2
};

class Cada {
 public:
  using Gradient = std::function<Vector(std::size_t worker, const Vector& x)>;

  Cada(const CadaOptions& cada_options, Vector x0, std::size_t n)
      : options(cada_options),
        x(std::move(x0)),
        h(x.size(), 0.0),
        v(h),
        vhat(h),
        workers(n),
        latest(n, h),
        stored(n, h),
        stale(n, x),
        delay(n, 0) {}

  /// Takes one step with this step's samples; `uploads` then tells which workers uploaded.
  void step(double lr, const Gradient& gradient) {
    const bool first = moves.empty();
    const bool renew = options.snapshot_rule && static_cast<int>(moves.size()) % options.max_delay == 0;
    if (renew) snapshot = x;
    double least = 0;
    for (std::size_t d = 1; d <= static_cast<std::size_t>(options.window) && d <= moves.size(); ++d) {
      least += options.threshold / options.window * moves[moves.size() - d];
    }
    uploads.assign(workers, false);
    for (std::size_t w = 0; w < workers; ++w) {
      ++delay[w];
      const Vector g = gradient(w, x);
      Vector change = gradient(w, options.snapshot_rule ? snapshot : stale[w]);
      for (std::size_t i = 0; i < x.size(); ++i) change[i] = g[i] - change[i];
      const double news = options.snapshot_rule ? distance(change, stored[w]) : norm(change);
      const bool late = !options.snapshot_rule && delay[w] >= options.max_delay;
      if (!first && !renew && !late && news * news < least) continue;
      uploads[w] = true;
      latest[w] = g;
      stored[w] = change;
      stale[w] = x;
      delay[w] = 0;
    }
    const Vector before = x;
    const Vector g = mean(latest);
    for (std::size_t i = 0; i < x.size(); ++i) {
      h[i] = options.beta1 * h[i] + (1 - options.beta1) * g[i];
      v[i] = options.beta2 * v[i] + (1 - options.beta2) * g[i] * g[i];
      vhat[i] = std::max(vhat[i], v[i]);
      x[i] -= lr * h[i] / (std::sqrt(vhat[i]) + options.eps);
    }
    moves.push_back(distance(x, before) * distance(x, before));
  }

  CadaOptions options;
  Vector x, h, v, vhat;
  std::size_t workers;
  Rows latest, stored, stale;
  Vector snapshot;
  std::vector<int> delay;  ///< steps since the last upload
  Vector moves;            ///< squared steps
  std::vector<bool> uploads;
};

}  // namespace onebit::oracle
