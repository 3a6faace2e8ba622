// Errors that move from one exchange to another, which keeps fewer tensors dense.
#include <deque>

#include "compress/channels/compressed_mean.hpp"
#include "device/comm/device_group.hpp"
#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

const std::vector<Tensor> kTensors = {{"w", 120, 12}, {"none", 0}, {"b", 10}, {"embedding", 77, 7}};
constexpr Index kParameters = 207, kWorkers = 9;

using Rows = std::vector<std::vector<float>>;

Rows rows_of(Index step) {
  Rows rows;
  for (Index w = 0; w < kWorkers; ++w) rows.push_back(oracle::normals(kParameters, 31, step, w));
  return rows;
}

ExchangeConfig config_of(const std::string& codec, const std::vector<char>& dense) {
  ExchangeConfig config;
  config.up.name = codec;
  config.pattern = ExchangePattern::server;
  config.feedback = Feedback::ef;
  config.dense_tensors = dense;
  config.audit_every = 1;
  return config;
}

/// One exchange on every device of a team.
class Seats {
 public:
  Seats(device::DeviceGroup& group, const ExchangeConfig& config) : group_(group) {
    for (Index rank = 0; rank < group.size(); ++rank) seats_.emplace_back(group.shard(rank), kTensors, config);
  }

  std::vector<float> step(Index number) {
    Rows results(seats_.size());
    const Rows rows = rows_of(number);
    group_.run([&](Index rank) {
      const device::Shard& shard = group_.shard(rank);
      CompressedMean& seat = seats_[static_cast<std::size_t>(rank)];
      std::vector<float> flat;
      for (Index w = shard.own().first; w < shard.own().end(); ++w) {
        flat.insert(flat.end(), rows[static_cast<std::size_t>(w)].begin(), rows[static_cast<std::size_t>(w)].end());
      }
      const auto own = on(shard.device, flat);
      const auto ones = on(shard.device, std::vector<float>(static_cast<std::size_t>(shard.own().count), 1.0f));
      seat.begin(number);
      seat.absorb(shard.own(), {.rows = own.data(), .stride = kParameters, .factors = ones.data()});
      device::Buffer<float> result(shard.device, kParameters);
      netmodel::TrafficList traffic;
      seat.exchange(result.data(), traffic);
      CHECK(traffic == seat.plan());
      results[static_cast<std::size_t>(rank)] = result.to_host();
    });
    return results[0];
  }

  void adopt(const Seats& other) {
    for (std::size_t rank = 0; rank < seats_.size(); ++rank) seats_[rank].adopt_errors(other.seats_[rank]);
  }

  const CompressedMean& first() const { return seats_.front(); }

 private:
  device::DeviceGroup& group_;
  std::deque<CompressedMean> seats_;
};

std::vector<float> part(const std::vector<float>& values, Index first, Index count) {
  return {values.begin() + first, values.begin() + first + count};
}

}  // namespace

TEST_CASE("a tensor's errors go over to an exchange with other dense tensors, on any devices") {
  for (const char* devices : {"cpu", "cpu:2", "cpu:3", "debug"}) {
    for (const char* codec : {"sign-l2", "sign-l1", "int8", "top-k"}) {
      CAPTURE(devices, codec);
      device::DeviceGroup group(device::parse_devices(devices, 1), kWorkers);
      Seats one(group, config_of(codec, {1, 0, 1, 0})), two(group, config_of(codec, {1, 0, 0, 0}));
      Seats three(group, config_of(codec, {0, 0, 0, 0})), always(group, config_of(codec, {1, 0, 1, 0}));
      Seats late(group, config_of(codec, {1, 0, 0, 1}));
      const auto check = [&](Seats& seats, Index step) {
        const std::vector<float> result = seats.step(step), expected = always.step(step);
        CHECK(part(result, 130, 77) == part(expected, 130, 77));  // as if there had been one exchange
        REQUIRE(seats.first().balance());
        CHECK(seats.first().balance()->residual < 1e-4 * seats.first().balance()->size);
        return result;
      };
      for (Index step = 1; step <= 3; ++step) check(one, step);
      two.adopt(one);
      for (Index step = 4; step <= 6; ++step) {
        // The other tensor's errors begin at 0.
        CHECK(part(check(two, step), 120, 10) == part(late.step(step), 120, 10));
      }
      three.adopt(two);
      for (Index step = 7; step <= 9; ++step) {
        CHECK(part(check(three, step), 120, 10) == part(late.step(step), 120, 10));
      }
    }
  }
}

TEST_CASE("tensors that are marked are kept dense besides those of the patterns") {
  ExchangeConfig config = config_of("sign-l2", {0, 0, 1, 0});
  config.dense = {"emb*"};
  const device::Device device = device_of("cpu");
  const CompressedMean mean(device::whole(device, kWorkers), kTensors, config);
  CHECK(mean.error_stride() == 120);
  config.dense_tensors = {1, 1, 1, 1};
  const CompressedMean dense(device::whole(device, kWorkers), kTensors, config);
  CHECK(dense.error_stride() == 0);
  CHECK(dense.plan().size() == 3);
}

TEST_CASE("an exchange whose errors cannot go over is refused with the reason") {
  const auto refused = [](const auto& change) {
    ExchangeConfig config = config_of("sign-l2", {});
    change(config);
    try {
      require_adoptable(config);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refused([](auto&) {}) == "accepted");
  CHECK_THAT(refused([](auto& c) { c.granularity = Granularity::fused; }), Contains("the tensors share one vector"));
  CHECK_THAT(refused([](auto& c) { c.padding = Padding::as_data; }), Contains("padding elements have errors"));
  CHECK_THAT(refused([](auto& c) { c.error_type = ErrorType::int8; }),
             Contains("they are stored in fewer bytes than float32"));
  CHECK_THAT(refused([](auto& c) { c.up.name = "dct"; }), Contains("the codec keeps its own state"));
  for (const ExchangePattern pattern : {ExchangePattern::gather, ExchangePattern::linear, ExchangePattern::tree}) {
    CHECK_THAT(refused([&](auto& c) { c.pattern = pattern; }),
               Contains("this codec's payloads do not go through servers"));
  }
}
