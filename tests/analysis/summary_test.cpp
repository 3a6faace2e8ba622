// The summary of a log of six steps, computed by hand.

#include "analysis/log/summary.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/netmodel/models.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using sim::RunStatus;

namespace {

sim::LogHeader header() {
  sim::LogHeader result = sample_header();
  result.workers = 4;
  result.seed = 7;
  result.tensors = {{"w", 60}, {"b", 20}};
  return result;
}

/// 80 parameters, 4 workers: a dense step sends 2 * 3/4 * 320 = 480 bytes, a compressed one 3/4 * 20 + 3 * 5 = 30.
netmodel::TrafficList traffic(bool compressed) {
  using namespace netmodel;
  if (!compressed) return {{Collective::all_reduce, Direction::both, WireType::fp32, 4, 6, 320, -1, false}};
  return {{Collective::all_to_all, Direction::up, WireType::bits, 4, 3, 20, -1, false},
          {Collective::all_gather, Direction::down, WireType::bits, 4, 3, 5, -1, false}};
}

void write_log(const std::string& path, RunStatus status) {
  sim::LogWriter log(path, header(), false);
  for (Index step = 1; step <= 6; ++step) {
    sim::StepRow row;
    row.step = step;
    row.masked = step > 2 ? 3 : 0;
    row.wall_seconds = 0.25;
    row.codec_seconds = 0.125;
    row.phase = static_cast<Index>(step > 2 ? optim::Phase::compression : optim::Phase::warmup);
    log.append(row);
    log.append(step, traffic(step > 2));
  }
  log.append(sim::Event{2, "freeze", "variance frozen"});
  log.append(sim::Event{4, "masked", "a gradient came"});
  if (status != RunStatus::finished) log.append(sim::Event{6, "stop", "stopped by a signal"});
  log.append(sim::EvaluationRow{0, 0, 5, 0.1, 0});
  log.append(sim::EvaluationRow{3, 30, 2, 0.6, 990});
  log.append(sim::EvaluationRow{6, 60, 3, 0.5, 1080});
  log.close(status);
}

/// A gigabyte a second, a millisecond a step.
netmodel::Cluster cluster() {
  using namespace netmodel;
  Cluster cluster = tests::round_cluster();  // 1 GB/s, 1 ms per step
  cluster.all_reduce = Selection::ring;
  cluster.pairwise_all_to_all = true;
  return cluster;
}

}  // namespace

TEST_CASE("summary: the final figures of a run") {
  const Folder folder;
  write_log(folder / "run.h5", RunStatus::finished);
  const Summary summary = summarize(sim::LogReader(folder / "run.h5"), {});
  CHECK(summary.path == folder / "run.h5");
  CHECK(summary.status == RunStatus::finished);
  CHECK(summary.reason.empty());
  CHECK(summary.seed == 7);
  CHECK(summary.workers == 4);
  CHECK(summary.parameters == 80);
  CHECK(summary.steps == 6);
  CHECK(summary.freeze_step == 2);
  CHECK(summary.masked == 3);
  CHECK(summary.final_loss == 3);
  CHECK(summary.best_loss == 2);
  CHECK(summary.accuracy == 0.5);
  CHECK(summary.wall_seconds == 1.5);
  CHECK(summary.codec_seconds == 0.125);
  CHECK(summary.communication.empty());
}

TEST_CASE("summary: bytes by stage and their ratio to dense") {
  const Folder folder;
  write_log(folder / "run.h5", RunStatus::finished);
  const Summary summary = summarize(sim::LogReader(folder / "run.h5"), {});
  CHECK(summary.dense_step_bytes == 480);
  CHECK(summary.compressed_step_bytes == 30);
  CHECK(summary.bytes == 2 * 480 + 4 * 30);
  CHECK(summary.ratio_fp32 == Approx(6 * 480.0 / 1080));
  CHECK(summary.ratio_fp16 == Approx(6 * 240.0 / 1080));
}

TEST_CASE("summary: communication time by stage") {
  const Folder folder;
  write_log(folder / "run.h5", RunStatus::finished);
  const std::vector<netmodel::Cluster> clusters = {cluster()};
  const Summary summary = summarize(sim::LogReader(folder / "run.h5"), clusters);
  REQUIRE(summary.communication.size() == 1);
  const CommunicationTime& time = summary.communication[0];
  CHECK(time.cluster == "round");
  // As in timeline_test.cpp: rings with NCCL's protocol LL, whose steps wait for half of what exceeds 14 us, at half
  // the rate; the packed vectors go up with Simple.
  const double step = 2.7e-6 + (1e-3 - 14e-6) / 2, dense = 6.6e-6 + 6 * step + 960e-9;
  const double packed = 8.4e-6 + 3e-3 + 15e-9 + 6.6e-6 + 3 * step + 30e-9;
  CHECK(time.dense_seconds == Approx(dense).epsilon(1e-12));
  CHECK(time.compressed_seconds == Approx(packed).epsilon(1e-12));
  REQUIRE(time.stages.size() == 2);
  CHECK((time.stages[0].name == "warmup" && time.stages[0].steps == 2));
  CHECK((time.stages[1].name == "compression" && time.stages[1].steps == 4));
  CHECK(time.stages[0].seconds == time.dense_seconds);
  CHECK(time.stages[1].seconds == time.compressed_seconds);
  CHECK(time.mean_seconds == Approx((2 * dense + 4 * packed) / 6).epsilon(1e-12));
}

TEST_CASE("summary: a run that did not finish has a reason") {
  const Folder folder;
  write_log(folder / "run.h5", RunStatus::stopped);
  const Summary summary = summarize(sim::LogReader(folder / "run.h5"), {});
  CHECK(summary.status == RunStatus::stopped);
  CHECK(summary.reason == "stopped by a signal");
  CHECK(summary.final_loss == 3);
}

TEST_CASE("summary: a run that diverged has no final loss") {
  const Folder folder;
  write_log(folder / "run.h5", RunStatus::diverged);
  const Summary summary = summarize(sim::LogReader(folder / "run.h5"), {});
  CHECK(std::isnan(summary.final_loss));
  CHECK(std::isnan(summary.accuracy));
  CHECK(summary.best_loss == 2);
}

TEST_CASE("summary: a log without rows") {
  const Folder folder;
  { sim::LogWriter(folder / "run.h5", header(), false).close(RunStatus::failed); }
  const std::vector<netmodel::Cluster> clusters = {cluster()};
  const Summary summary = summarize(sim::LogReader(folder / "run.h5"), clusters);
  CHECK(summary.steps == 0);
  CHECK(summary.bytes == 0);
  CHECK(summary.freeze_step == 0);
  CHECK(std::isnan(summary.final_loss));
  CHECK(std::isnan(summary.ratio_fp32));
  CHECK(std::isnan(summary.compressed_step_bytes));
  REQUIRE(summary.communication.size() == 1);
  CHECK(std::isnan(summary.communication[0].mean_seconds));
}
