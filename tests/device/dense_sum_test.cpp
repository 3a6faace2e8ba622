#include "device/comm/dense_sum.hpp"

#include "device/comm/device_group.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

namespace {

constexpr Index kColumns = 1027;
constexpr Index kStride = kColumns + 3;

std::vector<Index> all_workers() {
  std::vector<Index> counts;
  for (Index n = 1; n <= 20; ++n) counts.push_back(n);
  counts.insert(counts.end(), {33, 64});
  return counts;
}

/// Sums on the devices of an option value, each absorbing its shard in groups; all must have the same mean.
class Sum {
 public:
  Sum(const std::string& devices, Index workers, int threads = 2) : group_(parse_devices(devices, threads), workers) {
    for (Index rank = 0; rank < group_.size(); ++rank) shards_.push_back(group_.shard(rank));
    for (const Shard& shard : shards_) sums_.emplace_back(shard, kColumns);
  }
  /// Gives each device the workers of one range, which need not be whole blocks.
  Sum(const std::string& devices, const std::vector<Range>& ranges)
      : group_(parse_devices(devices, 2), std::ssize(ranges) * DenseSum::kBlock) {
    for (Index rank = 0; rank < group_.size(); ++rank) {
      shards_.push_back(group_.shard(rank));
      shards_.back().ranges = ranges;
    }
    for (const Shard& shard : shards_) sums_.emplace_back(shard, kColumns);
  }

  std::vector<float> operator()(const std::vector<float>& rows, Index group) {
    std::vector<std::vector<float>> means(sums_.size());
    group_.run([&](Index rank) { means[static_cast<std::size_t>(rank)] = mean_of(rank, rows, group); });
    for (const std::vector<float>& other : means) CHECK(other == means[0]);
    return means[0];
  }

  Index bytes_received(Index rank) const { return group_.shard(rank).communicator->bytes_received(); }

 private:
  std::vector<float> mean_of(Index rank, const std::vector<float>& rows, Index group) {
    const Shard& shard = shards_[static_cast<std::size_t>(rank)];
    const auto data = on(shard.device, rows);
    DenseSum& sum = sums_[static_cast<std::size_t>(rank)];
    const Range own = shard.own();
    for (Index first = own.first; first < own.end(); first += group) {
      sum.absorb({first, std::min(group, own.end() - first)}, data.data() + first * kStride, kStride);
    }
    Buffer<float> mean(shard.device, kColumns);
    sum.take_mean(mean.data());
    return mean.to_host();
  }

  DeviceGroup group_;
  std::vector<Shard> shards_;
  std::vector<DenseSum> sums_;
};

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
    for (const std::string& backend : backends()) {
      CAPTURE(workers, backend);
      CHECK(Sum(backend, workers)(rows, workers) == expected);
    }
  }
}

TEST_CASE("the dense mean has the same bits for all groups, threads and devices, in the documented order") {
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
        CAPTURE(workers, threads, group);
        CHECK(Sum("cpu", workers, threads)(rows, group) == expected);
      }
    }
    for (const Index devices : {2, 3, 4, 5}) {
      if (devices > ceil_div(workers, DenseSum::kBlock)) continue;
      CAPTURE(workers, devices);
      CHECK(Sum("cpu:" + std::to_string(devices), workers)(rows, 3) == expected);
    }
    for (const std::string& backend : backends()) CHECK(Sum(backend, workers)(rows, 5) == expected);
  }
}

TEST_CASE("the dense mean is near the mean in double") {
  for (const Index workers : {1, 3, 8, 33}) {
    const std::vector<float> rows = oracle::normals(workers * kStride, 2);
    const std::vector<float> result = Sum("cpu", workers)(rows, 4);
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
    for (const char* devices : {"cpu", "cpu:3", "debug:2"}) {
      Sum sum(devices, workers);
      sum(wild_rows(workers), group);
      const std::vector<float> ones(static_cast<std::size_t>(workers * kStride), 1.0f);
      CHECK(sum(ones, group) == std::vector<float>(static_cast<std::size_t>(kColumns), 1.0f));
    }
  }
}

TEST_CASE("all workers may share one row") {
  constexpr Index workers = 6;
  const std::vector<float> row = oracle::whole_numbers(kColumns, 1000, 9);
  DenseSum sum(whole(Device::cpu(1), workers), kColumns);
  sum.absorb({0, workers}, row.data(), 0);
  std::vector<float> result(static_cast<std::size_t>(kColumns));
  sum.take_mean(result.data());
  CHECK(result == row);
}

TEST_CASE("devices exchange the nodes of their slices and the slices of the mean, no more") {
  // 5 blocks on 2 devices: the first holds blocks 0 and 1 (one node), the second 2, 3 and 4 (two nodes).
  Sum sum("cpu:2", 20);
  sum(wild_rows(20), 20);
  constexpr Index low = kColumns / 2, high = kColumns - low;
  CHECK(sum.bytes_received(0) == 2 * low * 8 + high * 4);
  CHECK(sum.bytes_received(1) == 1 * high * 8 + low * 4);
}

TEST_CASE("the dense mean has the same bits if devices hold parts of blocks, which exchange rows") {
  const std::vector<std::vector<Range>> divisions = {
      {{0, 1}, {1, 1}}, {{0, 1}, {1, 1}, {2, 1}}, {{0, 3}, {3, 6}, {9, 4}}, {{0, 4}, {4, 1}, {5, 1}}};
  for (const std::vector<Range>& ranges : divisions) {
    const Index workers = ranges.back().end(), devices = std::ssize(ranges);
    const std::vector<float> rows = wild_rows(workers);
    for (const std::string backend : {"cpu:", "debug:"}) {
      for (const Index group : {1, 2, 6}) {
        CAPTURE(backend, workers, devices, group);
        CHECK(Sum(backend + std::to_string(devices), ranges)(rows, group) == Sum("cpu", workers)(rows, workers));
      }
    }
  }
  // Each of two workers sends half of its row and gets half of the mean.
  Sum sum("cpu:2", divisions[0]);
  sum(wild_rows(2), 1);
  constexpr Index low = kColumns / 2, high = kColumns - low;
  CHECK(sum.bytes_received(0) == low * 4 + high * 4);
  CHECK(sum.bytes_received(1) == high * 4 + low * 4);
}
