// The debug device, whose memory only kernels and copies may touch, gives the same runs as the CPU, bit for bit. The
// tests cover every row of the registries, so that a new row is tested automatically.
#include "compress/codecs/codec.hpp"
#include "device/base/error.hpp"
#include "tests/sim/same_runs.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

const std::vector<std::string> kDebug = {"debug", "debug:2"};

/// Models that the test of every model leaves out.
const std::vector<std::string> kNoProgram = {"external"};  // the user's own: tests/experiments/external_test.cpp
const std::vector<std::string> kLarge = {"resnet18"};      // 11 million weights, protected at every launch: a long test

RunConfig smallest(const ModelEntry& model, const Folder& folder) {
  RunConfig config = smallest_run_of(model, folder);
  config.workers = 5;
  config.batch = 2;
  config.steps = 2;
  config.eval.examples = 10;
  config.log = {.every = 1, .workers_every = 1, .tensors_every = 1};
  return config;
}

}  // namespace

TEST_CASE("debug: every optimizer has the bits of the CPU") {
  for (const optim::OptimizerEntry& entry : optim::optimizers()) {
    check_same_runs(staged_run(std::string(entry.name)), kDebug);
  }
}

TEST_CASE("debug: every codec has the bits of the CPU") {
  for (const compress::CodecEntry& entry : compress::codecs()) {
    for (const std::string optimizer : {"ef-momentum-sgd", "onebit-adam"}) {
      RunConfig config = staged_run(optimizer);
      config.optimizer.exchange.up.name = entry.name;
      config.optimizer.freeze.policy = "fixed:1";
      config.steps = 4;
      check_same_runs(config, kDebug);
    }
  }
}

TEST_CASE("debug: every model has the bits of the CPU") {
  const Folder folder;
  std::vector<std::string> refused, large;
  for (const ModelEntry& model : models()) {
    CAPTURE(model.name);
    const RunConfig config = smallest(model, folder);
    if (std::ranges::count(kNoProgram, model.name) > 0) {
      refused.emplace_back(model.name);
      CHECK_THROWS_AS(VirtualCluster(config), ConfigError);
    } else if (std::ranges::count(kLarge, model.name) > 0) {
      large.emplace_back(model.name);
      CHECK(VirtualCluster(config).model().parameters() > 1000000);
    } else {
      check_same_runs(config, kDebug);
    }
  }
  CHECK(refused == kNoProgram);
  CHECK(large == kLarge);
}

TEST_CASE("debug: every large model has the bits of the CPU", "[.long]") {
  const Folder folder;
  for (const std::string& name : kLarge) {
    RunConfig config = smallest(model_entry(name), folder);
    config.workers = config.batch = config.steps = 1;
    config.optimizer.name = "sgd";
    check_same_runs(config, {"debug"});  // two would need five workers
  }
}
