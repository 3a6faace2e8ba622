// 1-bit Adam whose tensors are frozen one by one.
#include "optim/two_stage/tensor_freeze.hpp"

#include "device/comm/device_group.hpp"
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/tensor_freeze.hpp"
#include "tests/saved_state.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

const std::vector<Index> kTensors = {40, 0, 3, 29, 16};
constexpr Index kParameters = 88, kSteps = 75;

/// Gradients whose tensors become stable one after the other; the last one grows forever.
FloatRows restless(Index workers, Index step, const std::vector<Index>& silent = {}) {
  const std::vector<float> slope = oracle::normals(kParameters, 7);
  const auto at = static_cast<float>(step);
  const std::vector<float> levels = {1, 0, 1 + 3 * std::exp(-at / 5), 1 + 3 * std::exp(-at / 9), std::exp(at / 40)};
  FloatRows rows;
  for (Index w = 0; w < workers; ++w) {
    std::vector<float> row = oracle::normals(kParameters, 8, step, w + 1);
    std::size_t i = 0;
    for (std::size_t t = 0; t < kTensors.size(); ++t) {
      for (const std::size_t end = i + static_cast<std::size_t>(kTensors[t]); i < end; ++i) {
        row[i] = levels[t] * ((slope[i] < 0 ? -1.0f : 1.0f) + slope[i] + 0.05f * row[i]);
      }
    }
    for (const Index silenced : silent) row[static_cast<std::size_t>(silenced)] = 0;
    rows.push_back(row);
  }
  return rows;
}

TrainingOptions tensorwise(const std::string& name = "onebit-adam", Index workers = 4) {
  TrainingOptions options;
  options.config.name = name;
  options.config.lr = 0.01;
  options.config.beta2 = 0.9;  // lag 10
  options.config.freeze.policy = "auto";
  options.config.freeze.dwell = 3;
  options.config.freeze.scope = FreezeScope::tensor;
  options.tensors = kTensors;
  options.workers = workers;
  return options;
}

oracle::TensorFreeze oracle_of(const TrainingOptions& options, const std::vector<float>& x0) {
  const OptimizerConfig& c = options.config;
  oracle::TensorFreezeOptions freeze{.lag = 10, .threshold = c.freeze.threshold};
  freeze.stored = c.freeze.policy == "published";
  freeze.dwell = freeze.stored ? 1 : static_cast<int>(c.freeze.dwell);
  freeze.after = static_cast<int>(std::max(c.freeze.after, options.lr_warmup));
  freeze.identity = c.name == "onebit-adam-32" || c.exchange.up.name == "fp32";
  freeze.floor = c.variance_floor == "mean:0.5" ? 0.5 : 0;
  return {{c.beta1, c.beta2, c.eps, c.weight_decay, c.clip, c.bias_correction},
          freeze,
          {x0.begin(), x0.end()},
          {40, 0, 3, 29, 16}};
}

/// Returns the tensors that a report says were frozen, and after which update, by name.
std::map<std::string, Index> freezes_in(const StepReport& report, Index step) {
  std::map<std::string, Index> result;
  for (const Event& event : report.events) {
    if (event.kind != "tensor-freeze") continue;
    const std::string name = event.text.substr(7, event.text.find(" frozen after ") - 7);
    CHECK(contains(event.text, "frozen after " + std::to_string(step) + " updates"));
    result[name] = step;
  }
  return result;
}

/// Largest relative error of the preconditioning variance.
double worst_variance(const Training& training, const oracle::TensorFreeze& oracle, bool frozen) {
  const std::vector<float> stored = training.optimizer->state().variance->to_host();
  const double weight = frozen || !oracle.adam.bias_correction ? 1 : 1 - std::pow(oracle.adam.beta2, oracle.t);
  double worst = 0;
  for (const auto& tensor : oracle.tensors) {
    for (std::size_t i = tensor.first; i < tensor.first + tensor.size; ++i) {
      const double expected = oracle.preconditioner(tensor, i);
      const double found = static_cast<double>(stored[i]) / weight;
      worst = std::max(worst, expected == 0 ? found : std::fabs(found / expected - 1));
    }
  }
  return worst;
}

struct Followed {
  double displacement = 0, variance = 0;
  std::map<std::string, Index> freezes;
};

/// Trains together with the oracle, which must freeze the same tensors at the same steps.
Followed follow(const TrainingOptions& options, const std::vector<Index>& silent = {}) {
  const std::vector<float> x0 = oracle::normals(kParameters, 3);
  Training training(options, x0);
  oracle::TensorFreeze oracle = oracle_of(options, x0);
  const std::vector<compress::Tensor> tensors = compress::unnamed(kTensors);
  Followed result;
  for (Index step = 1; step <= kSteps; ++step) {
    const FloatRows rows = restless(options.workers, step, silent);
    const StepReport report = training.step(rows);
    oracle.step(options.config.lr, wide(rows));
    result.freezes.merge(freezes_in(report, step));
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const auto found = result.freezes.find(tensors[t].name);
      CAPTURE(step, tensors[t].name);
      CHECK((found == result.freezes.end() ? 0 : found->second) == oracle.tensors[t].frozen_by);
    }
    const double moved = oracle::distance(oracle.x, x0);
    result.displacement =
        std::max(result.displacement, oracle::distance(training.parameters(), oracle.x) / std::max(moved, 1e-9));
    result.variance = std::max(result.variance, worst_variance(training, oracle, !result.freezes.empty()));
  }
  return result;
}

/// Returns all bits of the final state of a run on one or several devices.
std::vector<float> bits(const TrainingOptions& options, const std::string& devices) {
  device::DeviceGroup group(device::parse_devices(devices, options.threads), options.workers);
  std::vector<float> result;
  std::vector<std::vector<float>> others(static_cast<std::size_t>(group.size()));
  group.run([&](Index rank) {
    const device::Shard& shard = group.shard(rank);
    const auto optimizer = make_optimizer({shard, compress::unnamed(kTensors), 1000, 0}, options.config);
    auto x = on(shard.device, oracle::normals(kParameters, 3));
    std::vector<float>& all = others[static_cast<std::size_t>(rank)];
    std::ptrdiff_t freezes = 0;
    for (Index step = 1; step <= 28; ++step) {
      const FloatRows rows = restless(options.workers, step + 15);
      optimizer->begin(step, options.config.lr);
      for (Index first = shard.own().first; first < shard.own().end(); first += options.group) {
        const Index count = std::min(options.group, shard.own().end() - first);
        std::vector<float> flat;
        for (Index w = first; w < first + count; ++w) {
          flat.insert(flat.end(), rows[static_cast<std::size_t>(w)].begin(), rows[static_cast<std::size_t>(w)].end());
        }
        const auto gradients = on(shard.device, flat);
        optimizer->absorb({first, count}, gradients.data(), kParameters);
      }
      const StepReport report = optimizer->finish(x);
      all.push_back(static_cast<float>(double{report.update_norm}));
      freezes += std::ranges::count(report.events, "tensor-freeze", &Event::kind);
    }
    for (const auto* buffer : {optimizer->state().momentum, optimizer->state().variance, &std::as_const(x)}) {
      const std::vector<float> values = buffer->to_host();
      all.insert(all.end(), values.begin(), values.end());
    }
    all.push_back(static_cast<float>(freezes));
  });
  for (const std::vector<float>& other : others) CHECK(other == others[0]);
  CHECK(others[0].back() == 3);  // tensors were frozen
  return others[0];
}

std::vector<std::string> kinds(const StepReport& report) {
  std::vector<std::string> result;
  for (const Event& event : report.events) result.push_back(event.kind);
  return result;
}

/// Runs until the step after which a tensor is frozen, and returns that step's report.
StepReport run_to_freeze(Training& training, Index& step) {
  while (true) {
    const StepReport report = training.step(restless(training.options.workers, ++step));
    if (!freezes_in(report, step).empty() || step > kSteps) return report;
  }
}

}  // namespace

TEST_CASE("tensors are frozen one by one as the oracle says, and those that are not go on as Adam's") {
  for (const auto& [name, codec] : std::vector<std::pair<std::string, std::string>>{
           {"onebit-adam", "sign-l2"}, {"onebit-adam", "fp32"}, {"onebit-adam-32", "sign-l2"}}) {
    for (const Index workers : {1, 3, 8}) {
      CAPTURE(name, codec, workers);
      TrainingOptions options = tensorwise(name, workers);
      options.config.exchange.up.name = codec;
      const Followed followed = follow(options);
      CHECK(followed.freezes.size() == 3);
      CHECK(followed.freezes.at("tensor0") < followed.freezes.at("tensor2"));
      CHECK(followed.freezes.at("tensor2") < followed.freezes.at("tensor3"));
      CHECK(followed.displacement < 1e-4);
      CHECK(followed.variance < 1e-4);
    }
  }
}

TEST_CASE("tensors are frozen one by one with every option changed") {
  TrainingOptions options = tensorwise();
  std::vector<Index> silent;
  SECTION("without bias correction") {
    options.config.bias_correction = false;
  }
  SECTION("published") {
    options.config.freeze.policy = "published";
  }
  SECTION("after the learning-rate warm-up") {
    options.lr_warmup = 30;
  }
  SECTION("not before so many updates") {
    options.config.freeze.after = 40;
  }
  SECTION("weight decay, betas and eps") {
    options.config.weight_decay = 0.1;
    options.config.beta1 = 0.8;
    options.config.eps = 1e-3;
  }
  SECTION("clipping") {
    options.config.clip = 30;
    options.config.freeze.threshold = 0.85;
  }
  SECTION("a floor of what is frozen") {
    options.config.variance_floor = "mean:0.5";
  }
  SECTION("coordinates without gradients") {
    silent = {0, 39, 41, 60, 80};
  }
  for (const char* codec : {"sign-l2", "fp32"}) {
    CAPTURE(codec);
    options.config.exchange.up.name = codec;
    const Followed followed = follow(options, silent);
    CHECK(followed.freezes.size() == 3);
    CHECK(followed.displacement < 1e-4);
    CHECK(followed.variance < 1e-4);
  }
}

TEST_CASE("a run of one tensor has the bits of a freeze of the run, where no bias has to be removed") {
  for (const char* name : {"onebit-adam", "onebit-adam-32"}) {
    TrainingOptions options = tensorwise(name);
    options.config.bias_correction = false;
    options.tensors = {kParameters};
    Training by_tensor(options);
    options.config.freeze.scope = FreezeScope::run;
    Training by_run(options);
    for (Index step = 1; step <= 60; ++step) {
      FloatRows rows(4, oracle::normals(kParameters, 5));
      rows[1] = oracle::normals(kParameters, 6);
      const StepReport report = by_tensor.step(rows);
      CHECK(report.phase == by_run.step(rows).phase);
      CHECK(by_tensor.parameters() == by_run.parameters());
    }
    CHECK(by_tensor.optimizer->failed_expectation().empty());
  }
}

TEST_CASE("tensors frozen one by one have the same bits for any threads, groups and devices") {
  for (const char* name : {"onebit-adam", "onebit-adam-32"}) {
    TrainingOptions options = tensorwise(name, 9);
    options.group = 9;
    options.config.beta2 = 0.7;
    options.config.freeze.lag = 4;
    options.config.freeze.dwell = 1;
    const std::vector<float> expected = bits(options, "cpu");
    for (const auto& [devices, threads, group] : std::vector<std::tuple<std::string, int, Index>>{
             {"cpu", 2, 2}, {"cpu:2", 1, 9}, {"cpu:3", 1, 3}, {"debug", 1, 4}}) {
      CAPTURE(name, devices, threads, group);
      options.threads = threads;
      options.group = group;
      CHECK(bits(options, devices) == expected);
    }
  }
}

TEST_CASE("tensors frozen one by one go on with the same bits from a state saved after any step") {
  for (const auto& [name, floor] : std::vector<std::pair<const char*, const char*>>{
           {"onebit-adam", "0"}, {"onebit-adam", "mean:0.5"}, {"onebit-adam-32", "0"}}) {
    TrainingOptions options = tensorwise(name);
    options.config.variance_floor = floor;
    options.config.shadow = true;
    std::vector<SavedState> saved;
    std::vector<std::vector<float>> parameters;
    Training whole(options, oracle::normals(kParameters, 3));
    const device::Shard shard = device::whole(whole.device, 4);
    for (Index step = 1; step <= kSteps; ++step) {
      whole.step(restless(4, step));
      SavedStateVisitor visitor(shard, saved.emplace_back(), false);
      whole.optimizer->visit_state(visitor);
      parameters.push_back(whole.parameters());
    }
    for (Index from = 1; from < kSteps; ++from) {
      const auto last = static_cast<std::size_t>(from - 1);
      Training resumed(options, parameters[last]);
      SavedStateVisitor visitor(shard, saved[last], true);
      resumed.optimizer->visit_state(visitor);
      resumed.steps = from;
      CAPTURE(name, floor, from);
      const Index to = std::min(kSteps, from + 25);
      for (Index step = from + 1; step <= to; ++step) resumed.step(restless(4, step));
      SavedState state;
      SavedStateVisitor again(shard, state, false);
      resumed.optimizer->visit_state(again);
      const SavedState& expected = saved[static_cast<std::size_t>(to - 1)];
      CHECK(resumed.parameters() == parameters[static_cast<std::size_t>(to - 1)]);
      CHECK(state.buffers == expected.buffers);
      CHECK(state.integers == expected.integers);
      CHECK(state.reals == expected.reals);
    }
  }
}

TEST_CASE("the first freeze begins the compression stage, every tensor's is an event") {
  TrainingOptions options = tensorwise();
  options.config.variance_floor = "mean:0.5";
  Training training(options);
  Index step = 0;
  const StepReport first = run_to_freeze(training, step);
  CHECK(first.phase == Phase::warmup);
  CHECK(kinds(first) == std::vector<std::string>{"floor", "freeze", "tensor-freeze"});
  CHECK(first.events[1].text == "variance of 1 of 4 tensors frozen after " + std::to_string(step) +
                                    " dense updates (freeze auto), 0 coordinates masked");
  CHECK(first.events[2].text ==
        "tensor tensor0 frozen after " + std::to_string(step) + " updates; 1 of 4 tensors are frozen");
  const StepReport second = run_to_freeze(training, step);
  CHECK(second.phase == Phase::compression);
  CHECK(kinds(second) == std::vector<std::string>{"floor", "tensor-freeze"});
  CHECK(contains(second.events[1].text, "2 of 4 tensors are frozen"));
  CHECK(std::isnan(second.stability.corrected));
  CHECK(contains(run_to_freeze(training, step).events.back().text, "3 of 4 tensors are frozen"));
  CHECK(training.optimizer->failed_expectation().empty());
}

TEST_CASE("what is sent becomes less by every tensor that is frozen") {
  // 4 workers; per worker 3/4 of what is gathered or scattered, 6/4 of what is all-reduced. Padding to 32 elements.
  const double dense_bytes[] = {40 * 4, 3 * 4, 29 * 4, 16 * 4};
  const double packed_bytes[] = {64 / 8, 32 / 8, 32 / 8, 32 / 8};
  const auto bytes = [&](std::size_t frozen) {
    double sum = 0;
    for (std::size_t t = 0; t < 4; ++t) {
      // up: signs to the servers, a scale to each of the others; down: the servers' chunks and their scales
      sum += t < frozen ? 2 * (packed_bytes[t] * 3 / 4 + 4 * 3) : dense_bytes[t] * 6 / 4;
    }
    return sum;
  };
  Training training(tensorwise());
  Index step = 0;
  run_to_freeze(training, step);
  for (std::size_t frozen = 1; frozen <= 3; ++frozen) {
    CAPTURE(frozen, step);
    const StepReport report = run_to_freeze(training, step);
    CHECK(netmodel::sent_bytes(report.traffic).value == bytes(frozen));
    CHECK(training.optimizer->state().exchange->plan() == report.traffic);
    std::vector<Index> dense;
    for (const netmodel::Traffic& record : report.traffic) {
      if (record.collective == netmodel::Collective::all_reduce) dense.push_back(record.tensor);
    }
    const std::vector<Index> all = {2, 3, 4};
    CHECK(dense == std::vector<Index>(all.begin() + static_cast<std::ptrdiff_t>(frozen) - 1, all.end()));
  }
}

TEST_CASE("only coordinates of frozen tensors are masked and watched") {
  const std::vector<Index> silent = {5, 60, 80};  // of the first, the third and the last tensor
  Training training(tensorwise());
  Index masked = 0, events = 0;
  std::map<std::string, Index> freezes;
  for (Index step = 1; step <= kSteps; ++step) {
    FloatRows rows = restless(4, step, silent);
    const bool sound = step == kSteps - 1;
    if (sound) rows[2][60] = 1;
    if (step == kSteps) rows[2][80] = 1;
    const StepReport report = training.step(rows);
    freezes.merge(freezes_in(report, step));
    masked = report.masked;
    CHECK(masked == static_cast<Index>(freezes.count("tensor0") + freezes.count("tensor3")));
    for (const Event& event : report.events) {
      if (event.kind != "masked") continue;
      ++events;
      CHECK(sound);
      CHECK(contains(event.text, "worker 2 has a gradient at 1 masked coordinates"));
    }
  }
  CHECK(masked == 2);
  CHECK(events == 1);
  const std::vector<float> momentum = training.optimizer->state().momentum->to_host();
  CHECK(momentum[60] == 0);
  CHECK(momentum[80] > 0);
}

TEST_CASE("the shadow of tensors frozen one by one is the variance with its bias, none frozen") {
  TrainingOptions options = tensorwise();
  options.config.shadow = true;
  Training training(options);
  TrainingOptions dense = options;
  dense.config.freeze.policy = "never";
  Training never(dense);
  for (Index step = 1; step <= kSteps; ++step) {
    training.step(restless(4, step));
    never.step(restless(4, step));
    const StateView state = training.optimizer->state();
    const std::vector<float> shadow = state.shadow.variance->to_host();
    const std::vector<float> expected = never.optimizer->state().variance->to_host();
    CHECK(oracle::distance(shadow, expected) < 1e-6 * oracle::norm(expected));
    CHECK(state.shadow.correction == never.optimizer->state().denominator.correction);
    if (state.shadow.variance != state.variance) CHECK(state.denominator.correction == 1);
  }
}

TEST_CASE("errors are audited across the freezes of tensors") {
  TrainingOptions options = tensorwise();
  options.config.exchange.audit_every = 1;
  Training training(options);
  Index audited = 0;
  for (Index step = 1; step <= kSteps; ++step) {
    training.step(restless(4, step));
    const StateView state = training.optimizer->state();
    if (!state.exchanged) continue;
    ++audited;
    REQUIRE(state.exchange->balance());
    const compress::FeedbackBalance& balance = *state.exchange->balance();
    CHECK(balance.residual < 1e-5);
  }
  CHECK(audited > 60);
}

TEST_CASE("what cannot be frozen by tensors is refused in one line") {
  const auto message = [](const std::function<void(OptimizerConfig&)>& change, const std::string& name) {
    TrainingOptions options = tensorwise(name);
    change(options.config);
    return refusal([&] { Training{options}; });
  };
  const auto nothing = [](OptimizerConfig&) {};
  CHECK(contains(message(nothing, "onebit-lamb"), "1-bit LAMB exchanges all tensors as one vector"));
  CHECK(contains(message(nothing, "onebit-lamb-32"), "freeze.scope tensor"));
  for (const char* name : {"onebit-adam", "onebit-adam-32"}) {
    CHECK(contains(message([](auto& c) { c.semantics = Semantics::deepspeed; }, name), "freezes all tensors at once"));
    CHECK(contains(message([](auto& c) { c.variance_refresh = 7; }, name), "optimizer.variance-refresh 7"));
    CHECK(message(nothing, name) == "accepted");
  }
  const std::string adam = "onebit-adam";
  CHECK(contains(message([](auto& c) { c.exchange.granularity = compress::Granularity::fused; }, adam),
                 "optimizer.granularity fused"));
  CHECK(message([](auto& c) { c.exchange.granularity = compress::Granularity::fused; }, "onebit-adam-32") ==
        "accepted");
  CHECK(contains(message([](auto& c) { c.exchange.error_type = compress::ErrorType::bf16; }, adam), "feedback.dtype"));
  for (const char* codec : {"top-k", "power-sgd"}) {
    CHECK(contains(message([&](auto& c) { c.exchange.up.name = codec; }, adam),
                   "this codec's payloads do not go through servers"));
  }
  const auto remembering = [](auto& c) {
    c.exchange.up.name = "dct";
    c.exchange.pattern = compress::ExchangePattern::server;
  };
  CHECK(contains(message(remembering, adam), "keeps its own state"));
  // The scope has no effect if the policy does not watch the variance.
  for (const char* policy : {"fixed:3", "fraction:0.1", "never"}) {
    CHECK(message([&](auto& c) { c.freeze.policy = policy; }, "onebit-lamb") == "accepted");
  }
}
