#include "device/math/math.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "device/launch/launch.hpp"
#include "tests/catch.hpp"
#include "tests/device/test_kernels.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::tests;

namespace {

constexpr float kSmallestNormal = std::numeric_limits<float>::min();
constexpr float kTiny = 1e-36f;  // below it, terms of erf's sum are denormal and may be flushed
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Floats of both signs over the whole range, evenly in their bits, and the ends of the formulas' pieces.
std::vector<float> samples() {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               kSmallestNormal,
                               -kSmallestNormal,
                               1e-45f,
                               kInfinity,
                               -kInfinity,
                               kNaN,
                               3.4e38f,
                               -3.4e38f,
                               1.0f,
                               -1.0f,
                               104.0f,
                               -104.0f,
                               89.0f,
                               88.72284f,
                               88.72283f,
                               -87.33654f,
                               -87.4f,
                               4.0f,
                               -4.0f,
                               0.9f,
                               -0.9f};
  for (std::uint32_t bits = 1; bits < 0xFF800000u - 99991u; bits += 99991u) {
    values.push_back(std::bit_cast<float>(bits));
  }
  for (float center : {0.9f, -0.9f, 4.0f, -4.0f, 0.34657359f, -0.34657359f, 88.7f, -87.3f}) {
    for (int i = 0; i < 2000; ++i, center = std::nextafter(center, kInfinity)) values.push_back(center);
  }
  for (int i = -40000; i <= 40000; ++i) values.push_back(static_cast<float>(i) * 2.5e-3f);
  return values;
}

/// Distance in units of the last place of the wanted number.
double units(float got, double wanted) {
  const float size = std::fabs(static_cast<float>(wanted));
  if (static_cast<double>(got) == wanted) return 0;
  const double unit = static_cast<double>(std::nextafter(size, kInfinity)) - static_cast<double>(size);
  return std::fabs(static_cast<double>(got) - wanted) / unit;
}

struct Values {
  std::vector<float> x, exps, erfs;
};

Values values_on(const std::string& backend) {
  Values values{.x = samples(), .exps = {}, .erfs = {}};
  values.exps.resize(values.x.size());
  values.erfs.resize(values.x.size());
  const device::Device device = device_of(backend);
  const device::Buffer<float> x = on(device, values.x);
  device::Buffer<float> exps(device, x.size()), erfs(device, x.size());
  for_each(device, x.size(), MathKernel{x.data(), exps.data(), erfs.data()});
  exps.download(values.exps);
  erfs.download(values.erfs);
  return values;
}

}  // namespace

TEST_CASE("math: exp is within 2 units in the last place over the whole range") {
  for (const std::string& backend : backends()) {
    const Values values = values_on(backend);
    double worst = 0;
    int wrong = 0;
    for (std::size_t i = 0; i < values.x.size(); ++i) {
      const double wanted = std::exp(static_cast<double>(values.x[i]));
      const float got = values.exps[i];
      if (std::isnan(values.x[i])) {
        wrong += std::isnan(got) ? 0 : 1;
      } else if (std::isinf(static_cast<float>(wanted))) {
        wrong += got == kInfinity ? 0 : 1;
      } else if (wanted < static_cast<double>(kSmallestNormal)) {
        wrong += got >= 0.0f && got <= kSmallestNormal ? 0 : 1;
      } else {
        worst = std::max(worst, units(got, wanted));
      }
    }
    CAPTURE(backend, worst);
    CHECK(wrong == 0);
    CHECK(worst <= 2);
    CHECK(worst > 0);
  }
}

TEST_CASE("math: erf is within 2 units in the last place and 1.2e-7 over the whole range") {
  for (const std::string& backend : backends()) {
    const Values values = values_on(backend);
    double worst = 0, farthest = 0;
    int wrong = 0;
    for (std::size_t i = 0; i < values.x.size(); ++i) {
      const float x = values.x[i], got = values.erfs[i];
      if (std::isnan(x)) {
        wrong += std::isnan(got) ? 0 : 1;
        continue;
      }
      const double wanted = std::erf(static_cast<double>(x));
      farthest = std::max(farthest, std::fabs(static_cast<double>(got) - wanted));
      if (std::fabs(x) >= kTiny) worst = std::max(worst, units(got, wanted));
      wrong += std::signbit(got) == std::signbit(x) ? 0 : 1;
    }
    CAPTURE(backend, worst, farthest);
    CHECK(wrong == 0);
    CHECK(worst <= 2);
    CHECK(farthest <= 1.2e-7);
    CHECK(worst > 0);
  }
}

TEST_CASE("math: values that are exact") {
  CHECK(device::exp(0.0f) == 1.0f);
  CHECK(device::exp(-0.0f) == 1.0f);
  CHECK(device::exp(-kInfinity) == 0.0f);
  CHECK(device::erf(kInfinity) == 1.0f);
  CHECK(device::erf(-kInfinity) == -1.0f);
}

TEST_CASE("math: every backend and the plain function give the same bits") {
  const Values first = values_on(backends().front());
  for (std::size_t i = 0; i < first.x.size(); ++i) {
    if (std::fabs(first.x[i]) < kTiny || first.x[i] < -87.0f || std::isnan(first.x[i])) continue;
    continue;  // denormals
    if (first.exps[i] == device::exp(first.x[i]) && first.erfs[i] == device::erf(first.x[i])) continue;
    FAIL_CHECK("x = " << first.x[i]);
  }
  for (const std::string& backend : backends()) {
    const Values other = values_on(backend);
    int different = 0;
    for (std::size_t i = 0; i < first.x.size(); ++i) {
      if (std::isnan(first.x[i])) continue;
      different += first.exps[i] == other.exps[i] && first.erfs[i] == other.erfs[i] ? 0 : 1;
    }
    CAPTURE(backend);
    CHECK(different == 0);
  }
}
