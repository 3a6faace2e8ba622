#include "device/dense_sum.hpp"

#include "tests/catch.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::device;

namespace {

constexpr Index kColumns = 1027;
constexpr Index kStride = kColumns + 3;

std::vector<Index> all_workers() {
  std::vector<Index> counts;
  for (Index n = 1; n <= 20; ++n) counts.push_back(n);
  counts.insert(counts.end(), {33, 64});
  return counts;
}

std::vector<float> mean(DenseSum& sum, const std::vector<float>& rows, Index workers, Index group) {
  for (Index first = 0; first < workers; first += group) {
    sum.absorb(first, std::min(group, workers - first), rows.data() + first * kStride, kStride);
  }
  std::vector<float> result(static_cast<std::size_t>(kColumns));
  sum.take_mean(result.data());
  return result;
}

/// Numbers of such different sizes that every order of summation gives another result.
std::vector<float> wild_rows(Index workers) {
  std::vector<float> rows = oracle::normals(workers * kStride, 3);
  const std::vector<float> exponents = oracle::whole_numbers(workers * kStride, 40, 4);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::ldexp(rows[i], static_cast<int>(exponents[i]));
  return rows;
}

/// The documented order: blocks of 4 in index order, then neighbours in pairs; what is left over moves up.
double documented_sum(const std::vector<double>& values) {
  std::vector<double> blocks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % 4 == 0) {
      blocks.push_back(values[i]);
    } else {
      blocks.back() += values[i];
    }
  }
  while (blocks.size() > 1) {
    std::vector<double> next;
    for (std::size_t i = 0; i + 1 < blocks.size(); i += 2) next.push_back(blocks[i] + blocks[i + 1]);
    if (blocks.size() % 2 == 1) next.push_back(blocks.back());
    blocks = next;
  }
  return blocks[0];
}

}  // namespace

TEST_CASE("the dense mean of whole numbers is exact") {
  for (const Index workers : all_workers()) {
    const std::vector<float> rows = oracle::whole_numbers(workers * kStride, 1000, 1);
    std::vector<float> expected;
    for (Index c = 0; c < kColumns; ++c) {
      double sum = 0;
      for (Index w = 0; w < workers; ++w) sum += static_cast<double>(rows[static_cast<std::size_t>(w * kStride + c)]);
      expected.push_back(static_cast<float>(sum / static_cast<double>(workers)));
    }
    DenseSum sum(Device::cpu(1), workers, kColumns);
    CAPTURE(workers);
    CHECK(mean(sum, rows, workers, workers) == expected);
  }
}

TEST_CASE("the dense mean has the same bits for all groups and threads, in the documented order") {
  for (const Index workers : all_workers()) {
    const std::vector<float> rows = wild_rows(workers);
    std::vector<float> expected;
    for (Index c = 0; c < kColumns; ++c) {
      std::vector<double> column;
      for (Index w = 0; w < workers; ++w) {
        column.push_back(static_cast<double>(rows[static_cast<std::size_t>(w * kStride + c)]));
      }
      expected.push_back(static_cast<float>(documented_sum(column) / static_cast<double>(workers)));
    }
    for (const Index group : {Index{1}, Index{3}, Index{4}, Index{5}, workers}) {
      for (const int threads : group == 3 || group == workers ? std::vector<int>{1, 2, 7} : std::vector<int>{1}) {
        DenseSum sum(Device::cpu(threads), workers, kColumns);
        CAPTURE(workers, threads, group);
        CHECK(mean(sum, rows, workers, group) == expected);
      }
    }
  }
}

TEST_CASE("the dense mean is near the mean in double") {
  for (const Index workers : {1, 3, 8, 33}) {
    const std::vector<float> rows = oracle::normals(workers * kStride, 2);
    DenseSum sum(Device::cpu(2), workers, kColumns);
    const std::vector<float> result = mean(sum, rows, workers, 4);
    double worst = 0;
    for (Index c = 0; c < kColumns; ++c) {
      double total = 0;
      for (Index w = 0; w < workers; ++w) total += static_cast<double>(rows[static_cast<std::size_t>(w * kStride + c)]);
      const double exact = total / static_cast<double>(workers);
      worst = std::max(worst, std::fabs(static_cast<double>(result[static_cast<std::size_t>(c)]) - exact));
    }
    CHECK(worst < 4e-7);
  }
}

TEST_CASE("taking the mean starts over") {
  for (const Index group : {1, 3, 9}) {
    constexpr Index workers = 9;
    DenseSum sum(Device::cpu(1), workers, kColumns);
    mean(sum, wild_rows(workers), workers, group);
    const std::vector<float> ones(static_cast<std::size_t>(workers * kStride), 1.0f);
    CHECK(mean(sum, ones, workers, group) == std::vector<float>(static_cast<std::size_t>(kColumns), 1.0f));
  }
}

TEST_CASE("all workers may share one row") {
  constexpr Index workers = 6;
  const std::vector<float> row = oracle::whole_numbers(kColumns, 1000, 9);
  DenseSum sum(Device::cpu(1), workers, kColumns);
  sum.absorb(0, workers, row.data(), 0);
  std::vector<float> result(static_cast<std::size_t>(kColumns));
  sum.take_mean(result.data());
  CHECK(result == row);
}
