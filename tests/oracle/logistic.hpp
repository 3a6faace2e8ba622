#pragma once
// An independent logistic regression: plain loops in double precision, and its minimum by Newton's method.

#include <cstdint>
#include <string>

#include "tests/oracle/vectors.hpp"

namespace onebit::oracle {

struct Logistic {
  Rows x;
  std::vector<std::int32_t> labels;
  std::string regulariser = "l2";
  double lambda = 0;

  double margin(const Vector& w, std::size_t row) const {
    double z = 0;
    for (std::size_t i = 0; i < w.size(); ++i) z += x[row][i] * w[i];
    return labels[row] == 1 ? z : -z;
  }

  double loss(const Vector& w) const {
    double sum = 0, charge = 0;
    for (std::size_t row = 0; row < x.size(); ++row) {
      const double m = margin(w, row);
      sum += std::log1p(std::exp(-std::fabs(m))) + (m < 0 ? -m : 0.0);
    }
    for (const double each : w) {
      if (regulariser == "l2") charge += each * each / 2;
      if (regulariser == "nonconvex") charge += each * each / (1 + each * each);
    }
    return sum / static_cast<double>(x.size()) + lambda * charge;
  }

  /// Returns the gradient by central differences.
  Vector gradient(Vector w) const {
    Vector result;
    for (double& each : w) {
      const double at = each;
      each = at + 1e-5;
      const double above = loss(w);
      each = at - 1e-5;
      result.push_back((above - loss(w)) / 2e-5);
      each = at;
    }
    return result;
  }

  /// Returns the weights at the minimum, with the l2 regularizer: ten Newton steps from zero.
  Vector minimum() const {
    Vector w(x.front().size(), 0.0);
    for (int round = 0; round < 10; ++round) {
      Vector slope(w.size(), 0.0);
      Rows hessian(w.size(), Vector(w.size(), 0.0));
      add_curvature(w, slope, hessian);
      for (std::size_t i = 0; i < w.size(); ++i) {
        slope[i] += lambda * w[i];
        hessian[i][i] += lambda;
      }
      const Vector step = solve(hessian, slope);
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= step[i];
    }
    return w;
  }

 private:
  /// Gradient and lower triangle of the Hessian of the mean loss; zeros of sparse data are skipped.
  void add_curvature(const Vector& w, Vector& slope, Rows& hessian) const {
    const double share = 1 / static_cast<double>(x.size());
    for (std::size_t row = 0; row < x.size(); ++row) {
      const double miss = 1 / (1 + std::exp(margin(w, row)));
      for (std::size_t i = 0; i < w.size(); ++i) {
        const double xi = x[row][i];
        if (xi == 0) continue;
        slope[i] -= share * miss * (labels[row] == 1 ? xi : -xi);
        for (std::size_t j = 0; j <= i; ++j) hessian[i][j] += share * miss * (1 - miss) * xi * x[row][j];
      }
    }
  }

  /// Solves by a Cholesky decomposition of the lower triangle.
  static Vector solve(Rows a, Vector b) {
    const std::size_t n = b.size();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        for (std::size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
        a[i][j] = i == j ? std::sqrt(a[i][i]) : a[i][j] / a[j][j];
      }
      for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
      b[i] /= a[i][i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
      b[i] /= a[i][i];
    }
    return b;
  }
};

}  // namespace onebit::oracle
