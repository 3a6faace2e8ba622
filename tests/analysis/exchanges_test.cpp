#include "analysis/log/exchanges.hpp"

#include "device/base/error.hpp"
#include "optim/stages.hpp"
#include "tests/analysis/runs.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using netmodel::TrafficList;
using optim::Phase;

namespace {

struct WrittenStep {
  Index step;
  TrafficList exchanges = {};
  std::optional<Phase> phase = {};  ///< phase in the step's row; not set if it has no row
};

std::vector<StepRange> written(const std::vector<WrittenStep>& steps, const std::string& optimizer = "onebit-adam",
                               Index freeze = 0) {
  const Folder folder;
  {
    sim::LogWriter log(folder / "run.h5", run_header({{"optimizer", optimizer}}, 1), false);
    for (const WrittenStep& step : steps) {
      log.append(step.step, step.exchanges);
      if (!step.phase) continue;
      sim::StepRow row = sample_step(step.step);
      row.phase = static_cast<Index>(*step.phase);
      log.append(row);
    }
    if (freeze > 0) log.append(sim::Event{freeze, "freeze", "variance frozen"});
    log.close(sim::RunStatus::finished);
  }
  return exchanges_of(sim::LogReader(folder / "run.h5"));
}

/// Returns a text such as "1-2 warmup dense, 3-4 compression compressed".
std::string text_of(const std::vector<StepRange>& ranges) {
  std::string text;
  for (const StepRange& range : ranges) {
    text += (text.empty() ? "" : ", ") + std::to_string(range.first) + "-" + std::to_string(range.last) + " " +
            std::string(optim::name(range.phase)) + (range.compressed ? " compressed" : " dense") +
            (range.each.empty() ? " silent" : "");
  }
  return text;
}

const TrafficList dense = dense_exchange(), packed = compressed_exchange();

}  // namespace

TEST_CASE("exchanges: steps in a row that exchange the same in one stage are one range") {
  const auto ranges = written({{1, dense, Phase::warmup},
                               {2, dense, Phase::warmup},
                               {3, packed, Phase::compression},
                               {4, packed, Phase::compression},
                               {5, {}, Phase::compression},
                               {6, packed, Phase::compression},
                               {7, dense, Phase::compression}});
  CHECK(text_of(ranges) ==
        "1-2 warmup dense, 3-4 compression compressed, 5-5 compression compressed silent, 6-6 compression compressed, "
        "7-7 compression compressed");
  CHECK((ranges[0].each == dense && ranges[1].each == packed && ranges[4].each == dense));
  CHECK(ranges[0].steps() == 2);
  CHECK(written({}).empty());
}

TEST_CASE("exchanges: the stage is what the optimizer reported, whatever crossed the wire") {
  // PowerSGD's factors are float32 all-reduces; CADA uploads uncompressed vectors by all-to-all.
  CHECK(text_of(written({{1, dense, Phase::compression}}, "ef-momentum-sgd")) == "1-1 compression compressed");
  CHECK(text_of(written({{1, packed, Phase::dense}}, "cada1")) == "1-1 dense dense");
  CHECK(text_of(written({{1, {}, Phase::local}, {2, dense, Phase::local}}, "local-sgd")) ==
        "1-1 local dense silent, 2-2 local dense");
  CHECK(text_of(written({{1, {}, Phase::local}, {2, {}, Phase::local}}, "local-sgd")) == "1-2 local dense silent");
  CHECK(text_of(written({{1, {}, Phase::local}, {2, packed, Phase::local}}, "zeroone-adam")) ==
        "1-1 local compressed silent, 2-2 local compressed");
  CHECK(text_of(written({{1, dense, Phase::warmup}, {2, dense, Phase::compression}}, "onebit-adam-32")) ==
        "1-1 warmup dense, 2-2 compression dense");
}

TEST_CASE("exchanges: a step without a row has the phase of those that exchanged the same") {
  // 0/1 Adam: full and 1-bit rounds take turns.
  const auto ranges = written({{1, dense, Phase::warmup},
                               {2, packed},
                               {3, dense},
                               {4, packed, Phase::compression},
                               {5, packed},
                               {6, dense},
                               {7, packed},
                               {8, packed, Phase::compression}},
                              "zeroone-adam");
  CHECK(text_of(ranges) ==
        "1-1 warmup dense, 2-2 compression compressed, 3-3 warmup dense, 4-5 compression compressed, 6-6 warmup dense, "
        "7-8 compression compressed");
}

TEST_CASE("exchanges: between rows that exchanged the same in two phases the freeze parts them") {
  const std::vector<WrittenStep> steps = {{1, dense, Phase::warmup},     {2, dense}, {3, dense}, {4, dense}, {5, dense},
                                          {6, dense, Phase::compression}};
  CHECK(text_of(written(steps, "onebit-adam-32", 3)) == "1-3 warmup dense, 4-6 compression dense");
  const std::vector<WrittenStep> dry = {
      {1, dense, Phase::dry_run}, {2, dense}, {3, dense}, {4, dense, Phase::compression}, {5, dense}};
  CHECK(text_of(written(dry, "onebit-adam-32", 2)) == "1-1 dry_run dense, 2-2 warmup dense, 3-5 compression dense");
}

TEST_CASE("exchanges: exchanges that differ with the data have the phase of the rows around them") {
  std::vector<WrittenStep> steps;
  for (Index step = 1; step <= 7; ++step) {
    TrafficList each = packed;
    each[0].payload_bytes += step;
    steps.push_back({step, each, step % 3 == 1 ? std::optional(Phase::compression) : std::nullopt});
  }
  const auto ranges = written(steps, "ef-sgd");
  REQUIRE(ranges.size() == 7);
  for (const StepRange& range : ranges) CHECK(range.compressed);
}

TEST_CASE("exchanges: a step's own row says its phase, though of many kinds of exchanges the first are forgotten") {
  std::vector<WrittenStep> steps = {{1, dense, Phase::warmup}};
  for (Index step = 2; step <= 80; ++step) {
    TrafficList each = packed;
    each[0].payload_bytes += step;
    steps.push_back({step, each, step == 50 ? std::nullopt : std::optional(Phase::compression)});
  }
  steps.push_back({81, dense, Phase::compression});
  CHECK(written(steps).front().phase == Phase::warmup);
}

TEST_CASE("exchanges: what a log cannot hold is damage") {
  CHECK_THROWS_AS(written({{2, dense}, {1, dense}}), IoError);
  CHECK_THROWS_WITH(written({{2, dense}, {1, dense}}), Contains("run.h5: /traffic"));
  CHECK_THROWS_AS(written({{-1, dense}}), IoError);
  CHECK_THROWS_AS(written({{std::numeric_limits<Index>::max(), dense}}), IoError);
  CHECK_THROWS_WITH(written({{1, dense, static_cast<Phase>(9)}}),
                    Contains("unknown phase") && Contains("/steps/phase"));
}

TEST_CASE("exchanges: every optimizer says whether its steps are compressed") {
  for (const optim::OptimizerEntry& entry : optim::optimizers()) {
    CAPTURE(entry.name);
    CHECK_FALSE(optim::compresses(entry.name, Phase::dense));
    CHECK_FALSE(optim::compresses(entry.name, Phase::warmup));
    CHECK_FALSE(optim::compresses(entry.name, Phase::dry_run));
    CHECK(optim::compresses(entry.name, Phase::compression) == (entry.codecs != optim::Codecs::none));
    CHECK(optim::compresses(entry.name, Phase::local) == (entry.codecs != optim::Codecs::none));
  }
}

TEST_CASE("exchanges: momenta after a freeze and what workers average after local steps are no gradients") {
  const auto gradients = [](const std::string& optimizer, Phase phase) {
    return written({{1, dense, phase}}, optimizer).front().gradients;
  };
  for (const std::string optimizer : {"adam", "sgd", "cada1"}) CHECK(gradients(optimizer, Phase::dense));
  for (const std::string optimizer : {"onebit-adam-32", "onebit-lamb-32"}) {
    CHECK(gradients(optimizer, Phase::warmup));
    CHECK_FALSE(gradients(optimizer, Phase::compression));
  }
  CHECK(gradients("zeroone-adam-32", Phase::compression));
  for (const std::string optimizer : {"local-sgd", "local-adam", "diloco"}) {
    CHECK_FALSE(gradients(optimizer, Phase::local));
  }
}
