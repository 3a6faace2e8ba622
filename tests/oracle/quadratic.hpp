#pragma once
// An independent quadratic model, in double precision, with H as a full matrix composed from its eigenvectors.

#include <cmath>

#include "device/math/philox.hpp"
#include "tests/oracle/vectors.hpp"

namespace onebit::oracle {

/// f_w(x) = u^T H u / 2 + (b_w + mean xi)^T u, u = x - x*.
struct Quadratic {
  Vector eigenvalues;
  bool rotate = false;
  double noise = 0, heterogeneity = 0;
  Index workers = 1;

  Index size() const { return static_cast<Index>(eigenvalues.size()); }

  /// Eigenvector e of H: a coordinate, or the diagonal of a plane.
  Vector eigenvector(std::size_t e) const {
    Vector v(eigenvalues.size(), 0.0);
    const std::size_t mirror = v.size() - 1 - e;
    v[e] = 1;
    if (!rotate || mirror == e) return v;
    v[e] = e < mirror ? std::sqrt(0.5) : -std::sqrt(0.5);
    v[mirror] = std::sqrt(0.5);
    return v;
  }

  Vector optimum() const {
    Vector x;
    for (Index i = 0; i < size(); ++i) {
      x.push_back(static_cast<double>(device::normal({0, device::Purpose::data}, {4, 0, i})));
    }
    return x;
  }

  /// b_w: all elements of one size, partners of opposite signs.
  Vector tilt(Index worker) const {
    Vector b(eigenvalues.size(), 0.0);
    const Index half = workers / 2;
    if (worker >= 2 * half) return b;
    const auto n = static_cast<double>(workers);
    const double norm = heterogeneity * (workers % 2 == 0 ? 1.0 : std::sqrt(n / (n - 1)));
    for (Index i = 0; i < size(); ++i) {
      const auto word = device::philox({0, device::Purpose::data}, {3, worker % half, i})[0];
      const double sign = (word % 2 == 1) == (worker < half) ? 1.0 : -1.0;
      b[static_cast<std::size_t>(i)] = sign * norm / std::sqrt(static_cast<double>(size()));
    }
    return b;
  }

  /// The mean of xi over the draws [first, first + batch).
  Vector mean_noise(std::uint32_t seed, Index step, Index worker, Index first, Index batch) const {
    Vector mean(eigenvalues.size(), 0.0);
    for (Index draw = first; draw < first + batch; ++draw) {
      for (Index i = 0; i < size(); ++i) {
        const float normal = device::normal({seed, device::Purpose::noise}, {step, worker, draw * size() + i});
        mean[static_cast<std::size_t>(i)] +=
            noise / std::sqrt(static_cast<double>(size())) * static_cast<double>(normal) / static_cast<double>(batch);
      }
    }
    return mean;
  }

  /// The function with `linear` in place of b_w and noise.
  double value(const Vector& x, const Vector& linear) const {
    const Vector best = optimum();
    double sum = 0;
    for (std::size_t e = 0; e < eigenvalues.size(); ++e) {
      const Vector v = eigenvector(e);
      double along = 0;
      for (std::size_t i = 0; i < v.size(); ++i) along += v[i] * (x[i] - best[i]);
      sum += 0.5 * eigenvalues[e] * along * along;
    }
    for (std::size_t i = 0; i < x.size(); ++i) sum += linear[i] * (x[i] - best[i]);
    return sum;
  }

  /// Returns the gradient by central differences, which are exact for a quadratic.
  Vector gradient(Vector x, const Vector& linear) const {
    Vector result;
    for (double& each : x) {
      const double at = each;
      each = at + 0.5;
      const double above = value(x, linear);
      each = at - 0.5;
      result.push_back(above - value(x, linear));
      each = at;
    }
    return result;
  }
};

}  // namespace onebit::oracle
