#include "device/lanes.hpp"

#include <algorithm>
#include <functional>

#include "device/launch.hpp"
#include "tests/catch.hpp"
#include "tests/device/test_kernels.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

namespace {

constexpr Index kRows = 3;
const std::vector<Index> kSizes = {1, 7, 8, 15, 16, 17, 31, 33, 511, 512, 513, 2047, 2048, 2049, 9001};

using Values = std::vector<double>;

double halves(Values values) {
  for (std::size_t half = values.size() / 2; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) values[k] += values[k + half];
  }
  return values[0];
}

/// The documented order: so many interleaved partial sums, halves of each warp's added up, then halves of the warps'.
double documented_sum(const Values& terms, std::size_t lanes) {
  Values partial(lanes, 0.0);
  for (std::size_t i = 0; i < terms.size(); ++i) partial[i % lanes] += terms[i];
  const std::size_t warp = std::min<std::size_t>(lanes, 32);
  Values warps;
  for (auto first = partial.begin(); first != partial.end(); first += static_cast<std::ptrdiff_t>(warp)) {
    warps.push_back(halves(Values(first, first + static_cast<std::ptrdiff_t>(warp))));
  }
  return halves(warps);
}

template <class Kernel>
void check_rows(const Device& device, Index n) {
  const std::vector<float> values = oracle::normals(kRows * n, 17);
  const auto data = on(device, values);
  Buffer<float> doubled(device, kRows * n);
  auto results = Buffer<double>::zeros(device, 4 * kRows);
  for_each_item(device, kRows, Kernel{{data.data(), n, doubled.data(), results.data()}});
  const std::vector<double> found = results.to_host();
  for (Index row = 0; row < kRows; ++row) {
    const std::vector<float> x(values.begin() + row * n, values.begin() + (row + 1) * n);
    Values terms;
    for (auto value = x.rbegin(); value != x.rend(); ++value) terms.push_back(static_cast<double>(2 * *value));
    const bool negative = std::any_of(x.begin(), x.end(), [](float value) { return value < 0; });
    const auto most = static_cast<double>(*std::max_element(x.begin(), x.end()));
    const double sum = documented_sum(terms, static_cast<std::size_t>(lanes_of<Kernel>()));
    CHECK(std::vector<double>(found.begin() + 4 * row, found.begin() + 4 * row + 4) ==
          std::vector<double>{sum, most, negative ? 1.0 : 0.0, 1.0});
  }
}

}  // namespace

TEST_CASE("lanes sum in the documented order and agree on what they find, on every backend") {
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend);
    for (const Index n : kSizes) {
      CAPTURE(backend, n);
      check_rows<ItemLanesKernel>(device, n);
      check_rows<LargeItemLanesKernel>(device, n);
    }
  }
}

TEST_CASE("lanes select elements in ascending order and by rank, on every backend") {
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend);
    for (const Index n : kSizes) {
      std::vector<std::uint8_t> bytes;
      for (const float value : oracle::normals(n, 3)) {
        bytes.push_back(static_cast<std::uint8_t>(std::clamp(128 + 20 * value, 0.0f, 255.0f)));
      }
      std::vector<std::uint8_t> sorted = bytes;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      const auto data = on(device, bytes);
      for (const int least : {0, 120, 160, 255}) {
        std::vector<Index> expected;
        for (Index i = 0; i < n; ++i) {
          if (bytes[static_cast<std::size_t>(i)] >= least) expected.push_back(i);
        }
        const auto count = static_cast<Index>(expected.size());
        for (const Index rank : {Index{0}, count / 3, std::max(count - 1, Index{0})}) {
          auto one = Buffer<Index>::zeros(device, n), other = Buffer<Index>::zeros(device, n);
          Buffer<Index> numbers(device, 6);
          for_each_item(device, 1,
                        SelectKernel{data.data(), n, static_cast<std::uint8_t>(least), rank, one.data(), other.data(),
                                     numbers.data()});
          std::vector<Index> whole = expected;
          whole.resize(static_cast<std::size_t>(n), 0);
          const std::uint8_t byte = sorted[static_cast<std::size_t>(rank)];
          const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), byte, std::greater<>());
          CAPTURE(backend, n, least, rank);
          CHECK(one.to_host() == whole);
          CHECK(other.to_host() == whole);
          CHECK(numbers.to_host() ==
                std::vector<Index>{count, count, count > 0 ? expected[static_cast<std::size_t>(rank)] : -1, Index{byte},
                                   rank + 1 - (first - sorted.begin()), last - first});
        }
      }
    }
  }
}
