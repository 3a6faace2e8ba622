#include "experiments/sweep/session.hpp"

#include <cmath>
#include <filesystem>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/sweep/files.hpp"
#include "experiments/sweep/folder.hpp"
#include "experiments/sweep/lock.hpp"
#include "sim/models/external_program.hpp"

namespace onebit::experiments {
namespace {

constexpr std::chrono::seconds kIndexEvery{
    2};  // shortest interval; an index that takes a long time to write is written less often

}  // namespace

SweepSession::SweepSession(SweepSetup setup)
    : setup_(std::move(setup)),
      results_(setup_.folder),
      planner_(setup_.limits.memory),
      board_(setup_.progress),
      runner_(results_, Board::tell),
      points_(points_of(setup_.definitions, setup_.execution, losses())) {}

LossOfPoint SweepSession::losses() {
  return [this](const std::string& name) {
    const PointResult& result = results_.of(name);
    return result.ended() ? std::optional(result.loss()) : std::nullopt;
  };
}

bool SweepSession::run() {
  FolderLock lock(setup_.folder, setup_.shard.text());
  remove_leftovers(setup_.folder);
  results_.remove_leftovers();
  if (setup_.retry_failed) {
    for (const Point& point : points_) {
      if (is_own(point)) results_.forgive(point.name);
    }
    find_points();
  }
  submit_new_points();
  planner_.release_data();
  bool stopped = stop_requested();
  if (stopped) runner_.stop();
  while (!runner_.idle()) {
    setup_.limits.memory = planner_.memory();
    take_note(runner_.advance(setup_.limits));
    standing_.running = runner_.running();
    board_.show(standing_);
    keep_index(false);
    lock.beat();
    if (stop_requested() && !stopped) {
      stopped = true;
      runner_.stop();
    }
    if (!runner_.idle()) wait_for_children(std::chrono::milliseconds(100));
  }
  setup_.definitions = definitions_in(setup_.folder);  // another shard may have extended them
  find_points();
  keep_index(true);
  return !stopped;
}

std::map<std::string, PointPlan> SweepSession::plans() {
  std::map<std::string, PointPlan> plans;
  for (const Point& point : points_) {
    if (is_own(point) && !results_.of(point.name).ended()) plans[point.name] = planner_.plan(point);
  }
  check_data();
  return plans;
}

/// Determines the points from the losses known so far.
void SweepSession::find_points() {
  points_ = points_of(setup_.definitions, setup_.execution, losses());
  for (std::size_t p = 0; p < points_.size(); ++p) {
    const auto place = places_.find(points_[p].name);
    if (place != places_.end()) place->second = p;
  }
}

void SweepSession::submit_new_points() {
  while (submit_once()) find_points();
}

/// Returns true if a point failed immediately, which may decide the next value to tune.
bool SweepSession::submit_once() {
  std::vector<std::size_t> waiting;
  for (std::size_t p = 0; p < points_.size(); ++p) {
    if (!is_own(points_[p]) || !places_.emplace(points_[p].name, p).second) continue;
    ++standing_.points;
    if (results_.of(points_[p].name).ended()) {
      count(points_[p]);
    } else {
      waiting.push_back(p);
    }
  }
  for (const std::size_t p : waiting) {
    if (stop_requested()) return false;
    planner_.plan(points_[p]);  // every point is checked before any starts
  }
  sim::end_idle_programs();  // each point starts its own
  check_data();
  bool failed = false;
  for (const std::size_t p : waiting) failed = !submit(points_[p]) || failed;
  return failed;
}

/// Returns false if the point can never run.
bool SweepSession::submit(const Point& point) {
  const PointPlan& plan = planner_.plan(point);
  if (plan.unfit.empty()) {
    write_run_file(point, plan);
    runner_.add({point.name, label_of(point), plan.bytes});
    return true;
  }
  results_.note_failure(point.name, PointStatus::failed, plan.unfit);
  Board::tell(label_of(point) + " failed: " + plan.unfit);
  count(point);
  return false;
}

/// Returns the examples per evaluation for points that do not set them: the number in existing logs, or else
/// common_examples.
Index SweepSession::open_examples() {
  for (auto point = points_.begin(); !open_examples_ && point != points_.end(); ++point) {
    if (point->config.eval.examples == 0) open_examples_ = results_.eval_examples(point->name);
  }
  if (!open_examples_) {
    open_examples_ = common_examples(points_, [&](const Point& point) { return planner_.plan(point).train_size; });
  }
  return *open_examples_;
}

/// Writes the point's own file; each start of a sweep rewrites it.
void SweepSession::write_run_file(const Point& point, const PointPlan& plan) {
  std::string text = "# " + label_of(point) + "\n";
  for (const auto& [name, value] : point.settings) {
    if (name != "memory" && name != "worker-group") text += name + " = " + value + "\n";
  }
  const bool begins = !std::filesystem::exists(results_.path(point.name, ".h5"));  // others continue as they began
  if (point.config.eval.examples == 0 && begins) {
    text += "eval.examples = " + std::to_string(open_examples()) + "\n";
  }
  text += "memory = " + std::to_string(planner_.memory()) + "\n";
  text += "worker-group = " + std::to_string(plan.worker_group) + "\n";
  files::write(results_.path(point.name, ".ini"), text);
}

/// Refuses a log whose data have changed since its run, because its point must not count as done.
void SweepSession::check_data() {
  for (const Point& point : points_) {
    const PointResult& result = results_.of(point.name);
    const std::optional<std::string> hash = planner_.data_hash(point);
    if (!hash || result.data_hash.empty() || result.data_hash == *hash) continue;
    throw ConfigError("the data has changed since a point was run",
                      results_.path(point.name, ".h5") + ": hash " + result.data_hash + ", now " + *hash,
                      "restore the data, or give another -o DIR");
  }
}

void SweepSession::count(const Point& point) {
  const PointResult& result = results_.of(point.name);
  const double loss = result.loss();
  ++standing_.ended;
  if (result.status == PointStatus::failed || result.status == PointStatus::timeout) ++standing_.failed;
  if (std::isfinite(loss) && (standing_.best_label.empty() || loss < standing_.best)) {
    standing_.best = loss;
    standing_.best_label = label_of(point);
  }
}

void SweepSession::take_note(const std::vector<std::string>& ended) {
  if (ended.empty()) return;
  index_is_old_ = true;
  for (const std::string& name : ended) count(points_[places_.at(name)]);
  bool tuned = false;
  for (const SweepDefinition& definition : setup_.definitions) tuned = tuned || definition.tuning.has_value();
  if (!tuned) return;
  find_points();
  if (!stop_requested()) submit_new_points();
}

void SweepSession::keep_index(bool now) {
  const auto start = Clock::now();
  if (!now && (!index_is_old_ || start < next_index_)) return;
  write_index(setup_.folder, points_, results_);
  index_is_old_ = false;
  const auto end = Clock::now();
  next_index_ = end + std::max<Clock::duration>(kIndexEvery, 50 * (end - start));
}

}  // namespace onebit::experiments
