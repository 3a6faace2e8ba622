#include "device/math/philox.hpp"

#include <set>

#include "device/launch/launch.hpp"
#include "tests/catch.hpp"
#include "tests/device/test_kernels.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

namespace {

using Words = r123::Philox4x32::ctr_type;

constexpr RandomKey kKey{7, Purpose::sampling};

}  // namespace

// The known answers of Random123 (tests/kat_vectors), through our own naming of key and counter.
TEST_CASE("philox gives Random123's known answers") {
  CHECK(philox({0, static_cast<Purpose>(0)}, {}) == Words{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  CHECK(philox({0xffffffff, static_cast<Purpose>(0xffffffff)}, {-1, -1, -1}) ==
        Words{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  const auto element = static_cast<Index>(0x85a308d3243f6a88);
  CHECK(philox({0xa4093822, static_cast<Purpose>(0x299f31d0)}, {0x03707344, 0x13198a2e, element}) ==
        Words{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST_CASE("every part of the key and of the counter matters") {
  const RandomCounter base{1, 2, 3};
  std::set<std::uint32_t> seen = {philox(kKey, base)[0]};
  seen.insert(philox({8, kKey.purpose}, base)[0]);
  for (const auto purpose : {Purpose::initialization, Purpose::data, Purpose::split}) {
    seen.insert(philox({kKey.seed, purpose}, base)[0]);
  }
  seen.insert(philox(kKey, {2, 2, 3})[0]);
  seen.insert(philox(kKey, {1, 3, 3})[0]);
  seen.insert(philox(kKey, {1, 2, 4})[0]);
  seen.insert(philox(kKey, {1, 2, 3 + (Index{1} << 32)})[0]);
  CHECK(seen.size() == 9);
}

TEST_CASE("the values of the purposes are fixed for ever") {
  CHECK(static_cast<int>(Purpose::initialization) == 1);
  CHECK(static_cast<int>(Purpose::sampling) == 2);
  CHECK(static_cast<int>(Purpose::data) == 3);
  CHECK(static_cast<int>(Purpose::split) == 4);
  CHECK(static_cast<int>(Purpose::masking) == 8);
  CHECK(static_cast<int>(Purpose::dropout) == 9);
  CHECK(static_cast<int>(Purpose::noise) == 10);
  CHECK(static_cast<int>(Purpose::permutation) == 12);
}

TEST_CASE("uniform numbers lie between 0 and 1 on a grid of 2^-24 and are spread evenly") {
  constexpr Index count = 100000;
  double sum = 0;
  double squares = 0;
  bool on_grid = true;
  for (Index i = 0; i < count; ++i) {
    const float value = uniform(kKey, {0, 0, i});
    on_grid = on_grid && value >= 0 && value < 1 && std::floor(value * 0x1p24f) == value * 0x1p24f;
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  CHECK(on_grid);
  CHECK(std::fabs(sum / count - 0.5) < 5 * std::sqrt(1.0 / 12 / count));
  CHECK(std::fabs(squares / count - 1.0 / 3) < 5 * std::sqrt(4.0 / 45 / count));
}

TEST_CASE("normal numbers have the moments of a normal distribution") {
  constexpr Index count = 100000;
  double moments[5] = {};
  for (Index i = 0; i < count; ++i) {
    const auto value = static_cast<double>(normal(kKey, {0, 0, i}));
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(value, k) / count;
  }
  CHECK(std::fabs(moments[1]) < 5 * std::sqrt(1.0 / count));
  CHECK(std::fabs(moments[2] - 1) < 5 * std::sqrt(2.0 / count));
  CHECK(std::fabs(moments[3]) < 5 * std::sqrt(15.0 / count));
  CHECK(std::fabs(moments[4] - 3) < 5 * std::sqrt(96.0 / count));
}

TEST_CASE("uniform integers are the top of a 64-bit product") {
  for (Index i = 0; i < 1000; ++i) {
    CHECK(uniform_index(kKey, {0, 0, i}, 1) == 0);
    CHECK(uniform_index(kKey, {0, 0, i}, Index{1} << 32) == static_cast<Index>(philox(kKey, {0, 0, i})[0]));
  }
  Index hits[7] = {};
  for (Index i = 0; i < 7000; ++i) {
    const Index drawn = uniform_index(kKey, {1, 0, i}, 7);
    REQUIRE(drawn >= 0);
    REQUIRE(drawn < 7);
    ++hits[drawn];
  }
  for (const Index count : hits) CHECK(std::abs(count - 1000) < 150);  // 5 standard deviations
}

TEST_CASE("kernels draw the host's numbers: integers and uniforms the same, normals to two ulps") {
  constexpr Index count = 5000, bound = 1000003;
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const Device device = device_of(backend);
    Buffer<float> uniforms(device, count), normals(device, count);
    Buffer<Index> indices(device, count);
    for_each(device, count, RandomKernel{kKey, bound, uniforms.data(), normals.data(), indices.data()});
    std::vector<float> host_uniforms, host_normals;
    std::vector<Index> host_indices;
    for (Index i = 0; i < count; ++i) {
      host_uniforms.push_back(uniform(kKey, {3, 5, i}));
      host_normals.push_back(normal(kKey, {3, 5, i}));
      host_indices.push_back(uniform_index(kKey, {3, 5, i}, bound));
    }
    CHECK(uniforms.to_host() == host_uniforms);
    CHECK(indices.to_host() == host_indices);
    const std::vector<float> drawn = normals.to_host();
    float worst = 0;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const float ulp = std::nextafter(std::fabs(host_normals[i]), 10.0f) - std::fabs(host_normals[i]);
      worst = std::max(worst, std::fabs(drawn[i] - host_normals[i]) / ulp);
    }
    CHECK(worst <= 2);
  }
}
