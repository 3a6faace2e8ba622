#include <algorithm>
#include <cmath>

#include "sim/data/worker_split.hpp"

namespace onebit::sim {
namespace {

constexpr device::RandomKey key{0, device::Purpose::split};

/// Returns a uniform number in (0, 1], so that its logarithm is finite.
double open_uniform(device::RandomCounter counter) {
  return (static_cast<double>(device::philox(key, counter)[0]) + 1.0) * 0x1p-32;
}

/// Returns the logarithm of a Gamma(shape, 1) variate for shape >= 1. Advances `counter` past what it drew.
double log_gamma_variate(double shape, device::RandomCounter& counter) {
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = static_cast<double>(device::normal(key, counter));
    ++counter.element;
    const double log_u = std::log(open_uniform(counter));
    ++counter.element;
    const double v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
    if (v > 0.0 && log_u < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

}  // namespace

std::vector<double> dirichlet(double alpha, Index workers, Index stream) {
  std::vector<double> shares(static_cast<std::size_t>(workers));
  for (Index w = 0; w < workers; ++w) {
    // Gamma(a) = Gamma(a + 1) U^(1/a). Computes the logarithm, because the variate itself underflows for a small a.
    device::RandomCounter counter{.step = 1 + stream, .worker = w};
    const double boost = std::log(open_uniform(counter)) / alpha;
    ++counter.element;
    shares[static_cast<std::size_t>(w)] = log_gamma_variate(alpha + 1.0, counter) + boost;
  }
  const double largest = *std::max_element(shares.begin(), shares.end());
  double sum = 0.0;
  for (double& share : shares) sum += share = std::exp(share - largest);
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace onebit::sim
