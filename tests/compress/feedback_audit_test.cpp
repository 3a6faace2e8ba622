// The balance of error feedback: it closes for every codec and channel, and shows which errors were lost.
#include <limits>

#include "compress/channels/compressed_mean.hpp"
#include "device/comm/device_group.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/drop_state.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::tests;
using compress::CompressedMean;
using compress::FeedbackBalance;

namespace {

constexpr Index kWorkers = 8, kSize = 300;

std::vector<compress::Tensor> tensors() {
  return {{"a", 20 * 10, 20}, {"b", 70}, {"empty", 0}, {"c", 30}};
}

/// Exchanges on one or several devices, whose state tests may change in between.
class Run {
 public:
  explicit Run(compress::ExchangeConfig config, const std::string& devices = "cpu")
      : group_(device::parse_devices(devices, 1), kWorkers) {
    config.audit_every = std::max<Index>(1, config.audit_every);
    for (Index d = 0; d < group_.size(); ++d) {
      shards_.push_back(group_.shard(d));
      means_.push_back(std::make_unique<CompressedMean>(shards_.back(), tensors(), config));
    }
  }

  /// Returns the balance of the next exchange, the same on all devices, or nothing if it is not audited.
  std::optional<FeedbackBalance> operator()() {
    ++step_;
    std::vector<std::optional<FeedbackBalance>> balances(means_.size());
    group_.run([&](Index d) {
      const auto at = static_cast<std::size_t>(d);
      balances[at] = exchange(*means_[at], shards_[at]);
    });
    for (const auto& balance : balances) {
      CHECK(balance.has_value() == balances[0].has_value());
      if (balance) CHECK(balance->residual == balances[0]->residual);
    }
    return balances[0];
  }

  /// A step without an exchange.
  void skip() { ++step_; }

  std::vector<std::unique_ptr<CompressedMean>>& means() { return means_; }

 private:
  std::optional<FeedbackBalance> exchange(CompressedMean& mean, const device::Shard& shard) const {
    const Range own = shard.own();
    std::vector<float> rows;
    for (Index w = own.first; w < own.end(); ++w) {
      const std::vector<float> row = oracle::normals(kSize, 3, step_, w + 1);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    const auto input = on(shard.device, rows);
    const auto ones = on(shard.device, std::vector<float>(static_cast<std::size_t>(own.count), 0.5f));
    mean.begin(step_);
    mean.absorb(own, {.rows = input.data(), .stride = kSize, .factors = ones.data()});
    device::Buffer<float> result(shard.device, kSize);
    netmodel::TrafficList traffic;
    mean.exchange(result.data(), traffic);
    return mean.balance();
  }

  device::DeviceGroup group_;
  std::vector<device::Shard> shards_;
  std::vector<std::unique_ptr<CompressedMean>> means_;
  Index step_ = 0;
};

void drop(Run& run, const std::string& name) {
  const device::Shard shard = device::whole(device_of("cpu", 1), kWorkers);
  DropState visitor(shard, name);
  run.means().front()->visit_state(visitor);
}

double relative(const FeedbackBalance& balance) {
  return balance.residual / balance.size;
}

}  // namespace

TEST_CASE("the balance closes for every codec") {
  for (const compress::CodecEntry& entry : compress::codecs()) {
    for (const auto feedback : {compress::Feedback::automatic, compress::Feedback::none}) {
      compress::ExchangeConfig config;
      config.up.name = std::string(entry.name);
      config.up.k = 0.1;
      config.feedback = feedback;
      INFO(entry.name << (feedback == compress::Feedback::none ? ", no feedback" : ""));
      Run run(config);
      for (int step = 1; step <= 4; ++step) {
        const auto balance = run();
        REQUIRE(balance);
        CHECK(relative(*balance) < 2e-6);
        CHECK(balance->size > 0);
      }
    }
  }
}

TEST_CASE("the balance closes however the vectors are combined") {
  for (const auto pattern :
       {compress::ExchangePattern::server, compress::ExchangePattern::gather, compress::ExchangePattern::tree}) {
    compress::ExchangeConfig config;
    config.up.name = "top-k";
    config.up.k = 0.1;
    config.pattern = pattern;
    Run run(config);
    for (int step = 1; step <= 4; ++step) CHECK(relative(*run()) < 2e-6);
  }
}

TEST_CASE("the balance closes with dense tensors, fused vectors, padding as data and several devices") {
  for (const char* devices : {"cpu", "cpu:2", "debug"}) {
    for (const auto granularity : {compress::Granularity::tensor, compress::Granularity::fused}) {
      compress::ExchangeConfig config;
      config.granularity = granularity;
      config.dense = {"b"};
      for (const auto padding : {compress::Padding::wire_only, compress::Padding::as_data}) {
        config.padding = padding;
        Run run(config, devices);
        for (int step = 1; step <= 3; ++step) CHECK(relative(*run()) < 2e-6);
      }
    }
  }
}

TEST_CASE("the balance closes for errors that are kept rounded, and says what rounding took") {
  for (const char* devices : {"cpu", "cpu:2", "debug"}) {
    for (const auto type : {compress::ErrorType::fp32, compress::ErrorType::bf16, compress::ErrorType::int8}) {
      compress::ExchangeConfig config;
      config.dense = {"b"};
      config.error_type = type;
      CAPTURE(devices, static_cast<int>(type));
      Run run(config, devices);
      for (int step = 1; step <= 4; ++step) {
        if (step == 4 && run.means().size() == 1) run.means().front()->scale_errors(0.25f);
        const auto balance = run();
        CHECK(relative(*balance) < 2e-6);
        if (type == compress::ErrorType::fp32) CHECK(balance->rounding == 0);
        if (type == compress::ErrorType::bf16) CHECK(balance->rounding == Approx(7e-4 * balance->size).epsilon(0.6));
        if (type == compress::ErrorType::int8) CHECK(balance->rounding == Approx(4e-3 * balance->size).epsilon(0.6));
      }
    }
  }
}

TEST_CASE("errors that are dropped between exchanges are missed, and whose they were shows") {
  Run workers({}), servers({});
  for (Run* run : {&workers, &servers}) {
    for (int step = 1; step <= 3; ++step) (*run)();
  }
  drop(workers, "worker_error");
  const auto without_workers = workers();
  CHECK(relative(*without_workers) > 0.1);
  CHECK(without_workers->residual_without_workers < 1e-5 * without_workers->residual);
  CHECK(without_workers->residual_without_servers > 0.1 * without_workers->residual);
  drop(servers, "server_error");
  const auto without_servers = servers();
  CHECK(relative(*without_servers) > 0.1);
  CHECK(without_servers->residual_without_servers < 1e-5 * without_servers->residual);
  CHECK(without_servers->residual_without_workers > 0.1 * without_servers->residual);
}

TEST_CASE("errors that are scaled or forgotten on purpose are not missed") {
  Run run({});
  for (int step = 1; step <= 2; ++step) run();
  run.means().front()->scale_errors(0.25f);
  CHECK(relative(*run()) < 2e-6);
  run.means().front()->reset_errors();
  CHECK(relative(*run()) < 2e-6);
  CHECK(relative(*run()) < 2e-6);
}

TEST_CASE("steps without an exchange do not confuse the audit") {
  compress::ExchangeConfig config;
  config.audit_every = 4;
  Run run(config);
  for (int step = 1; step <= 3; ++step) run();
  run.skip();  // what was saved for step 4 is no longer valid
  for (int step = 5; step <= 6; ++step) run();
  run.skip();
  const auto balance = run();
  REQUIRE(balance);
  CHECK(relative(*balance) < 2e-6);
}

TEST_CASE("exchanges are audited as often as asked, and not at all by default") {
  compress::ExchangeConfig config;
  config.audit_every = 3;
  Run run(config);
  for (int step = 1; step <= 7; ++step) {
    const auto balance = run();
    CHECK(balance.has_value() == (step % 3 == 0));
    if (balance) CHECK(relative(*balance) < 2e-6);
  }
}
