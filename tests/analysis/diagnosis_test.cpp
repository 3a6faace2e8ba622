// Runs that were broken on purpose are flagged with the right cause; sound ones are not.

#include "analysis/freeze/diagnosis.hpp"

#include <functional>

#include "sim/run/train.hpp"
#include "tests/catch.hpp"
#include "tests/drop_state.hpp"
#include "tests/sim/log/log_fixture.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using sim::VirtualCluster;

namespace {

sim::RunConfig config(Index freeze = 40) {
  sim::RunConfig result = mlp_config();
  result.optimizer.name = "onebit-adam";
  result.optimizer.beta2 = 0.95;
  result.optimizer.freeze.policy = "fixed:" + std::to_string(freeze);
  result.optimizer.lr = 2e-3;
  result.workers = 8;
  result.steps = 100;
  result.log.workers_every = 10;
  return result;
}

/// Returns the findings for the log of a run that loses the state `lost` after each step; empty: it loses nothing.
std::vector<Finding> findings(const sim::RunConfig& run, const std::string& lost = "") {
  const Folder folder;
  VirtualCluster cluster(run);
  sim::RunControl control;
  control.on_step = [&](const sim::Progress&) {
    if (lost.empty()) return;
    cluster.visit_state([&](const device::Shard& shard, const VirtualCluster::Visit& visit) {
      DropState drop(shard, lost);
      visit(drop);
    });
  };
  const sim::RunIdentity identity{"", "", "", {{"optimizer.beta2", "0.95"}, {"feedback", "auto"}}};
  train(cluster, run, folder / "run.h5", sim::Existing::refuse, identity, control);
  return diagnose(sim::LogReader(folder / "run.h5"));
}

bool has(const std::vector<Finding>& found, Cause cause) {
  return std::ranges::any_of(found, [&](const Finding& finding) { return finding.cause == cause; });
}

}  // namespace

TEST_CASE("nothing is found in a sound run, probed or not") {
  sim::RunConfig run = config();
  CHECK(findings(run).empty());
  run.probe.every = 5;
  CHECK(findings(run).empty());
}

TEST_CASE("workers' errors that are not carried are named") {
  sim::RunConfig run = config();
  for (const Index every : {1, 5}) {
    run.probe.every = every;
    const std::vector<Finding> found = findings(run, "worker_error");
    REQUIRE(found.size() == 1);
    CHECK(found[0].severity == Severity::problem);
    CHECK(found[0].cause == Cause::worker_errors_not_carried);
    CHECK(found[0].text.find("which matches the workers' errors") != std::string::npos);
  }
}

TEST_CASE("a server error that is dropped is named") {
  sim::RunConfig run = config();
  run.probe.every = 5;
  const std::vector<Finding> found = findings(run, "server_error");
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::problem);
  CHECK(found[0].cause == Cause::server_errors_dropped);
}

TEST_CASE("a variance frozen at step 2 is named, with the drift where it was probed") {
  sim::RunConfig run = config(2);
  run.optimizer.beta2 = 0.95;
  const std::vector<Finding> plain = findings(run);
  CHECK(has(plain, Cause::variance_frozen_early) == false);  // 2 of 20 is a tenth
  run.probe.every = 5;
  const std::vector<Finding> found = findings(run);
  REQUIRE(has(found, Cause::variance_frozen_early));
  CHECK(found[0].severity == Severity::problem);
  CHECK(found[0].text.find("after 2 steps") != std::string::npos);
  CHECK(found[0].text.find("by a factor of") != std::string::npos);
}

TEST_CASE(
    "one bit over tiny frozen denominators is blamed on the codec, not on the freeze, and what is advised helps") {
  sim::RunConfig run;
  run.model.name = "quadratic";
  run.model.dimension = 512;
  run.model.spectrum = "power:2";
  run.model.condition = 1e4;
  run.model.noise = 0;
  run.data.name = "none";
  run.workers = 4;
  run.steps = 600;
  run.optimizer.name = "onebit-adam";
  run.optimizer.lr = 1e-3;
  run.optimizer.freeze.policy = "fixed:200";
  run.probe.every = 50;
  const std::vector<Finding> found = findings(run);
  REQUIRE(!found.empty());
  CHECK(found[0].cause == Cause::compressed_steps_explode);
  CHECK(found[0].severity == Severity::problem);
  CHECK(found[0].text.find("delta -") != std::string::npos);
  CHECK_FALSE(has(found, Cause::variance_frozen_early));
  run.optimizer.exchange.up.name = "int8";
  CHECK_FALSE(has(findings(run), Cause::compressed_steps_explode));
}

TEST_CASE("how a run ended is told") {
  sim::RunConfig run = config();
  run.optimizer.lr = 1e30;
  const std::vector<Finding> found = findings(run);
  REQUIRE(has(found, Cause::rate_too_high));  // in the warm-up: neither freeze nor codec
  CHECK(found[0].text.find("before anything was frozen or compressed; the learning rate was 1e+30") !=
        std::string::npos);
  run.optimizer.lr = 2e-3;
  CHECK(findings(run).empty());  // the advice helps
}

namespace {

/// Parameters of a log written by hand. It has 200 steps; the loss is the number of the step up to step 100, and 300
/// higher after that. 7 of 16 coordinates are masked: an update of norm 3 has a root mean square of one learning rate
/// over the others.
struct Written {
  Index freeze = 40;
  double update_after = 1;  ///< norm of updates after the freeze; before, it is 1
  double codec_error = 0.5;
  std::string feedback = "none";
  std::vector<sim::ProbeRow> probes = {};
  std::string optimizer = "onebit-adam";
  Index masked = 7;
  double error_norm = 1;               ///< norm of the workers' errors
  std::vector<double> evaluated = {};  ///< losses of evaluations at steps 0, 1, ...
  std::string steps = "0";             ///< the option
  std::function<double(Index step)> loss = [](Index step) { return step <= 100 ? static_cast<double>(step) : 300.0; };
};

std::vector<Finding> findings_of(const Written& what) {
  const Folder folder;
  sim::LogHeader header = sample_header();
  header.config = {
      {"optimizer", what.optimizer}, {"optimizer.beta2", "0.999"}, {"feedback", what.feedback}, {"steps", what.steps}};
  header.probed = !what.probes.empty();
  {
    sim::LogWriter log(folder / "run.h5", header, false);
    for (Index step = 1; step <= 200; ++step) {
      sim::StepRow row;
      row.step = step;
      row.lr = 1;
      row.loss = what.loss(step);
      row.masked = what.masked;
      row.update_norm = step > what.freeze ? what.update_after : 1;
      if (step > what.freeze) row.worker_codec_error = what.codec_error;
      row.worker_error_norm = what.error_norm;
      log.append(row);
    }
    for (std::size_t i = 0; i < what.evaluated.size(); ++i) {
      log.append(sim::EvaluationRow{.step = static_cast<Index>(i), .samples = 1, .loss = what.evaluated[i]});
    }
    for (const sim::ProbeRow& probe : what.probes) log.append(probe);
    log.append(sim::Event{what.freeze, "freeze", "variance frozen"});
    log.close(sim::RunStatus::finished);
  }
  return diagnose(sim::LogReader(folder / "run.h5"));
}

const Finding& finding(const std::vector<Finding>& found, Cause cause) {
  const auto at = std::ranges::find(found, cause, &Finding::cause);
  REQUIRE(at != found.end());
  return *at;
}

}  // namespace

TEST_CASE("a freeze after fewer than a tenth of the variance's memory is early, one step later it is not") {
  const Finding early = finding(findings_of({.freeze = 99}), Cause::variance_frozen_early);
  CHECK(early.severity == Severity::warning);
  CHECK(early.text.find("it averages over about 1000 steps") != std::string::npos);
  CHECK_FALSE(has(findings_of({.freeze = 100}), Cause::variance_frozen_early));
  // What counts is how long the run was to be, not when it diverged.
  const auto hint = [](const std::string& steps) {
    return finding(findings_of({.freeze = 50, .steps = steps}), Cause::variance_frozen_early).hint;
  };
  CHECK(hint("99").starts_with("train longer"));
  CHECK(hint("100").starts_with("freeze later"));
  CHECK(hint("0").starts_with("freeze later"));  // 200 steps in the log
}

TEST_CASE("a loss that rises at the freeze is told with the means of a tenth of the run") {
  const Finding rise = finding(findings_of({.freeze = 100}), Cause::loss_rose_at_freeze);
  CHECK(rise.text.find("mean 90.5 over the 20 steps before, 300 after") != std::string::npos);
  CHECK_FALSE(has(findings_of({.freeze = 150}), Cause::loss_rose_at_freeze));
  CHECK(has(findings_of({.freeze = 1}), Cause::loss_rose_at_freeze));  // 1 before, 11.5 after
}

TEST_CASE("steps explode from a hundred times the longest before the freeze on") {
  const Finding steps = finding(findings_of({.freeze = 1, .update_after = 101}), Cause::compressed_steps_explode);
  CHECK(steps.severity == Severity::problem);  // the loss rose
  CHECK_FALSE(has(findings_of({.freeze = 1, .update_after = 99}), Cause::compressed_steps_explode));
}

TEST_CASE("steps that explode are told in learning rates over the coordinates that move, with delta and the losses") {
  const Finding both =
      finding(findings_of({.freeze = 50, .update_after = 600, .codec_error = 1.5}), Cause::compressed_steps_explode);
  CHECK(both.text ==
        "the compressed momentum is divided by small frozen denominators: after the freeze at step 50, a step moves "
        "coordinates by up to 200 times the learning rate (root mean square, at step 51); before it, at most 0.333; "
        "the codec's "
        "error is longer than its vector (delta -1.25: the elements of its vectors differ widely in size); the mean "
        "training loss goes from 40.5 to 300");
  CHECK(both.hint.find("--freeze-at 50 --arm floor:optimizer.variance-floor=mean:0.01") != std::string::npos);
  // The momentum is not compressed, so no codec is blamed. The loss falls, so this is a warning.
  const Finding alone = finding(findings_of({.freeze = 50,
                                             .update_after = 600,
                                             .codec_error = 0,
                                             .optimizer = "onebit-adam-32",
                                             .loss = [](Index step) { return 1000.0 - static_cast<double>(step); }}),
                                Cause::frozen_steps_explode);
  CHECK(alone.severity == Severity::warning);
  CHECK(alone.text ==
        "momenta are divided by small frozen denominators: after the freeze at step 50, a step moves coordinates by up "
        "to "
        "200 times the learning rate (root mean square, at step 51); before it, at most 0.333");
  CHECK(alone.hint == "a floor on the variance (optimizer.variance-floor) or a larger optimizer.eps bounds the steps");
}

TEST_CASE("a loss has risen from a tenth of what it was on, whatever its sign") {
  const auto rises = [](double before, double after) {
    return has(findings_of({.freeze = 100, .loss = [=](Index step) { return step <= 100 ? before : after; }}),
               Cause::loss_rose_at_freeze);
  };
  CHECK(rises(10, 11.01));
  CHECK_FALSE(rises(10, 10.99));
  CHECK(rises(-10, -8.99));
  CHECK_FALSE(rises(-10, -9.01));
}

TEST_CASE("a run that ended above the loss of its start is a problem, one that ended at it is not") {
  const Finding rose = finding(findings_of({.evaluated = {2, 1, 2.5}}), Cause::ended_above_start);
  CHECK(rose.severity == Severity::problem);
  CHECK(rose.text == "the evaluated loss ended at 2.5, above the 2 of step 0");
  CHECK_FALSE(has(findings_of({.evaluated = {2, 3, 2.01}}), Cause::ended_above_start));  // 1% may be noise
  CHECK_FALSE(has(findings_of({}), Cause::ended_above_start));
}

TEST_CASE("more than half of the coordinates masked is too many") {
  CHECK(finding(findings_of({.masked = 9}), Cause::many_masked).text.starts_with("56.2% of the coordinates are"));
  CHECK_FALSE(has(findings_of({.masked = 8}), Cause::many_masked));
}

TEST_CASE("a compressing run without feedback says so, one with errors that are carried does not") {
  CHECK(has(findings_of({}), Cause::no_feedback));
  CHECK_FALSE(has(findings_of({.codec_error = 0}), Cause::no_feedback));
  CHECK_FALSE(has(findings_of({.feedback = "auto"}), Cause::no_feedback));
}

TEST_CASE("a run that diverged while it compressed is not said to have had too high a rate, nor bad data") {
  struct Case {
    optim::Phase phase = optim::Phase::warmup;
    double codec_error = std::nan("");  // measured at the rows of /workers only
    bool compresses = false;
    std::string codec = "onebit";
  };
  for (const Case& each : {Case{}, Case{optim::Phase::compression, std::nan(""), true},
                           Case{optim::Phase::compression, std::nan(""), false, "fp32"},
                           Case{optim::Phase::compression, 0, false}, Case{optim::Phase::compression, 0.5, true}}) {
    const Folder folder;
    sim::LogHeader header = sample_header();
    header.config.emplace_back("codec", each.codec);
    {
      sim::LogWriter log(folder / "run.h5", header, false);
      for (Index step = 1; step <= 2; ++step) {
        sim::StepRow row;
        row.step = step;
        row.lr = 0.5;
        row.loss = 7;
        row.phase = static_cast<Index>(each.phase);
        row.worker_codec_error = each.codec_error;
        log.append(row);
      }
      log.append(sim::Event{2, "diverged", "the loss is not finite"});
      log.close(sim::RunStatus::diverged);
    }
    const std::vector<Finding> found = diagnose(sim::LogReader(folder / "run.h5"));
    CHECK(has(found, Cause::diverged) == each.compresses);
    CHECK(has(found, Cause::rate_too_high) == !each.compresses);
  }
}

TEST_CASE("a run that never compressed is told from one that failed otherwise, in older logs too") {
  const auto cause_of = [](const std::string& reason) {
    const Folder folder;
    {
      sim::LogWriter log(folder / "run.h5", sample_header(), false);
      log.append(sim::Event{2, "failure", reason});
      log.close(sim::RunStatus::failed);
    }
    return diagnose(sim::LogReader(folder / "run.h5")).at(0).cause;
  };
  CHECK(cause_of("the run ended before its compression stage (freeze auto)") == Cause::never_compressed);
  CHECK(cause_of("the run was asked to compress but never did (freeze auto)") == Cause::never_compressed);
  CHECK(cause_of("the disk is full") == Cause::not_finished);
}

TEST_CASE("errors that are always zero show without probes, from one exchange on in which something was lost") {
  const auto dropped = [](double codec_error, double error_norm) {
    return has(findings_of({.freeze = 199, .codec_error = codec_error, .feedback = "auto", .error_norm = error_norm}),
               Cause::worker_errors_not_carried);
  };
  CHECK(dropped(1.1e-6, 0));
  CHECK_FALSE(dropped(0.9e-6, 0));  // rounding
  CHECK_FALSE(dropped(1.1e-6, 1e-9));
}

TEST_CASE("a first loss that is not finite is told from a rate that is too high") {
  for (const bool finite : {false, true}) {
    const Folder folder;
    {
      sim::LogWriter log(folder / "run.h5", sample_header(), false);
      for (Index step = 1; step <= 2; ++step) {
        sim::StepRow row;
        row.step = step;
        row.lr = 0.5;
        row.loss = finite ? 7.0 * static_cast<double>(step) : std::nan("");
        log.append(row);
      }
      log.append(sim::Event{2, "diverged", "the loss is not finite"});
      log.close(sim::RunStatus::diverged);
    }
    const std::vector<Finding> found = diagnose(sim::LogReader(folder / "run.h5"));
    CHECK(has(found, Cause::bad_data) == !finite);
    CHECK(has(found, Cause::rate_too_high) == finite);
    if (finite)
      CHECK(found[0].text.find("the learning rate was 0.5, the loss 7 at first and 14 at step 2") != std::string::npos);
  }
}

TEST_CASE("errors are lost from a ten thousandth of what entered the exchange on") {
  const auto lost_by = [](double residual) {
    sim::ProbeRow probe{.step = 200};
    probe.feedback_size = 1;
    probe.feedback_residual = probe.residual_without_workers = probe.residual_without_servers = residual;
    return findings_of({.feedback = "auto", .probes = {probe}});
  };
  const Finding lost = finding(lost_by(1.01e-4), Cause::errors_lost);
  CHECK(lost.text.find("differs by 0.0101% from the input of the exchange at step 200") != std::string::npos);
  CHECK_FALSE(has(lost_by(0.99e-4), Cause::errors_lost));
}

TEST_CASE("lost errors are told at the probe that misses the largest share, with whose they are") {
  const auto lost_with = [](double without_workers, double without_servers) {
    std::vector<sim::ProbeRow> probes;
    for (const auto& [step, size, residual] :
         {std::tuple{100, 100.0, 2.0}, std::tuple{120, 10.0, 1.0}, std::tuple{140, 100.0, 3.0}}) {
      probes.push_back({.step = step});
      probes.back().feedback_size = size;
      probes.back().feedback_residual = residual;
      probes.back().residual_without_workers = without_workers * residual;
      probes.back().residual_without_servers = without_servers * residual;
    }
    return findings_of({.feedback = "auto", .probes = probes}).front();
  };
  CHECK(lost_with(1, 1).cause == Cause::errors_lost);
  CHECK(lost_with(1, 1).text.ends_with("differs by 10% from the input of the exchange at step 120"));
  CHECK(lost_with(0.049, 1).cause == Cause::worker_errors_not_carried);
  CHECK(lost_with(0.051, 1).cause == Cause::errors_lost);
  CHECK(lost_with(1, 0.049).cause == Cause::server_errors_dropped);
  CHECK(lost_with(1, 0.051).cause == Cause::errors_lost);
}

TEST_CASE("the furthest drift after the freeze is told, from a factor of two on") {
  const auto drifted_by = [](const std::vector<double>& drifts) {  // at steps 100, 120, ...
    Written what{.freeze = 110};
    for (std::size_t i = 0; i < drifts.size(); ++i) {
      what.probes.push_back({.step = 100 + 20 * static_cast<Index>(i)});
      what.probes.back().rate_drift = drifts[i];
    }
    return findings_of(what);
  };
  const Finding early = finding(drifted_by({5, 0.5, 1, 0.8}), Cause::variance_frozen_early);
  CHECK(early.severity == Severity::problem);
  CHECK(early.text ==
        "the variance was frozen early, after 110 steps; by step 140, an unfrozen variance would give rates "
        "that differ from the frozen ones by a factor of 2.72 (geometric mean)");
  CHECK(has(drifted_by({5, 0.7}), Cause::variance_frozen_early));
  CHECK_FALSE(has(drifted_by({5, 0.68}), Cause::variance_frozen_early));
}
