#include <algorithm>
#include <iostream>
#include <map>
#include <thread>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/output_name.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/deepspeed_batch.hpp"
#include "experiments/output/analysis/deepspeed_output.hpp"
#include "experiments/output/screen.hpp"
#include "experiments/study/arms.hpp"
#include "experiments/sweep/folder.hpp"
#include "experiments/sweep/grid_output.hpp"
#include "experiments/sweep/output.hpp"
#include "experiments/sweep/session.hpp"

namespace onebit::experiments {
namespace {

void check(const SweepOptions& options) {
  refuse_arguments(options);
}

/// Returns the execution's settings: one thread per run unless --threads sets a different number.
Settings execution_with_threads(const SweepOptions& options) {
  Settings execution = {{"threads", "1"}};
  for (auto& setting : execution_of(options.run)) execution.push_back(std::move(setting));
  return execution;
}

/// Returns the number of simultaneous runs that gives every core one thread.
Index default_jobs(const sim::RunConfig& config) {
  const Index cores = std::max<Index>(1, std::thread::hardware_concurrency());
  return config.threads > 0 ? std::max<Index>(1, cores / config.threads) : 1;
}

SweepSetup setup_of(const SweepOptions& options) {
  SweepSetup setup;
  setup.folder = options.out;
  setup.definitions = definitions_in(options.out, definition_of(options), options.extend, false);
  setup.execution = execution_with_threads(options);
  setup.shard = parse_shard(options.shard);
  sim::RunConfig execution;
  for (const auto& [name, value] : setup.execution) run_option(name).set(execution, value);
  setup.limits = {.jobs = options.jobs > 0 ? options.jobs : default_jobs(execution),
                  .memory = execution.memory,
                  .time_limit = options.time_limit,
                  .retries = options.retries};
  setup.retry_failed = options.retry_failed;
  setup.progress = options.progress;
  return setup;
}

/// Returns the points that this command asks for, without the folder's other points.
std::vector<Point> points_asked(const SweepOptions& options) {
  return points_of({definition_of(options)}, {}, [](const std::string&) { return std::optional<double>(); });
}

/// Returns a description of a point without the value of one option. Points with equal descriptions differ only in that
/// option.
std::string text_without(const Point& point, const std::string& key) {
  std::string text = key + " " + point.arm + " " + std::to_string(point.config.seed);
  for (const auto& [name, value] : point.varied) text += name == key ? "" : "\n" + name + " " + value;
  return text;
}

/// Returns the run of each point, with the options that its arm set and those that distinguish it from other points.
std::vector<GivenRun> runs_of(const SweepOptions& options, const std::vector<Point>& points) {
  std::map<std::string, std::vector<std::string>> own_of_arm;
  const std::vector<Arm> arms = options.arms.optimizers.empty() && options.arms.arms.empty()
                                    ? std::vector<Arm>()
                                    : arms_of(options.run, options.arms);
  const std::vector<GivenRun> runs_of_arms = given_runs(options.run, arms);
  for (std::size_t a = 0; a < arms.size(); ++a) own_of_arm[arms[a].name] = runs_of_arms[a].own;
  std::map<std::string, Index> alike;
  for (const Point& point : points) {
    for (const auto& [key, value] : point.varied) ++alike[text_without(point, key)];
  }
  std::vector<GivenRun> runs;
  for (const Point& point : points) {
    runs.push_back({point.config, own_of_arm[point.arm]});
    for (const auto& [key, value] : point.varied) {
      if (alike[text_without(point, key)] > 1) runs.back().own.push_back(key);
    }
  }
  return runs;
}

void warn_of_idle_axes(const SweepOptions& options, const std::vector<Point>& points) {
  std::vector<std::string> common = given_options(options.run);
  for (const std::string& key : varied_keys(points)) common.push_back(key);
  warn_of(idle_options(common, runs_of(options, points)));
}

int show_plan(SweepSession& session, const SweepOptions& options) {
  const std::map<std::string, PointPlan> plans = session.plans();
  if (options.json) {
    std::cout << with_deepspeed(plan_json(session.points(), plans), options.run).text() << "\n";
  } else {
    print_deepspeed(options.run, std::cout);
    print_plan(session.points(), session.results(), plans, std::cout);
  }
  return kExitDone;
}

void print_results(const std::vector<Point>& points, const std::vector<PointResult>& results,
                   const std::vector<Grid>& tuned, const SweepOptions& options) {
  const SweepGrid grid = grid_of(points, results, tuned.empty() ? "" : tuned.front().key);
  print_grid(grid, std::cout);
  print_reasons(points, results, std::cout);
  for (const Grid& arm : tuned) {
    if (!arm.complete) print_paragraph(std::cout, "the search is not finished: " + arm.label);
  }
  print_edges(grid, !tuned.empty(), std::cout);
  print_paragraph(std::cout, "individual runs: " + options.out + "/index.csv");
  std::cout << "\n";
  print_paragraph(std::cout, answer_of(grid, options.out));
}

void show_results(SweepSession& session, const std::vector<PointResult>& results, const SweepOptions& options) {
  const std::string index = options.out + "/index.csv";
  const std::vector<Grid> grids = grids_of(session.arms(), session.losses());
  if (options.json) {
    const Json json = Json::object({{"index", index},
                                    {"points", to_json(session.points(), results)},
                                    {"tuned", to_json(grids)},
                                    {"run_seconds", session.child_seconds()}});
    std::cout << with_deepspeed(json, options.run).text() << "\n";
    return;
  }
  print_deepspeed(options.run, std::cout);
  print_results(session.points(), results, grids, options);
}

/// Returns the exit status. A diverged run counts as a result. A failed run counts as a failure, which is reported
/// after all others are done.
int sweep_status(const std::vector<PointResult>& results, bool complete, const SweepOptions& options) {
  if (!complete) {
    tell_how_to_continue(options, options.out, "");
    return kExitStopped;
  }
  const auto failed = std::count_if(results.begin(), results.end(), [](const PointResult& result) {
    return result.status == PointStatus::failed || result.status == PointStatus::timeout;
  });
  if (failed == 0) return kExitDone;
  print_error(std::to_string(failed) + " of " + std::to_string(results.size()) +
              " points failed; --retry-failed tries them again");
  return kExitFailed;
}

/// Returns the option that needs the folder of a sweep that has begun; empty if there is none.
std::string needs_folder(const SweepOptions& options) {
  if (options.extend) return "--extend";
  if (options.retry_failed) return "--retry-failed";
  if (options.resume) return "--resume";
  return parse_shard(options.shard).count > 1 ? "--shard" : "";
}

/// Says in one line what is taken from the folder of a resumed sweep.
std::string resumed_text(const SweepOptions& options) {
  std::vector<std::string> lines = split(text_of(definition_of(options)), '\n');
  std::erase_if(lines, [](const std::string& line) { return line.empty() || line.starts_with("#"); });
  return "continuing " + options.out + " with the options in its sweep.ini: " + join(lines, ", ");
}

int sweep(const SweepOptions& given) {
  if (given.out.empty()) return sweep(with_made_up_name(given, "sweep", "", needs_folder(given)));
  check(given);
  const SweepOptions options = given.resume ? resumed(given) : given;
  watch_children();
  const std::vector<Point> asked = points_asked(options);
  for (const Point& point : asked) {
    if (options.run.deepspeed) check_batch(*options.run.deepspeed, point.config, label_of(point));
  }
  SweepSession session(setup_of(options));
  warn_of_idle_axes(options, asked);
  if (options.dry_run) return show_plan(session, options);
  const bool done = session.plans().empty();  // every point is checked before the folder is touched
  if (given.resume) say(done && !given.retry_failed ? "nothing to do in " + options.out : resumed_text(options));
  const Shard shard = parse_shard(options.shard);
  if (shard.of_slurm) say("shard " + shard.text() + " from SLURM_PROCID and SLURM_NTASKS");
  tell_made_up_name(options, options.out);
  make_folder(options.out);
  install_stop_handler();
  definitions_in(options.out, definition_of(options), options.extend, true);
  const bool complete = session.run();
  const std::vector<PointResult> results = session.results();
  show_results(session, results, options);
  return sweep_status(results, complete, given);
}

}  // namespace

Command sweep_command() {
  return make_command(sweep_syntax(), sweep_rows(), sweep);
}

}  // namespace onebit::experiments
