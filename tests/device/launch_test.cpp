#include "device/cpu/launch.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>

#include "device/buffer.hpp"
#include "tests/catch.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::device;

namespace {

const std::vector<int> kThreads = {1, 2, 3, 7, 16};
const std::vector<Index> kSizes = {0, 1, 31, 33, 4096, 4097, 100003};

constexpr Index kRows = 3;
constexpr Index kColumns = 5034;

struct Value {
  const float* values;
  Index stride;
  const Index* offsets;
  double operator()(Index row, Index segment, Index i) const {
    return static_cast<double>(values[row * stride + offsets[segment] + i]);
  }
};

std::vector<Index> offsets_of(const std::vector<Index>& sizes) {
  std::vector<Index> offsets(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), Index{0});
  return offsets;
}

std::vector<double> sums(int threads, const std::vector<float>& values, Index rows, const std::vector<Index>& sizes) {
  const std::vector<Index> offsets = offsets_of(sizes);
  const Index stride = static_cast<Index>(values.size()) / rows;
  std::vector<double> result(static_cast<std::size_t>(rows) * sizes.size(), -1.0);
  const Chunks chunks(sizes);
  Device::cpu(threads).run([&](const auto& queue) {
    reduce(queue, rows, chunks, Value{values.data(), stride, offsets.data()}, result.data());
  });
  return result;
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

TEST_CASE("a reduction agrees with a long sum and has the same bits for any number of threads") {
  const Index total = std::accumulate(kSizes.begin(), kSizes.end(), Index{0});
  const std::vector<float> values = oracle::normals(kRows * total, 1);
  const std::vector<double> reference = sums(1, values, kRows, kSizes);
  std::size_t element = 0;
  for (std::size_t s = 0; s < reference.size(); ++s) {
    long double exact = 0;
    long double magnitude = 0;
    for (Index i = 0; i < kSizes[s % kSizes.size()]; ++i, ++element) {
      exact += static_cast<long double>(values[element]);
      magnitude += std::fabs(static_cast<long double>(values[element]));
    }
    CAPTURE(s);
    CHECK(std::fabs(static_cast<long double>(reference[s]) - exact) <= 1e-14L * magnitude);
  }
  for (const int threads : kThreads) {
    CAPTURE(threads);
    CHECK(sums(threads, values, kRows, kSizes) == reference);
  }
}

TEST_CASE("a sum does not depend on what stands before it or beside it") {
  const std::vector<float> values = oracle::normals(10000, 2);
  const double alone = sums(2, values, 1, {10000})[0];
  std::vector<float> shifted = oracle::normals(5001, 3);
  shifted.insert(shifted.end(), values.begin(), values.end());
  const std::vector<double> beside = sums(3, shifted, 1, {0, 5001, 0, 10000, 0});
  CHECK(beside[3] == alone);
  CHECK(beside[0] == 0);
  CHECK(beside[2] == 0);
  CHECK(beside[4] == 0);
}

TEST_CASE("planted NaN and Inf reach their own sum only") {
  std::vector<float> values(3 * 5000, 1.0f);
  values[4999] = std::numeric_limits<float>::quiet_NaN();
  values[5000] = std::numeric_limits<float>::infinity();
  const std::vector<double> result = sums(2, values, 1, {5000, 5000, 5000});
  CHECK(std::isnan(result[0]));
  CHECK(std::isinf(result[1]));
  CHECK(result[2] == 5000);
}

TEST_CASE("a reduction's kernel may write to its own element") {
  for (const int threads : {1, 3}) {
    std::vector<float> values(9000, 2.0f);
    float* data = values.data();
    double sum = 0;
    Device::cpu(threads).run([&](const auto& queue) {
      reduce(
          queue, 1, Chunks(Index{9000}),
          [data](Index, Index, Index i) {
            data[i] += 1;
            return static_cast<double>(data[i]);
          },
          &sum);
    });
    CHECK(sum == 27000);
    CHECK(values == std::vector<float>(9000, 3.0f));
  }
}

TEST_CASE("element-wise launchers visit everything once") {
  for (const int threads : kThreads) {
    const Device device = Device::cpu(threads);
    for (const Index size : kSizes) {
      CAPTURE(threads, size);
      std::vector<int> visits(static_cast<std::size_t>(size));
      int* data = visits.data();
      device.run([&](const auto& queue) { for_each(queue, size, [data](Index i) { data[i] += 1; }); });
      CHECK(visits == std::vector<int>(visits.size(), 1));
      device.run([&](const auto& queue) { for_each_item(queue, size, [data](Index i) { data[i] += 1; }); });
      CHECK(visits == std::vector<int>(visits.size(), 2));
    }
  }
}

TEST_CASE("row and segment launchers pass the right coordinates") {
  const std::vector<Index> sizes = {5000, 0, 33, 1};
  const std::vector<Index> offsets = offsets_of(sizes);
  const Index* offset = offsets.data();
  for (const int threads : kThreads) {
    CAPTURE(threads);
    std::vector<Index> by_row(kRows * kColumns), by_segment(kRows * kColumns);
    Index* row_data = by_row.data();
    Index* segment_data = by_segment.data();
    Device::cpu(threads).run([&](const auto& queue) {
      for_each_row(queue, kRows, kColumns,
                   [row_data](Index row, Index column) { row_data[row * kColumns + column] += row * 10000 + column; });
      for_each_segment(queue, kRows, Chunks(sizes), [segment_data, offset](Index row, Index segment, Index i) {
        segment_data[row * kColumns + offset[segment] + i] += row * 10000 + offset[segment] + i;
      });
    });
    CHECK(by_row == by_segment);
    CHECK(by_row[0] == 0);
    CHECK(by_row[2 * kColumns + 7] == 20007);
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

#if defined(__SSE2__)
TEST_CASE("numbers below the normal range are zero in kernels, on every thread, and nowhere else") {
  for (const int threads : kThreads) {
    CAPTURE(threads);
    std::vector<float> values(100000, 1e-30f);
    float* data = values.data();
    for_each(cpu::Queue(threads), static_cast<Index>(values.size()), [data](Index i) { data[i] *= 1e-10f; });
    CHECK(std::all_of(values.begin(), values.end(), [](float value) { return value == 0.0f; }));
    volatile float outside = 1e-30f;
    outside = outside * 1e-10f;
    CHECK(outside > 0.0f);
  }
}
#endif
