#include "device/launch/launch.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>

#include "device/cpu/launch.hpp"
#include "tests/catch.hpp"
#include "tests/device/test_kernels.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

namespace {

const std::vector<int> kThreads = {1, 2, 3, 7, 16};
const std::vector<Index> kSizes = {0, 1, 31, 33, 4096, 4097, 100003};

constexpr Index kRows = 3;

std::vector<Index> offsets_of(const std::vector<Index>& sizes) {
  std::vector<Index> offsets(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), Index{0});
  return offsets;
}

std::vector<double> sums(const Device& device, const std::vector<float>& values, Index rows,
                         const std::vector<Index>& sizes, bool bound = false) {
  const auto offsets = on(device, offsets_of(sizes));
  const auto data = on(device, values);
  const Index stride = static_cast<Index>(values.size()) / rows;
  Buffer<double> result(device, rows * static_cast<Index>(sizes.size()));
  const Chunks chunks(device, sizes);
  const ValueTerm term{data.data(), stride, offsets.data()};
  if (bound) {
    reduce(device, rows, chunks, BoundValueTerm{term}, result.data());
  } else {
    reduce(device, rows, chunks, term, result.data());
  }
  return result.to_host();
}

/// The documented order, sequentially: 16 interleaved partial sums in each run of 256; then neighbours are added in
/// pairs, level by level: first runs, then lanes, then chunks.
double documented_sum(const float* values, Index size) {
  const auto tree = [](std::vector<double> level) {
    while (level.size() > 1) {
      std::vector<double> next;
      for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
      if (level.size() % 2 != 0) next.push_back(level.back());
      level = next;
    }
    return level.empty() ? 0.0 : level[0];
  };
  std::vector<double> chunks;
  for (Index begin = 0; begin < size; begin += kChunk) {
    std::vector<double> lanes;
    for (Index lane = begin; lane < begin + 16; ++lane) {
      std::vector<double> runs;
      for (Index run = 0; run < 4096; run += 256) {
        double sum = 0;
        for (Index i = lane + run; i < std::min(lane + run + 256, size); i += 16) sum += static_cast<double>(values[i]);
        runs.push_back(sum);
      }
      lanes.push_back(tree(runs));
    }
    chunks.push_back(tree(lanes));
  }
  return tree(chunks);
}

}  // namespace

TEST_CASE("tree_sum adds neighbours, level by level") {
  // 1e16 + 1 rounds to 1e16: the order shows.
  std::vector<double> values = {1, 1e16, -1e16, 1, 1};
  CHECK(cpu::tree_sum(values.data(), 5) == ((1 + 1e16) + (-1e16 + 1)) + 1);
  values = {1, 1e16, -1e16};
  CHECK(cpu::tree_sum(values.data(), 3) == 0);
  values = {-1e16, 1e16, 1};
  CHECK(cpu::tree_sum(values.data(), 3) == 1);
  values = {4};
  CHECK(cpu::tree_sum(values.data(), 1) == 4);
  CHECK(cpu::tree_sum(values.data(), 0) == 0);
}

TEST_CASE("a reduction sums in the documented order, on every backend and any number of threads") {
  const Index total = std::accumulate(kSizes.begin(), kSizes.end(), Index{0});
  const std::vector<float> values = oracle::normals(kRows * total, 1);
  std::vector<double> expected;
  Index element = 0;
  for (Index row = 0; row < kRows; ++row) {
    for (const Index size : kSizes) {
      expected.push_back(documented_sum(values.data() + element, size));
      element += size;
    }
  }
  for (const std::string& backend : backends()) {
    for (const int threads : backend == "cpu" ? kThreads : std::vector<int>{2}) {
      CAPTURE(backend, threads);
      CHECK(sums(device_of(backend, threads), values, kRows, kSizes) == expected);
      CHECK(sums(device_of(backend, threads), values, kRows, kSizes, true) == expected);
    }
  }
}

TEST_CASE("a sum does not depend on what stands before it or beside it") {
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend);
    const std::vector<float> values = oracle::normals(10000, 2);
    const double alone = sums(device, values, 1, {10000})[0];
    std::vector<float> shifted = oracle::normals(5001, 3);
    shifted.insert(shifted.end(), values.begin(), values.end());
    const std::vector<double> beside = sums(device, shifted, 1, {0, 5001, 0, 10000, 0});
    CAPTURE(backend);
    CHECK(beside[3] == alone);
    CHECK(beside[0] == 0);
    CHECK(beside[2] == 0);
    CHECK(beside[4] == 0);
  }
}

TEST_CASE("planted NaN and Inf reach their own sum only") {
  std::vector<float> values(3 * 5000, 1.0f);
  values[4999] = std::numeric_limits<float>::quiet_NaN();
  values[5000] = std::numeric_limits<float>::infinity();
  for (const std::string& backend : backends()) {
    const std::vector<double> result = sums(device_of(backend), values, 1, {5000, 5000, 5000});
    CAPTURE(backend);
    CHECK(std::isnan(result[0]));
    CHECK(std::isinf(result[1]));
    CHECK(result[2] == 5000);
  }
}

TEST_CASE("a reduction's kernel may write to its own element") {
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend, 3);
    auto values = on(device, std::vector<float>(9000, 2.0f));
    Buffer<double> sum(device, 1);
    reduce(device, 1, Chunks(Index{9000}), CountTerm{values.data()}, sum.data());
    CAPTURE(backend);
    CHECK(sum.to_host()[0] == 27000);
    CHECK(values.to_host() == std::vector<float>(9000, 3.0f));
  }
}

TEST_CASE("element-wise launchers visit everything once") {
  for (const std::string& backend : backends()) {
    for (const int threads : backend == "cpu" ? kThreads : std::vector<int>{2}) {
      const Device device = device_of(backend, threads);
      for (const Index size : kSizes) {
        CAPTURE(backend, threads, size);
        auto visits = Buffer<int>::zeros(device, size);
        for_each(device, size, VisitKernel{visits.data()});
        CHECK(visits.to_host() == std::vector<int>(static_cast<std::size_t>(size), 1));
        for_each_item(device, size, VisitKernel{visits.data()});
        CHECK(visits.to_host() == std::vector<int>(static_cast<std::size_t>(size), 2));
      }
    }
  }
}

TEST_CASE("the row launcher passes the right coordinates") {
  constexpr Index columns = 5034;
  std::vector<Index> expected;
  for (Index row = 0; row < kRows; ++row) {
    for (Index column = 0; column < columns; ++column) expected.push_back(row * 10000 + column);
  }
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend);
    auto values = Buffer<Index>::zeros(device, kRows * columns);
    for_each_row(device, kRows, columns, CoordinateKernel{values.data(), columns});
    for_each_row(device, 0, columns, CoordinateKernel{values.data(), columns});
    for_each_row(device, kRows, 0, CoordinateKernel{values.data(), columns});
    CAPTURE(backend);
    CHECK(values.to_host() == expected);
  }
}

TEST_CASE("sums of columns are in the order that is said, on every backend") {
  const auto expected_of = [](const std::vector<float>& values, Index groups, Index rows, Index columns) {
    std::vector<double> sums;
    for (Index group = 0; group < groups; ++group) {
      for (Index column = 0; column < columns; ++column) {
        for (const bool square : {false, true}) {
          std::vector<double> lanes(static_cast<std::size_t>(kColumnLanes));
          for (Index row = 0; row < rows; ++row) {
            const auto x =
                static_cast<double>(values[static_cast<std::size_t>((group * rows + row) * columns + column)]);
            lanes[static_cast<std::size_t>(row % kColumnLanes)] += square ? x * x : x;
          }
          for (std::size_t half = lanes.size() / 2; half > 0; half /= 2) {
            for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
          }
          sums.push_back(lanes.front());
        }
      }
    }
    return sums;
  };
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend);
    for (const Index groups : {0, 1, 3}) {
      for (const Index rows : {0, 1, 16, 17, 100}) {
        for (const Index columns : {0, 1, 16, 37}) {
          CAPTURE(backend, groups, rows, columns);
          const std::vector<float> values = oracle::normals(groups * rows * columns, 1);
          const auto data = on(device, values);
          auto sums = Buffer<double>::zeros(device, groups * columns * 2);
          sum_columns(device, groups, rows, columns, ColumnSumsKernel{data.data(), rows, columns, sums.data()});
          CHECK(sums.to_host() == expected_of(values, groups, rows, columns));
        }
      }
    }
  }
}

TEST_CASE("an exception on any thread is rethrown after all have stopped") {
  for (const int threads : kThreads) {
    CAPTURE(threads);
    std::atomic<int> ran = 0;
    const auto work = [&](Index unit) {
      ++ran;
      if (unit == 63) throw std::runtime_error("unit 63");
    };
    CHECK_THROWS_WITH(parallel(cpu::Queue(threads), 64, work), "unit 63");
    CHECK(ran == 64);
  }
}

TEST_CASE("of many exceptions one is rethrown") {
  CHECK_THROWS_AS(parallel(cpu::Queue(4), 64, [](Index) { throw std::out_of_range("all"); }), std::out_of_range);
  CHECK_NOTHROW(parallel(cpu::Queue(4), 0, [](Index) { throw std::out_of_range("none"); }));
}

TEST_CASE("numbers below the normal range are zero in kernels, on every thread, and nowhere else") {
  for (const std::string& backend : backends()) {
    for (const int threads : kThreads) {
      CAPTURE(backend, threads);
      const Device device = device_of(backend, threads);
      auto values = on(device, std::vector<float>(100000, 1e-30f));
      for_each(device, values.size(), MultiplyKernel{values.data(), 1e-10F});
      CHECK(values.to_host() == std::vector<float>(100000));
      volatile float outside = 1e-30f;
      outside = outside * 1e-10f;
      CHECK(outside > 0.0f);
    }
  }
}
