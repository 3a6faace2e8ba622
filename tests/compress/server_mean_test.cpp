// The compressed all-reduce against DeepSpeed's golden vector, the oracle and its own invariants.
#include <limits>

#include "tests/catch.hpp"
#include "tests/compress/exchange.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::tests;

namespace {

using Bytes = std::vector<std::uint8_t>;

const FloatRows kGoldenRows = {{1, -2, 3, -4, 0, -0.5, 0.5, 2, -1, 1, -1, 1, 4, -4, 0.25, -0.25},
                               {0, 0, 0, 0, 1, 1, -1, -1, 2, 2, 2, 2, -3, -3, -3, 0.5}};

std::string signs(const std::vector<float>& values) {
  std::string text;
  for (const float value : values) text += value >= 0 ? '+' : '-';
  return text;
}

template <class Number>
double worst(const std::vector<Number>& values, const std::vector<double>& expected, std::size_t first = 0) {
  double result = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    result = std::max(result, std::fabs(static_cast<double>(values[first + i]) - expected[i]));
  }
  return result;
}

FloatRows normal_rows(const Exchange& exchange, std::uint32_t seed, Index call) {
  FloatRows rows;
  for (Index w = 0; w < exchange.options.workers; ++w) {
    rows.push_back(oracle::normals(exchange.layout.parameters(), seed, call, w));
  }
  return rows;
}

/// Runs some calls together with the oracle, and compares results, errors and scales after each of them.
void check_against_oracle(const ExchangeOptions& options, int calls) {
  Exchange exchange(options);
  std::vector<oracle::CompressedMean> oracles = oracles_of(exchange);
  const auto segments = exchange.layout.worker().segments();
  double worst_result = 0, worst_error = 0, worst_scale = 0;
  for (int call = 0; call < calls; ++call) {
    const FloatRows rows = normal_rows(exchange, 11, call);
    const std::vector<float> result = exchange(rows);
    const std::vector<float> scales = exchange.channel.worker_payload().scales.to_host();
    const std::vector<float> server_scales = exchange.channel.server_payload().scales.to_host();
    for (std::size_t s = 0; s < oracles.size(); ++s) {
      oracle::CompressedMean& oracle = oracles[s];
      const std::vector<double> expected = oracle(slices(rows, segments[s]));
      const auto begin = result.begin() + segments[s].parameter;
      const std::vector<float> part(begin, begin + segments[s].real);
      worst_result = std::max(worst_result, oracle::distance(part, expected) / (1e-3 + oracle::norm(expected)));
      for (std::size_t w = 0; w < oracle.workers; ++w) {
        const std::vector<float> error = exchange.error_of(exchange.worker_errors, s, static_cast<Index>(w));
        worst_error = std::max(worst_error, oracle::distance(error, oracle.worker_errors[w]) /
                                                (1 + oracle::norm(oracle.worker_errors[w])));
        worst_scale = std::max(
            worst_scale, std::fabs(static_cast<double>(scales[w * oracles.size() + s]) - oracle.worker_scales[w]));
        worst_scale = std::max(worst_scale, std::fabs(static_cast<double>(server_scales[s * oracle.workers + w]) -
                                                      oracle.server_scales[w]));
      }
      const std::vector<float> error = exchange.error_of(exchange.server_error, s, 0);
      worst_error = std::max(worst_error,
                             oracle::distance(error, oracle.server_errors) / (1 + oracle::norm(oracle.server_errors)));
    }
  }
  CHECK(worst_result < 1e-5);
  CHECK(worst_error < 1e-5);
  CHECK(worst_scale < 1e-5);
}

}  // namespace

TEST_CASE("the golden vector of the released code, with both paddings") {
  for (const auto padding : {Padding::wire_only, Padding::as_data}) {
    Exchange exchange({.tensors = {16}, .workers = 2, .padding = padding});
    std::vector<float> result = exchange(kGoldenRows);
    const compress::Payload& worker = exchange.channel.worker_payload();
    const compress::Payload& server = exchange.channel.server_payload();
    CHECK(worker.body.to_host() == Bytes{0xAB, 0x5A, 0xFC, 0xF1});
    CHECK(worst(worker.scales.to_host(), {2.10096703925, 1.71846588561}) < 1e-6);
    CHECK(worst(server.scales.to_host(), {1.17919118553, 1.17919118553}) < 1e-6);
    CHECK(signs(result) == "+-+-+-++-+-++-+-");
    CHECK(worst(result, {1.17919118553, -1.17919118553}) < 1e-6);
    std::vector<float> errors = exchange.worker_errors.to_host();
    CHECK(worst(errors, {-1.10096703925, 0.100967039246, 0.899032960754, -1.89903296075}) < 1e-6);
    CHECK(worst(errors, {-1.71846588561, -1.71846588561, -1.71846588561, -1.71846588561}, 16) < 1e-6);
    CHECK(worst(exchange.server_error.to_host(), {0.730525276897, 0.987940608712, 0.730525276897, 0.987940608712,
                                                  0.730525276897, 0.987940608712, -0.987940608712, -0.987940608712}) <
          1e-6);

    result = exchange(kGoldenRows);
    CHECK(worker.body.to_host() == Bytes{0x25, 0xA9, 0x0C, 0xF0});
    CHECK(worst(worker.scales.to_host(), {2.94561498244, 2.35135511245}) < 1e-6);
    CHECK(worst(server.scales.to_host(), {2.16106728831, 2.58826134124}) < 1e-6);
    CHECK(signs(result) == "--+-++--++++---+");
    errors = exchange.worker_errors.to_host();
    CHECK(worst(errors, {2.8446479432, 1.04658202169, 0.953417978309, -2.95341797831}) < 1e-6);
    CHECK(worst(exchange.server_error.to_host(),
                {1.04816431492, -2.15486599934, 1.04816431492, -2.15486599934, 1.89745066752, -0.790748983108,
                 -1.04816431492, -1.30319079753},
                8) < 1e-6);
  }
}

TEST_CASE("the oracle reproduces the golden vector") {
  oracle::CompressedMean oracle(2, 16, oracle::Norm::l2, false);
  const oracle::Rows rows = {{kGoldenRows[0].begin(), kGoldenRows[0].end()},
                             {kGoldenRows[1].begin(), kGoldenRows[1].end()}};
  oracle(rows);
  CHECK(oracle.worker_bytes == std::vector<Bytes>{{0xAB, 0x5A}, {0xFC, 0xF1}});
  oracle(rows);
  CHECK(oracle.worker_bytes == std::vector<Bytes>{{0x25, 0xA9}, {0x0C, 0xF0}});
  CHECK(worst(oracle.server_scales, {2.16106728831, 2.58826134124}) < 1e-10);
  CHECK(worst(oracle.server_errors, {1.04816431492, -2.15486599934}, 8) < 1e-10);
}

TEST_CASE("results, scales and errors agree with the oracle") {
  for (const Index workers : {1, 2, 3, 5, 6, 8, 12, 64}) {
    for (const auto granularity : {Granularity::fused, Granularity::tensor}) {
      for (const auto padding : {Padding::wire_only, Padding::as_data}) {
        for (const char* codec : {"sign-l2", "sign-l1"}) {
          CAPTURE(workers, static_cast<int>(granularity), static_cast<int>(padding), codec);
          check_against_oracle({.tensors = {500, 0, 7, 129},
                                .workers = workers,
                                .granularity = granularity,
                                .padding = padding,
                                .up = codec,
                                .down = codec},
                               4);
        }
      }
    }
  }
}

TEST_CASE("vectors smaller than a byte and longer than a chunk agree with the oracle") {
  for (const auto padding : {Padding::wire_only, Padding::as_data}) {
    check_against_oracle({.tensors = {1}, .workers = 3, .padding = padding}, 4);
    check_against_oracle({.tensors = {9001}, .workers = 3, .padding = padding}, 3);
    check_against_oracle({.tensors = {4096}, .workers = 1, .padding = padding}, 3);
  }
}

TEST_CASE("exactly representable inputs give exactly the oracle's numbers") {
  for (const Index workers : {1, 2, 8}) {
    Exchange exchange({.tensors = {64}, .workers = workers, .up = "sign-l1", .down = "sign-l1"});
    oracle::CompressedMean oracle(static_cast<std::size_t>(workers), 64, oracle::Norm::l1, false);
    for (int call = 0; call < 2; ++call) {
      FloatRows rows;
      for (Index w = 0; w < workers; ++w) rows.push_back(oracle::whole_numbers(64, 8, 12, call, w));
      const std::vector<float> result = exchange(rows);
      const std::vector<double> expected = oracle(slices(rows, exchange.layout.worker().segments()[0]));
      CHECK(oracle::distance(result, expected) == 0);
      CHECK(oracle::distance(exchange.server_error.to_host(), oracle.server_errors) == 0);
      CHECK(exchange.channel.server_payload().body.to_host() == oracle.server_bytes);
      Bytes bytes;
      for (const Bytes& row : oracle.worker_bytes) bytes.insert(bytes.end(), row.begin(), row.end());
      CHECK(exchange.channel.worker_payload().body.to_host() == bytes);
    }
  }
}

TEST_CASE("nothing is lost: result and errors add up to inputs and old errors at every coordinate") {
  for (const auto padding : {Padding::wire_only, Padding::as_data}) {
    constexpr Index workers = 3;
    Exchange exchange({.tensors = {50}, .workers = workers, .padding = padding});
    const Index stride = exchange.layout.state_size();
    const auto total = [&](Index i) {
      const auto at = static_cast<std::size_t>(i);
      const std::vector<float> errors = exchange.worker_errors.to_host();
      double sum = static_cast<double>(exchange.server_error.to_host()[at]);
      for (Index w = 0; w < workers; ++w) {
        sum += static_cast<double>(errors[static_cast<std::size_t>(w * stride) + at]) / workers;
      }
      return sum;
    };
    double deviation = 0;
    for (Index call = 0; call < 50; ++call) {
      const FloatRows rows = normal_rows(exchange, 13, call);
      std::vector<double> before;
      for (Index i = 0; i < 50; ++i) {
        before.push_back(total(i));
        for (const std::vector<float>& row : rows) {
          before.back() += static_cast<double>(row[static_cast<std::size_t>(i)]) / workers;
        }
      }
      const std::vector<float> result = exchange(rows);
      for (std::size_t i = 0; i < 50; ++i) {
        const double after = static_cast<double>(result[i]) + total(static_cast<Index>(i));
        deviation = std::max(deviation, std::fabs(after - before[i]));
      }
    }
    CHECK(deviation < 2e-6);
  }
}

TEST_CASE("the running mean of a constant comes to the constant, like 1/calls") {
  for (const Index workers : {1, 3, 8}) {
    for (const auto padding : {Padding::wire_only, Padding::as_data}) {
      Exchange exchange({.tensors = {50}, .workers = workers, .padding = padding});
      const FloatRows rows = normal_rows(exchange, 14, 0);
      oracle::Rows exact;
      std::vector<double> mean(50), target(50);
      for (const std::vector<float>& row : rows) {
        for (std::size_t i = 0; i < 50; ++i) target[i] += static_cast<double>(row[i]) / static_cast<double>(workers);
      }
      double after_100 = 0;
      for (int call = 1; call <= 400; ++call) {
        const std::vector<float> result = exchange(rows);
        for (std::size_t i = 0; i < 50; ++i) mean[i] += (static_cast<double>(result[i]) - mean[i]) / call;
        if (call == 100) after_100 = oracle::distance(mean, target) / oracle::norm(target);
      }
      CAPTURE(workers, static_cast<int>(padding));
      CHECK(after_100 < 0.2);
      CHECK(oracle::distance(mean, target) / oracle::norm(target) < after_100 / 2);
    }
  }
}

TEST_CASE("zeros stay zeros and leave no error") {
  for (const auto padding : {Padding::wire_only, Padding::as_data}) {
    Exchange exchange({.tensors = {50}, .workers = 3, .padding = padding});
    const std::vector<float> result = exchange(FloatRows(3, std::vector<float>(50, -0.0f)));
    for (const float value : result) CHECK((value == 0 && !std::signbit(value)));
    CHECK(oracle::norm(exchange.worker_errors.to_host()) == 0);
    CHECK(oracle::norm(exchange.server_error.to_host()) == 0);
    const Bytes bytes = exchange.channel.worker_payload().body.to_host();
    CHECK(bytes == Bytes(bytes.size(), 0xFF));
  }
}

TEST_CASE("a worker's NaN reaches all of its tensor, at all servers, and no other tensor") {
  Exchange exchange({.tensors = {50, 40}, .workers = 3, .granularity = Granularity::tensor});
  FloatRows rows = normal_rows(exchange, 15, 0);
  rows[1][7] = std::numeric_limits<float>::quiet_NaN();
  for (int call = 0; call < 2; ++call) {
    const std::vector<float> result = exchange(rows);
    for (std::size_t i = 0; i < 90; ++i) CHECK(std::isnan(result[i]) == (i < 50));
    rows = normal_rows(exchange, 15, 1);  // and it stays: the errors are NaN
  }
}

TEST_CASE("a worker's Inf leaves no finite number in its vector") {
  Exchange exchange({.tensors = {50}, .workers = 3});
  FloatRows rows = normal_rows(exchange, 16, 0);
  rows[2][0] = -std::numeric_limits<float>::infinity();
  for (const float value : exchange(rows)) CHECK_FALSE(std::isfinite(value));
}

TEST_CASE("padding dilutes the scale where it is data, and only there") {
  const FloatRows rows(8, std::vector<float>(10, 1.0f));
  Exchange wire({.tensors = {10}, .workers = 8, .padding = Padding::wire_only});
  CHECK(wire(rows) == rows[0]);
  Exchange data({.tensors = {10}, .workers = 8, .padding = Padding::as_data});
  CHECK(oracle::norm(data(rows)) / std::sqrt(10.0) == Approx(std::sqrt(10.0 / 64)).epsilon(1e-3));
}

TEST_CASE("an exchange has the same bits for all groups, threads and backends") {
  for (const auto padding : {Padding::wire_only, Padding::as_data}) {
    ExchangeOptions options{
        .tensors = {9000, 0, 33}, .workers = 5, .granularity = Granularity::tensor, .padding = padding};
    Exchange reference(options);
    std::vector<float> expected;
    for (Index call = 0; call < 3; ++call) expected = reference(normal_rows(reference, 17, call));
    for (const int threads : {1, 2, 7}) {
      for (const Index group : {1, 3, 5}) {
        options.threads = threads;
        options.group = group;
        Exchange exchange(options);
        std::vector<float> result;
        for (Index call = 0; call < 3; ++call) result = exchange(normal_rows(exchange, 17, call));
        CAPTURE(threads, group);
        CHECK(result == expected);
        CHECK(exchange.server_error.to_host() == reference.server_error.to_host());
      }
    }
    for (const std::string& backend : backends()) {
      options.devices = backend;
      Exchange exchange(options);
      std::vector<float> result;
      for (Index call = 0; call < 3; ++call) result = exchange(normal_rows(exchange, 17, call));
      CAPTURE(backend);
      CHECK(result == expected);
      CHECK(exchange.server_error.to_host() == reference.server_error.to_host());
    }
  }
}

TEST_CASE("codec errors are the norms of what was lost over what was encoded") {
  Exchange exchange({.tensors = {4}, .workers = 2});
  const FloatRows rows = {{1, -1, 1, -1}, {3, 1, 1, 1}};  // scale 1 loses nothing; scale sqrt(3) loses some
  exchange(rows);
  const double scale = std::sqrt(3.0);
  const double lost = std::sqrt((3 - scale) * (3 - scale) + 3 * (1 - scale) * (1 - scale)) / std::sqrt(12.0);
  CHECK(exchange.seats[0].worker_codec_error() == Approx(lost / 2).epsilon(1e-6));
  const double server = exchange.seats[0].server_codec_error();
  CHECK((server > 0 && server < 1));
}

TEST_CASE("codec errors of zeros are zero") {
  Exchange exchange({.tensors = {5}, .workers = 3});
  exchange(FloatRows(3, std::vector<float>(5, 0.0f)));
  CHECK(exchange.seats[0].worker_codec_error() == 0);
  CHECK(exchange.seats[0].server_codec_error() == 0);
}
