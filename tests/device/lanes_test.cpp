#include "device/launch/lanes.hpp"

#include <omp.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

#include "device/launch/launch.hpp"
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

/// Sizes for which groups have as many members as a device has; launches do not check sizes.
constexpr ItemSizes shared_out(Index items) {
  constexpr Index huge = Index{1} << 30;
  return {.count = items, .longest = huge, .total = huge};
}
/// Sizes for which several groups have several members each.
constexpr ItemSizes in_crews(Index items) {
  constexpr Index huge = Index{1} << 30;
  return {.count = items, .longest = huge, .total = items * huge};
}
/// Sizes for which every group has one member.
constexpr ItemSizes alone(Index items) {
  return {.count = items, .longest = 1, .total = items};
}

/// One device of every backend, and CPUs with one thread and with a few.
std::vector<Device> group_devices() {
  std::vector<Device> devices;
  for (const std::string& backend : backends()) devices.push_back(device_of(backend));
  for (const int threads : {1, 2, 3, 7}) devices.push_back(Device::cpu(threads));
  return devices;
}

double halves(Values values) {
  for (std::size_t half = values.size() / 2; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) values[k] += values[k + half];
  }
  return values[0];
}

/// The documented order: interleaved partial sums, one per lane. In each warp, the halves of the partial sums are added
/// up; then the halves of the warps' sums are.
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

/// The documented sum of a large item: that of its tiles' sums.
double documented_large_sum(const Values& terms) {
  Values tiles;
  for (std::size_t first = 0; first < terms.size(); first += kTile) {
    const std::size_t last = std::min<std::size_t>(first + kTile, terms.size());
    const auto begin = terms.begin();
    tiles.push_back(
        documented_sum(Values(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last)),
                       kLargeItemLanes));
  }
  return documented_sum(tiles, kLargeItemLanes);
}

Values doubles(std::span<const float> values) {
  return {values.begin(), values.end()};
}

/// launch(kernel) runs it over kRows rows.
template <class Launch, class Sum>
void check_rows(const Device& device, Index n, const Launch& launch, const Sum& documented) {
  const std::vector<float> values = oracle::normals(kRows * n, 17);
  const auto data = on(device, values);
  Buffer<float> doubled(device, kRows * n);
  auto results = Buffer<double>::zeros(device, 4 * kRows);
  launch(LanesKernel{data.data(), n, doubled.data(), results.data()});
  const std::vector<double> found = results.to_host();
  for (Index row = 0; row < kRows; ++row) {
    const std::vector<float> x(values.begin() + row * n, values.begin() + (row + 1) * n);
    Values terms;
    for (auto value = x.rbegin(); value != x.rend(); ++value) terms.push_back(static_cast<double>(2 * *value));
    const bool negative = std::any_of(x.begin(), x.end(), [](float value) { return value < 0; });
    const auto most = static_cast<double>(*std::max_element(x.begin(), x.end()));
    CHECK(std::vector<double>(found.begin() + 4 * row, found.begin() + 4 * row + 4) ==
          std::vector<double>{documented(terms), most, negative ? 1.0 : 0.0, 1.0});
  }
}

/// The results of SelectKernel for some bytes.
struct Selection {
  const std::vector<std::uint8_t>& bytes;
  int least;
  Index rank;

  void check(const Device& device, const ItemSizes& sizes) const {
    const auto n = static_cast<Index>(bytes.size());
    const auto data = on(device, bytes);
    auto one = Buffer<Index>::zeros(device, n), other = Buffer<Index>::zeros(device, n);
    Buffer<Index> numbers(device, 6);
    for_each_large_item(
        device, sizes,
        SelectKernel{data.data(), n, static_cast<std::uint8_t>(least), rank, one.data(), other.data(), numbers.data()});
    std::vector<Index> expected;
    for (Index i = 0; i < n; ++i) {
      if (bytes[static_cast<std::size_t>(i)] >= least) expected.push_back(i);
    }
    const auto count = static_cast<Index>(expected.size());
    std::vector<std::uint8_t> sorted = bytes;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const std::uint8_t byte = sorted[static_cast<std::size_t>(rank)];
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), byte, std::greater<>());
    const Index nth = rank < count ? expected[static_cast<std::size_t>(rank)] : -1;
    expected.resize(static_cast<std::size_t>(n), 0);
    CAPTURE(device.name(), device.threads(), sizes.longest, n, least, rank);
    CHECK(one.to_host() == expected);
    CHECK(other.to_host() == expected);
    CHECK(numbers.to_host() ==
          std::vector<Index>{count, count, nth, Index{byte}, rank + 1 - (first - sorted.begin()), last - first});
  }
};

std::vector<std::uint8_t> some_bytes(Index n) {
  std::vector<std::uint8_t> bytes;
  for (const float value : oracle::normals(n, 3)) {
    bytes.push_back(static_cast<std::uint8_t>(std::clamp(128 + 20 * value, 0.0f, 255.0f)));
  }
  return bytes;
}

}  // namespace

TEST_CASE("lanes sum in the documented order and agree on what they find, on every backend") {
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend);
    for (const Index n : kSizes) {
      CAPTURE(backend, n);
      check_rows(
          device, n, [&](const auto& kernel) { for_each_item(device, kRows, kernel); },
          [](const Values& terms) { return documented_sum(terms, kItemLanes); });
    }
  }
}

TEST_CASE("groups of any size sum in the documented order and agree on what they find, on every backend") {
  for (const Device& device : group_devices()) {
    for (const ItemSizes& sizes : {alone(kRows), shared_out(kRows), in_crews(kRows)}) {
      for (const Index n : {Index{1}, Index{8}, Index{513}, Index{9001}, kTile, kTile + 1, 5 * kTile + 7}) {
        CAPTURE(device.name(), device.threads(), sizes.longest, n);
        check_rows(
            device, n, [&](const auto& kernel) { for_each_large_item(device, sizes, kernel); }, documented_large_sum);
      }
    }
  }
}

TEST_CASE("groups of one do the work where OpenMP gives fewer threads than asked for") {
  const Device device = Device::cpu(3);
  const int levels = omp_get_max_active_levels();
  omp_set_max_active_levels(0);
  check_rows(
      device, 5 * kTile + 7, [&](const auto& kernel) { for_each_large_item(device, shared_out(kRows), kernel); },
      documented_large_sum);
  omp_set_max_active_levels(levels);
}

TEST_CASE("groups select elements in ascending order and by rank, on every backend", "[long]") {
  for (const Device& device : group_devices()) {
    for (const Index n : kSizes) {
      const std::vector<std::uint8_t> bytes = some_bytes(n);
      for (const int least : {0, 120, 160, 255}) {
        const Index count = std::count_if(bytes.begin(), bytes.end(), [least](auto byte) { return byte >= least; });
        for (const Index rank : {Index{0}, count / 3, std::max(count - 1, Index{0})}) {
          Selection{bytes, least, rank}.check(device, alone(1));
          Selection{bytes, least, rank}.check(device, shared_out(1));
        }
      }
    }
  }
}

TEST_CASE("groups share pieces out, on every backend") {
  for (const Device& device : group_devices()) {
    for (const ItemSizes& sizes : {alone(1), shared_out(1)}) {
      for (const auto& [n, size] : std::vector<std::pair<Index, Index>>{{1, 1},
                                                                        {100, 7},
                                                                        {3000, 511},
                                                                        {3000, 512},
                                                                        {3000, 3000},
                                                                        {3 * kTile, 2 * kTile},
                                                                        {9 * kTile, kTile + 5}}) {
        const std::vector<float> values = oracle::normals(n, 5);
        const auto data = on(device, values);
        auto found = Buffer<double>::zeros(device, 3 * ceil_div(n, size));
        for_each_large_item(device, sizes, PiecesKernel{data.data(), n, size, found.data()});
        std::vector<double> expected;
        for (Index first = 0; first < n; first += size) {
          const auto piece = std::span(values).subspan(static_cast<std::size_t>(first),
                                                       static_cast<std::size_t>(std::min(size, n - first)));
          const Values terms = doubles(piece);
          const double in_turn = std::accumulate(terms.begin(), terms.end(), 0.0);
          expected.push_back(size < kLargeItemLanes ? in_turn : documented_large_sum(terms));
          expected.push_back(static_cast<double>(*std::max_element(piece.begin(), piece.end())));
          expected.push_back(1);
        }
        CAPTURE(device.name(), device.threads(), sizes.longest, n, size);
        CHECK(found.to_host() == expected);
      }
    }
  }
}

TEST_CASE("groups visit every element once with its run, on every backend") {
  for (const Device& device : group_devices()) {
    for (const ItemSizes& sizes : {alone(1), shared_out(1)}) {
      for (const Index n : kSizes) {
        for (const Index run : {Index{1}, Index{3}, Index{64}, Index{1000}, n}) {
          auto values = Buffer<Index>::zeros(device, n);
          for_each_large_item(device, sizes, RunsKernel{n, run, values.data()});
          std::vector<Index> expected;
          for (Index i = 0; i < n; ++i) expected.push_back(i / run);
          CAPTURE(device.name(), device.threads(), sizes.longest, n, run);
          CHECK(values.to_host() == expected);
        }
      }
    }
  }
}

TEST_CASE("groups are as large as an item's share of the work") {
  CHECK(group_size({.count = 0, .longest = 0, .total = 0}, 8) == 1);
  CHECK(group_size({.count = 8, .longest = 10 * kTile, .total = 80 * kTile}, 8) == 1);
  CHECK(group_size({.count = 1, .longest = 100 * kTile, .total = 100 * kTile}, 8) == 8);
  CHECK(group_size({.count = 3, .longest = 100 * kTile, .total = 300 * kTile}, 8) == 2);
  CHECK(group_size({.count = 9, .longest = 100 * kTile, .total = 200 * kTile}, 8) == 4);      // one is large
  CHECK(group_size({.count = 1, .longest = 2 * kTile + 1, .total = 2 * kTile + 1}, 8) == 2);  // more do not pay off
  CHECK(group_size({.count = 1, .longest = kTile, .total = kTile}, 8) == 1);
  CHECK(group_size({.count = 9, .longest = 70 * kTile, .total = 100 * kTile}, 8) == 8);  // 5 would leave 3 without work
  CHECK(group_size({.count = 3, .longest = 100 * kTile, .total = 300 * kTile}, 7) == 2);
}
