#include "sim/layers/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "device/cpu/lanes.hpp"
#include "tests/catch.hpp"

using namespace onebit;

namespace {

const device::cpu::Lanes lanes;

std::vector<float> row(Index n) {
  std::vector<float> z(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = static_cast<float>(7 * std::sin(3.1 * static_cast<double>(i + 1)));
  return z;
}

float largest(const std::vector<float>& z) {
  return lanes.largest(static_cast<Index>(z.size()), [&z](Index i) { return z[static_cast<std::size_t>(i)]; });
}

}  // namespace

TEST_CASE("softmax: the largest number and the sum of exponentials of rows of any length") {
  for (const Index n : {1, 2, 15, 16, 17, 31, 33, 256, 4097}) {
    CAPTURE(n);
    std::vector<float> z = row(n);
    const float top = *std::max_element(z.begin(), z.end());
    CHECK(largest(z) == top);
    double expected = 0;
    for (const float value : z) expected += std::exp(static_cast<double>(value - top));
    const std::vector<float> before = z;
    CHECK(sim::exponentiate(lanes, z.data(), n, top) == Approx(expected).epsilon(1e-7));
    int wrong = 0;
    for (std::size_t i = 0; i < z.size(); ++i) wrong += z[i] == device::exp(before[i] - top) ? 0 : 1;
    CHECK(wrong == 0);
  }
}

TEST_CASE("softmax: a NaN anywhere in a row reaches its sum") {
  for (const Index n : {1, 16, 20}) {
    for (Index i = 0; i < n; ++i) {
      std::vector<float> z = row(n);
      z[static_cast<std::size_t>(i)] = std::numeric_limits<float>::quiet_NaN();
      CHECK(std::isnan(sim::exponentiate(lanes, z.data(), n, largest(z))));
    }
  }
}
