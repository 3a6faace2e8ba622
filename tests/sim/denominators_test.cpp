// The denominators of an optimizer, tensor by tensor, on every backend.

#include "sim/probe/denominators.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

TEST_CASE("denominators: the smallest of all coordinates that move, quantiles by tensor") {
  constexpr Index kMany = 200'000;  // too many to rank all of them: a sample is ranked
  std::vector<float> variance = {4, 0, 1, 9, 16};
  variance.resize(7);  // a tensor of zeros
  for (Index i = 0; i < kMany; ++i) {
    const auto root = static_cast<float>((i * 7919) % kMany + 1);  // 1 to 200,000, scattered
    variance.push_back(root * root);
  }
  const std::vector<compress::Tensor> tensors = {{"a", 5}, {"zeros", 2}, {"many", kMany}};
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const device::Device device = device_of(backend);
    const auto values = device::Buffer<float>::copy_of(device, variance);
    const Denominators d = denominators_of(device, {.variance = &values, .correction = 2, .eps = 0.5}, tensors);
    REQUIRE(d.least.size() == 3);
    CHECK(d.least[0] == 2.5);
    CHECK(d.low[0] == 2.5);
    CHECK(d.median[0] == 4.5);
    CHECK(std::isnan(d.least[1]));
    CHECK(std::isnan(d.low[1]));
    CHECK(std::isnan(d.median[1]));
    CHECK(d.least[2] == 2.5);
    CHECK(d.low[2] == Approx(0.02 * kMany).epsilon(0.1));
    CHECK(d.median[2] == Approx(kMany).epsilon(0.02));
  }
}

TEST_CASE("denominators: of an optimizer that divides by nothing there are none") {
  CHECK(denominators_of(device::Device::cpu(1), {}, {{"a", 5}}).least.empty());
}
