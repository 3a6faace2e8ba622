// PowerSGD: its bytes as published, and its factors compared with a plain computation.
#include "compress/channels/power_sgd.hpp"

#include "compress/channels/compressed_mean.hpp"
#include "tests/catch.hpp"
#include "tests/compress/recording.hpp"
#include "tests/compress/rows.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// ResNet-18 for 32x32 images as the paper trains it: convolutions as matrices of output channels, biases and
/// normalisation as vectors.
std::vector<Tensor> resnet18() {
  std::vector<Tensor> tensors;
  const auto convolution = [&](Index out, Index in, Index kernel) {
    tensors.push_back({"conv" + std::to_string(tensors.size()), out * in * kernel * kernel, out});
    for (const char* name : {"scale", "shift"}) tensors.push_back({name + std::to_string(tensors.size()), out});
  };
  convolution(64, 3, 3);
  Index in = 64;
  for (const Index out : {64, 128, 256, 512}) {
    for (int block = 0; block < 2; ++block) {
      convolution(out, in, 3);
      convolution(out, out, 3);
      if (in != out) convolution(out, in, 1);
      in = out;
    }
  }
  tensors.push_back({"fc.weight", 10 * 512, 10});
  tensors.push_back({"fc.bias", 10});
  return tensors;
}

ExchangeConfig power_sgd(Index rank) {
  ExchangeConfig config;
  config.up = {.name = "power-sgd", .rank = rank};
  return config;
}

double mebibytes(const netmodel::TrafficList& traffic) {
  Index bytes = 0;
  for (const netmodel::Traffic& exchange : traffic) bytes += exchange.payload_bytes;
  return static_cast<double>(bytes) / (1 << 20);
}

/// P Q^T of the mean of rows of matrices, by the algorithm, in double.
oracle::Vector low_rank(const std::vector<oracle::Vector>& matrices, Index rows, Index columns, oracle::Vector q,
                        Index rank) {
  const auto at = [](Index i, Index j, Index width) { return static_cast<std::size_t>(i * width + j); };
  oracle::Vector mean(matrices[0].size()), p(static_cast<std::size_t>(rows * rank)), result(mean.size());
  for (const oracle::Vector& m : matrices) {
    for (std::size_t i = 0; i < m.size(); ++i) mean[i] += m[i] / static_cast<double>(matrices.size());
  }
  for (Index c = 0; c < rank; ++c) {
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j) p[at(i, c, rank)] += mean[at(i, j, columns)] * q[at(j, c, rank)];
    }
    for (Index d = 0; d < c; ++d) {
      double along = 0;
      for (Index i = 0; i < rows; ++i) along += p[at(i, c, rank)] * p[at(i, d, rank)];
      for (Index i = 0; i < rows; ++i) p[at(i, c, rank)] -= along * p[at(i, d, rank)];
    }
    double square = 0;
    for (Index i = 0; i < rows; ++i) square += p[at(i, c, rank)] * p[at(i, c, rank)];
    for (Index i = 0; i < rows; ++i) p[at(i, c, rank)] /= std::sqrt(square);
  }
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      for (Index c = 0; c < rank; ++c) {
        double right = 0;
        for (Index k = 0; k < rows; ++k) right += mean[at(k, j, columns)] * p[at(k, c, rank)];
        result[at(i, j, columns)] += p[at(i, c, rank)] * right;
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("PowerSGD's megabytes an epoch for ResNet-18 are the published ones") {
  constexpr double kSteps = 24;  // 50,000 images in batches of 16 workers x 128
  const std::vector<Tensor> tensors = resnet18();
  const device::Shard shard = device::whole(device::Device::cpu(1), 16);
  CHECK(kSteps * mebibytes(DenseMean::plan(16, total_size(tensors))) == Approx(1023).epsilon(1e-3));
  const std::vector<std::pair<Index, double>> published = {{1, 4.2}, {2, 7.5}, {4, 14.2}, {7, 24.2}};
  for (const auto& [rank, megabytes] : published) {
    CAPTURE(rank);
    CHECK(std::fabs(kSteps * mebibytes(CompressedMean(shard, tensors, power_sgd(rank)).plan()) - megabytes) < 0.05);
  }
}

TEST_CASE("PowerSGD's first step is the projection of the mean matrix, on every backend") {
  constexpr Index kRows = 12, kColumns = 20, kRank = 3, kWorkers = 5;
  std::vector<oracle::Vector> matrices;
  std::vector<float> flat;
  for (Index w = 0; w < kWorkers; ++w) {
    const std::vector<float> row = oracle::normals(kRows * kColumns, 41, 0, w);
    matrices.emplace_back(row.begin(), row.end());
    flat.insert(flat.end(), row.begin(), row.end());
  }
  oracle::Vector q;
  for (Index i = 0; i < kColumns * kRank; ++i) {
    q.push_back(static_cast<double>(device::normal({1, device::Purpose::worker_codec}, {0, 0, i})));
  }
  const oracle::Vector expected = low_rank(matrices, kRows, kColumns, q, kRank);
  for (const std::string& backend : backends()) {
    const device::Device device = device_of(backend);
    const std::vector<Tensor> tensors = {{"w", kRows * kColumns, kRows}};
    CompressedMean exchange(device::whole(device, kWorkers), tensors, power_sgd(kRank));
    const auto rows = on(device, flat);
    const auto ones = on(device, std::vector<float>(kWorkers, 1.0f));
    exchange.begin(1);
    exchange.absorb({0, kWorkers}, {.rows = rows.data(), .stride = kRows * kColumns, .factors = ones.data()});
    device::Buffer<float> result(device, kRows * kColumns);
    netmodel::TrafficList traffic;
    exchange.exchange(result.data(), traffic);
    CAPTURE(backend);
    CHECK(oracle::distance(result.to_host(), expected) < 1e-5 * oracle::norm(expected));
    CHECK(exchange.worker_codec().error > 0.5);
    CHECK(exchange.worker_codec().error < 1.5);
  }
}

TEST_CASE("the warm start finds a constant low-rank matrix, and zeros do not end it") {
  const device::Device device = device::Device::cpu(1);
  const std::vector<Tensor> tensors = {{"w", 300, 15}};
  CompressedMean exchange(device::whole(device, 2), tensors, power_sgd(2));
  const std::vector<float> a = oracle::normals(15, 1), b = oracle::normals(20, 2);
  std::vector<float> matrix;
  for (const float left : a) {
    for (const float right : b) matrix.push_back(left * right);
  }
  std::vector<float> both = matrix;
  both.insert(both.end(), matrix.begin(), matrix.end());
  const auto ones = on(device, std::vector<float>{1, 1});
  device::Buffer<float> result(device, 300);
  for (const bool zero : {true, false}) {
    const auto rows = on(device, zero ? std::vector<float>(600) : both);
    netmodel::TrafficList traffic;
    exchange.begin(1);
    exchange.absorb({0, 2}, {.rows = rows.data(), .stride = 300, .factors = ones.data()});
    exchange.exchange(result.data(), traffic);
    CHECK(oracle::distance(result.to_host(), zero ? std::vector<float>(300) : matrix) < 1e-5 * oracle::norm(matrix));
  }
}

TEST_CASE("PowerSGD without a warm start takes new factors at every step, recorded ones where there are any") {
  constexpr Index kRows = 6, kColumns = 9, kRank = 2;
  const device::Device device = device::Device::cpu(1);
  const std::vector<Tensor> tensors = {{"vector", 4}, {"w", kRows * kColumns, kRows}};
  const std::vector<float> flat = oracle::normals(4 + kRows * kColumns, 3);
  const oracle::Vector matrix(flat.begin() + 4, flat.end());
  std::vector<double> draws;
  for (const float value : oracle::normals(2 * kColumns * kRank, 4)) draws.push_back(static_cast<double>(value));
  const bool recorded = GENERATE(false, true);
  ExchangeConfig config = power_sgd(kRank);
  config.up.warm_start = false;
  config.feedback = Feedback::none;
  config.dense_steps = 1;
  if (recorded) {
    config.recorded = std::make_shared<Recording>(std::map<std::string, RecordedArray>{
        {"q_start_steps", {{2}, {1, 2}}}, {"q_start_tensor1", {{2, kColumns, kRank}, draws}}});
  }
  CompressedMean exchange(device::whole(device, 1), tensors, config);
  const auto rows = on(device, flat);
  const auto ones = on(device, std::vector<float>{1});
  device::Buffer<float> result(device, 4 + kRows * kColumns);
  const auto step = [&](Index t) {
    netmodel::TrafficList traffic;
    exchange.begin(t);
    exchange.absorb({0, 1}, {.rows = rows.data(), .stride = 4 + kRows * kColumns, .factors = ones.data()});
    exchange.exchange(result.data(), traffic);
    return result.to_host();
  };
  CHECK(step(1) == flat);
  for (Index t = 2; t <= 3; ++t) {
    oracle::Vector q;
    for (Index i = 0; i < kColumns * kRank; ++i) {
      q.push_back(recorded ? draws[static_cast<std::size_t>((t - 2) * kColumns * kRank + i)]
                           : static_cast<double>(device::normal({1, device::Purpose::worker_codec}, {t, 0, i})));
    }
    const oracle::Vector expected = low_rank({matrix}, kRows, kColumns, q, kRank);
    const std::vector<float> found = step(t);
    CAPTURE(t, recorded);
    CHECK(oracle::distance(std::vector<float>(found.begin() + 4, found.end()), expected) <
          1e-5 * oracle::norm(expected));
  }
  if (recorded) CHECK_THROWS_WITH(step(4), Contains("q_start_steps, step 4"));
}

TEST_CASE("recorded start factors that do not fit are refused") {
  const device::Shard shard = device::whole(device::Device::cpu(1), 2);
  const std::vector<Tensor> tensors = {{"w", 300, 15}};
  ExchangeConfig config = power_sgd(2);
  const auto refused = [&](std::map<std::string, RecordedArray> arrays, const std::string& why) {
    config.recorded = std::make_shared<Recording>(std::move(arrays));
    CHECK_THROWS_WITH(CompressedMean(shard, tensors, config), Contains(why));
  };
  refused({{"q_start_steps", {{1}, {2}}}}, "first compressed step");
  refused({{"q_start_steps", {{1}, {0}}}}, "no start factors for a tensor (q_start_tensor0)");
  refused({{"q_start_steps", {{1}, {0}}}, {"q_start_tensor0", {{1, 20, 3}, std::vector<double>(60)}}},
          "q_start_tensor0 [1, 20, 3]); expected: [1, 20, 2]");
}

TEST_CASE("PowerSGD compresses what its minimum rate asks for, and takes no more columns than a matrix has") {
  const std::vector<Tensor> tensors = {{"w", 12, 3}};
  const device::Shard shard = device::whole(device::Device::cpu(1), 2);
  ExchangeConfig config = power_sgd(5);
  CHECK(mebibytes(CompressedMean(shard, tensors, config).plan()) == 4.0 * 12 / (1 << 20));
  config.up.min_rate = 0;
  CHECK(mebibytes(CompressedMean(shard, tensors, config).plan()) == 4.0 * 3 * (3 + 4) / (1 << 20));
  config.up.min_rate = -1;
  CHECK_THROWS_WITH(CompressedMean(shard, tensors, config), Contains("codec.min-rate -1"));
}

TEST_CASE("PowerSGD refuses fused vectors and a rank of 0") {
  const device::Shard shard = device::whole(device::Device::cpu(1), 2);
  const std::vector<Tensor> tensors = {{"w", 300, 15}};
  ExchangeConfig config = power_sgd(2);
  config.granularity = Granularity::fused;
  CHECK_THROWS_WITH(CompressedMean(shard, tensors, config), Contains("--optimizer.granularity tensor"));
  CHECK_THROWS_WITH(make_codec({.name = "power-sgd", .rank = 0}),
                    "codec option out of range (codec.rank 0); from 1 to 65536");
}
