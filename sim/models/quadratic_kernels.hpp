#pragma once
// Kernels of the quadratic model, which compute an element at a time.

#include "device/math/philox.hpp"

namespace onebit::sim {

/// Computes (Hu)_i with u = x - optimum. H is diagonal or also has an antidiagonal, which couples i with its mirror
/// image size - 1 - i.
struct QuadraticForm {
  Index size;
  const double* diagonal;
  const double* cross;
  const float* optimum;
  ONEBIT_HOST_DEVICE double away(const float* x, Index i) const {
    return static_cast<double>(x[i]) - static_cast<double>(optimum[i]);
  }
  ONEBIT_HOST_DEVICE double slope(const float* x, Index i) const {
    return diagonal[i] * away(x, i) + cross[i] * away(x, size - 1 - i);
  }
};

/// Difference between a worker's gradient and that of the mean function: for a worker of the first half, every element
/// is `length` with a random sign; for its partner in the second half, it is the negative of that; for a worker without
/// a partner, it is 0.
struct QuadraticTilt {
  Index half;
  double length;  ///< absolute value of every element
  ONEBIT_HOST_DEVICE double operator()(Index worker, Index i) const {
    if (length == 0 || worker >= 2 * half) return 0;
    const auto words = device::philox({0, device::Purpose::data}, {3, worker % half, i});
    const bool positive = ((words[0] & 1U) != 0) == (worker < half);
    return positive ? length : -length;
  }
};

/// Mean over a worker's examples of the noise that they add to its gradient.
struct QuadraticNoise {
  device::RandomKey key;
  Index step, first_draw, batch, size;
  double deviation;  ///< standard deviation of an element for one example
  ONEBIT_HOST_DEVICE double operator()(Index worker, Index i) const {
    if (deviation == 0) return 0;
    double sum = 0;
    for (Index draw = first_draw; draw < first_draw + batch; ++draw) {
      sum += static_cast<double>(device::normal(key, {step, worker, draw * size + i}));
    }
    return deviation * sum / static_cast<double>(batch);
  }
};

/// Writes an element of a worker's gradient and returns a term of the worker's loss, which is the sum of these terms.
struct QuadraticGradientTerm {
  QuadraticForm form;
  QuadraticTilt tilt;
  QuadraticNoise noise;
  Index first_worker;
  const float* weights;
  Index weights_stride;
  float* gradients;
  Index stride;
  bool add;
  double scale;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const float* x = weights + row * weights_stride;
    const double slope = form.slope(x, i);
    const double extra = tilt(first_worker + row, i) + noise(first_worker + row, i);
    float& out = gradients[row * stride + i];
    const double gradient = scale * (slope + extra);
    out = static_cast<float>(add ? static_cast<double>(out) + gradient : gradient);
    return form.away(x, i) * (0.5 * slope + extra);
  }
};

/// One term for each coordinate; the sum of the terms is the value of the mean function.
struct QuadraticValueTerm {
  QuadraticForm form;
  const float* weights;
  ONEBIT_HOST_DEVICE double operator()(Index, Index, Index i) const {
    return 0.5 * form.away(weights, i) * form.slope(weights, i);
  }
};

}  // namespace onebit::sim
