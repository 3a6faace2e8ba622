// Runs over several devices: the same bits as on one, each device holds its share, and what it receives is what the
// exchange must move.
#include <cmath>
#include <cstring>

#include "device/base/error.hpp"
#include "sim/probe/probe.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/sim/log/log_fixture.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

constexpr Index kFreeze = 4;

/// 14 workers are 4 blocks, the last of two.
RunConfig uneven(RunConfig config) {
  config.optimizer.clip = 0.5;
  config.optimizer.freeze.policy = "fixed:" + std::to_string(kFreeze);
  config.workers = 14;
  config.threads = 2;
  return config;
}

/// The results of a run: every number that a log would hold except times, and the events and the weights.
struct Trained {
  std::vector<double> numbers;
  std::vector<std::string> events;
  std::vector<float> weights;

  bool same_bits(const Trained& other) const {
    return numbers.size() == other.numbers.size() && weights == other.weights && events == other.events &&
           std::memcmp(numbers.data(), other.numbers.data(), numbers.size() * sizeof(double)) == 0;
  }
};

void record(VirtualCluster& cluster, const StepOutcome& outcome, Trained& result) {
  const WorkerRow workers = measure_workers(cluster, outcome);
  StepRow row = measure_step(cluster, outcome);
  measure_errors(cluster, workers, row);
  const TensorRow tensors = measure_tensors(cluster, outcome.step);
  result.numbers.insert(result.numbers.end(),
                        {row.loss, row.param_norm, row.grad_norm, row.clip_share, row.update_norm, row.momentum_norm,
                         row.variance_l1, row.variance_l2, row.variance_ratio, row.variance_ratio_corrected,
                         row.worker_error_norm, row.server_error_norm, row.worker_codec_error, row.server_codec_error,
                         row.sign_density, row.bytes_up, row.bytes_down, static_cast<double>(row.messages)});
  for (const auto* values :
       {&workers.loss, &workers.error_norm, &tensors.momentum_l2, &tensors.variance_l1, &tensors.variance_l2}) {
    result.numbers.insert(result.numbers.end(), values->begin(), values->end());
  }
  for (const optim::Event& event : outcome.report.events) result.events.push_back(event.kind + " " + event.text);
}

Trained trained(RunConfig config, const std::string& devices) {
  config.device = devices;
  VirtualCluster cluster(config);
  Trained result;
  while (cluster.step() < cluster.steps()) record(cluster, cluster.advance(), result);
  for (const Replica& replica : cluster.replicas()) CHECK(replica.weights.to_host() == cluster.weights().to_host());
  result.weights = cluster.weights().to_host();
  result.numbers.push_back(cluster.evaluate().loss);
  return result;
}

void check_same_bits(RunConfig config) {
  for (const std::string optimizer : {"adam", "onebit-adam"}) {
    for (const auto granularity : {compress::Granularity::tensor, compress::Granularity::fused}) {
      config.optimizer.name = optimizer;
      config.optimizer.exchange.granularity = granularity;
      const Trained expected = trained(config, "cpu:1");
      REQUIRE(std::isfinite(expected.numbers.back()));
      for (const std::string devices : {"cpu:2", "cpu:3", "debug", "debug:2"}) {
        for (const Index group : {0, 3}) {
          CAPTURE(config.model.name, optimizer, devices, group, static_cast<int>(granularity));
          config.worker_group = group;
          CHECK(trained(config, devices).same_bits(expected));
        }
      }
    }
  }
}

/// Bytes of device memory that each rank received in each step.
std::vector<std::vector<Index>> bytes_by_step(VirtualCluster& cluster) {
  std::vector<std::vector<Index>> steps;
  std::vector<Index> before(cluster.replicas().size());
  while (cluster.step() < cluster.steps()) {
    cluster.advance();
    steps.emplace_back();
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
      const Index now = cluster.replicas()[rank].shard.communicator->bytes_received();
      steps.back().push_back(now - before[rank]);
      before[rank] = now;
    }
  }
  return steps;
}

}  // namespace

TEST_CASE("mlp: the same bits on one device, several and debug ones") {
  check_same_bits(uneven(mlp_config()));
}

TEST_CASE("data split among workers: the same bits on one device, several and debug ones") {
  RunConfig config = uneven(mlp_config());
  config.optimizer.name = "onebit-adam";
  config.steps = 6;
  const Trained all = trained(config, "cpu:1");
  for (const std::string split : {"label", "dirichlet:0.2", "size"}) {
    config.data.split = split;
    config.worker_group = 0;
    const Trained expected = trained(config, "cpu:1");
    REQUIRE(std::isfinite(expected.numbers.back()));
    CHECK_FALSE(expected.same_bits(all));
    for (const auto& [devices, group] : {std::pair<std::string, Index>{"cpu:2", 3}, {"debug:2", 0}, {"cpu:1", 1}}) {
      CAPTURE(split, devices, group);
      config.worker_group = group;
      CHECK(trained(config, devices).same_bits(expected));
    }
  }
}

TEST_CASE("ngram: the same bits on one device, several and debug ones") {
  const Folder folder;
  check_same_bits(uneven(ngram_config(folder)));
}

TEST_CASE("cnn: the same bits on one device, several and debug ones") {
  RunConfig config = uneven(mlp_config());
  config.model = {.name = "cnn", .layers = {}};
  config.data.image = {2, 4, 5};
  config.steps = 5;
  check_same_bits(config);
}

TEST_CASE("resnet20: the same bits on one device, several and debug ones, with either normalisation") {
  RunConfig config = uneven(mlp_config());
  config.data.image = {3, 4, 4};
  config.optimizer.name = "onebit-adam";
  config.optimizer.freeze.policy = "fixed:1";
  config.optimizer.lr = 1e-4;  // a variance frozen this early must not blow the weights up
  config.workers = 6;
  config.batch = config.steps = 2;
  for (const std::string norm : {"group", "batch"}) {
    config.model = {.name = "resnet20", .layers = {}, .norm = norm};
    config.worker_group = 0;
    const Trained expected = trained(config, "cpu:1");
    REQUIRE(std::isfinite(expected.numbers.back()));
    const std::string other = norm == "batch" ? "debug" : "cpu:1";
    for (const auto& [devices, group] : {std::pair<std::string, Index>{"cpu:2", 0}, {other, 4}, {"cpu:1", 1}}) {
      CAPTURE(norm, devices, group);
      config.worker_group = group;
      CHECK(trained(config, devices).same_bits(expected));
    }
  }
}

TEST_CASE("transformers with dropout: the same bits on one device, several and debug ones") {
  const Folder folder;
  for (const std::string model : {"bert-nano", "gpt-nano"}) {
    RunConfig config = uneven(transformer_config(folder, model));
    config.optimizer.name = "onebit-adam";
    const Trained expected = trained(config, "cpu:1");
    REQUIRE(std::isfinite(expected.numbers.back()));
    using Setting = std::pair<std::string, Index>;
    for (const auto& [devices, group] : {Setting{"cpu:2", 0}, {"cpu:2", 1}, {"cpu:3", 3}, {"debug:2", 3}}) {
      CAPTURE(model, devices, group);
      config.worker_group = group;
      CHECK(trained(config, devices).same_bits(expected));
    }
  }
}

TEST_CASE("products of fewer bits: the same bits on one device, several and debug ones, and for any threads") {
  const Folder folder;
  RunConfig mlp = uneven(mlp_config()), cnn = mlp, bert = uneven(transformer_config(folder, "bert-nano"));
  cnn.model = {.name = "cnn", .layers = {}};
  cnn.data.image = {2, 4, 5};
  for (RunConfig config : {mlp, cnn, bert}) {
    config.optimizer.name = "onebit-adam";
    config.steps = 6;
    const Trained exact = trained(config, "cpu:1");
    config.model.precision = device::Precision::bf16;
    const Trained expected = trained(config, "cpu:1");
    REQUIRE(std::isfinite(expected.numbers.back()));
    CHECK_FALSE(expected.same_bits(exact));
    for (const std::string devices : {"cpu:1", "cpu:2", "debug", "debug:2"}) {
      for (const int threads : {1, 2}) {
        CAPTURE(config.model.name, devices, threads);
        config.threads = threads;
        CHECK(trained(config, devices).same_bits(expected));
      }
    }
  }
}

TEST_CASE("each device holds the rows of its workers") {
  RunConfig config = uneven(mlp_config());
  config.optimizer.name = "onebit-adam";
  config.device = "cpu:2";
  VirtualCluster cluster(config);
  while (cluster.step() < cluster.steps()) cluster.advance();
  const Index parameters = cluster.model().parameters();
  Index next = 0, server_elements = 0;
  for (const Replica& replica : cluster.replicas()) {
    const Range own = replica.shard.own();
    CHECK(own.first == next);
    next = own.end();
    CHECK(own.count == (next == 14 ? 6 : 8));  // 4 blocks, the last of two workers
    const optim::StateView state = replica.optimizer->state();
    CHECK(replica.gradients.size() == own.count * parameters);
    CHECK(state.exchange->worker_errors().size() == own.count * parameters);
    CHECK(state.momentum->size() == parameters);
    server_elements += state.exchange->server_error().size();
  }
  CHECK(next == 14);
  CHECK(server_elements == parameters);
}

TEST_CASE("devices receive in each stage what its exchange must move") {
  RunConfig config = uneven(mlp_config());
  config.optimizer.name = "onebit-adam";
  config.optimizer.exchange.granularity = compress::Granularity::fused;
  config.device = "cpu:2";
  VirtualCluster cluster(config);
  const Index parameters = cluster.model().parameters();
  const std::vector<std::vector<Index>> steps = bytes_by_step(cluster);
  const Index chunk = round_up(parameters, compress::padding_quantum(14)) / 14 / 8;  // of one server, in bytes
  const std::vector<Index> held = {8, 6};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    // Dense: the other's partial sum over our half of the columns, in double, and its half of the mean.
    const Index columns = rank == 0 ? parameters / 2 : parameters - parameters / 2;
    const Index dense = columns * 8 + (parameters - columns) * 4;
    const Index own = held[rank], theirs = held[1 - rank];
    // Compressed: their workers' bits of our chunks with a scale each, then their servers' chunks with a scale each.
    const Index compressed = theirs * (own * chunk + 4) + theirs * (chunk + 4);
    for (std::size_t step = 0; step < steps.size(); ++step) {
      CAPTURE(rank, step);
      CHECK(steps[step][rank] == (step < kFreeze ? dense : compressed));
    }
  }
}

TEST_CASE("a bad loss on the second device ends the step for all, names the worker and changes no weights") {
  RunConfig config = uneven(mlp_config());
  config.device = "cpu:2";
  VirtualCluster cluster(config);
  cluster.advance();
  const std::vector<float> before = cluster.weights().to_host();
  cluster.on_each_device([](Replica& replica) {
    if (replica.shard.rank() == 1) replica.weights.upload(std::vector<float>{std::nanf("")});
  });
  CHECK_THROWS_WITH(cluster.advance(),
                    Catch::Matchers::Contains("tensor layer1.weight became non-finite first (step 2, worker 8)"));
  CHECK(cluster.weights().to_host() == before);
}

TEST_CASE("more devices than blocks of workers are refused") {
  RunConfig config = uneven(mlp_config());
  config.device = "cpu:5";
  CHECK_THROWS_WITH(
      VirtualCluster(config),
      "too many devices for the number of workers (5 devices, 14 workers); a device holds whole blocks of 4 "
      "workers, so use at most 4 devices");
}

TEST_CASE("every other backend comes to the CPU's result within rounding") {
  const Folder folder;
  for (RunConfig config :
       {uneven(mlp_config()), uneven(ngram_config(folder)), uneven(transformer_config(folder, "bert-nano"))}) {
    for (const std::string optimizer : {"adam", "onebit-adam"}) {
      for (const auto& [precision, tolerance] : {std::pair{device::Precision::fp32, 1e-3},
                                                 {device::Precision::tf32, 5e-3},
                                                 {device::Precision::bf16, 3e-2}}) {
        config.optimizer.name = optimizer;
        config.model.precision = precision;
        const Trained expected = trained(config, "cpu");
        for (const std::string& backend : backends()) {
          CAPTURE(config.model.name, optimizer, backend, tolerance);
          CHECK(trained(config, backend).numbers.back() == Approx(expected.numbers.back()).epsilon(tolerance));
        }
      }
    }
  }
}
