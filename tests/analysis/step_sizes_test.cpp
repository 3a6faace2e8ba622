// Step sizes of one bit, and the codec's effect after the freeze, in logs written by hand.

#include "analysis/freeze/step_sizes.hpp"

#include <cmath>

#include "analysis/log/loss_window.hpp"
#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// Rows of /tensors at steps 1, 10 and 20; the momentum of w has a root mean square of 3, that of b of 2.
void write_log(const std::string& path, const std::string& granularity, double least) {
  sim::LogHeader header = sample_header();
  header.tensors = {{"w", 4, 2}, {"b", 9}};
  header.config = {{"optimizer.granularity", granularity}};
  sim::LogWriter log(path, header, false);
  for (Index step = 1; step <= 20; ++step) {
    sim::StepRow row;
    row.step = step;
    row.loss = static_cast<double>(step);
    row.momentum_norm = 8;
    if (step % 5 == 0) {
      row.worker_codec_error = 0.5;
      row.server_codec_error = 1.25;
      row.worker_error_norm = static_cast<double>(step);
    }
    log.append(row);
    if (step != 1 && step % 10 != 0) continue;
    sim::TensorRow tensors{.step = step};
    for (auto* column : {&tensors.variance_l1, &tensors.variance_l2, &tensors.trust_ratio, &tensors.frozen_coefficient,
                         &tensors.coefficient_factor, &tensors.scaling_coefficient})
      *column = {0, 0};
    tensors.momentum_l2 = {6, 6};
    tensors.least_denominator = {least, 0.5};
    tensors.low_denominator = {1.5, 1};
    tensors.median_denominator = {6, 8};
    log.append(tensors);
  }
  log.append(sim::Event{12, "freeze", "variance frozen"});
  log.close(sim::RunStatus::finished);
}

}  // namespace

TEST_CASE("steps of one bit are a tensor's root mean square over its denominators") {
  const Folder folder;
  write_log(folder / "run.h5", "tensor", 0.25);
  const StepSizes sizes = view_step_sizes(sim::LogReader(folder / "run.h5"));
  CHECK(sizes.steps == std::vector<Index>{1, 10, 20});
  CHECK(sizes.freeze_row == 1);
  REQUIRE(sizes.tensors.size() == 2);
  CHECK(sizes.tensors[0].name == "w");
  CHECK(sizes.tensors[0].size == 4);
  CHECK(sizes.tensors[0].longest[1] == 12);
  CHECK(sizes.tensors[0].high[1] == 2);
  CHECK(sizes.tensors[0].typical[1] == 0.5);
  CHECK(sizes.tensors[1].longest[1] == 4);
  CHECK(sizes.tensors[1].high[1] == 2);
  CHECK(sizes.tensors[1].typical[1] == 0.25);
  CHECK(sizes.longest == std::vector<double>{12, 12, 12});
}

TEST_CASE("a fused vector has one scale") {
  const Folder folder;
  write_log(folder / "run.h5", "fused", 0.25);
  const StepSizes sizes = view_step_sizes(sim::LogReader(folder / "run.h5"));
  CHECK(sizes.tensors[0].longest[0] == Approx(4 * std::sqrt(72.0 / 13)).epsilon(1e-12));
  CHECK(sizes.tensors[1].longest[0] == Approx(2 * std::sqrt(72.0 / 13)).epsilon(1e-12));
}

TEST_CASE("tensors whose variance is 0 everywhere have no steps, and a log may have none at all") {
  const Folder folder;
  write_log(folder / "some.h5", "tensor", sim::not_applicable);
  const StepSizes sizes = view_step_sizes(sim::LogReader(folder / "some.h5"));
  CHECK(std::isnan(sizes.tensors[0].longest[0]));
  CHECK(sizes.longest[0] == 4);
  sim::LogHeader header = sample_header();
  header.per_tensor = false;
  {
    sim::LogWriter log(folder / "none.h5", header, false);
    log.close(sim::RunStatus::finished);
  }
  CHECK_THROWS_WITH(view_step_sizes(sim::LogReader(folder / "none.h5")), Contains("no rows of /tensors"));
}

TEST_CASE("after the freeze: delta of both codecs, errors over the momentum, the rise of the loss") {
  const Folder folder;
  write_log(folder / "run.h5", "tensor", 1);
  const CompressionSeries series = view_compression(sim::LogReader(folder / "run.h5"));
  CHECK(series.steps == std::vector<Index>{15, 20});
  CHECK(series.worker_delta == std::vector<double>{0.75, 0.75});
  CHECK(series.server_delta == std::vector<double>{-0.5625, -0.5625});
  CHECK(series.error_share == std::vector<double>{1.875, 2.5});
  CHECK(series.loss_before == 7.5);  // steps 3 to 12
  CHECK(series.loss_after == 15.5);  // steps 11 to 20
}

TEST_CASE("losses are compared over a tenth of the run, ten steps at least") {
  std::vector<sim::StepRow> rows(300);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].step = static_cast<Index>(i) + 1;
    rows[i].loss = static_cast<double>(i) + 1;
  }
  rows[99].loss = sim::not_applicable;  // step 100
  const LossChange change = loss_change(rows, 100);
  CHECK(change.window == 30);
  CHECK(change.before == 85);  // steps 71 to 99
  CHECK(change.after == 115.5);
  CHECK(change.at_end == 285.5);
}
