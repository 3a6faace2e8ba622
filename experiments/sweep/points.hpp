#pragma once
// The points of a sweep: one run each, named after what it computes.

#include <functional>
#include <optional>

#include "experiments/sweep/definition.hpp"

namespace onebit::experiments {

struct Point {
  Index unit = 0;     ///< unit of sharding: the point, or all points of an arm that is tuned
  std::string name;   ///< name_of its configuration
  std::string arm;    ///< empty: the sweep has no arms
  Settings varied;    ///< the settings that distinguish it: axes, the tuned option
  Settings settings;  ///< all settings, as `run` takes them
  sim::RunConfig config;
};

/// Returns the name of a run: 16 hex digits, a hash (FNV-1a) of every option that differs from its default, except
/// those that cannot change results (threads, memory, worker-group, log.flush, checkpoint.*; of devices only the
/// backend counts). A run has the same name in every sweep.
std::string name_of(const Settings& values);

/// Whether a run whose log has these values may have this name: where the options left the evaluations open, the log
/// records the values that were chosen.
bool is_named(const Settings& values, const std::string& name);

/// Returns the number of examples per evaluation that all points which leave it open can afford
/// (sim::planned_evaluations), so that their losses are over the same examples. train_size: the examples of an epoch,
/// queried where a point's length is in epochs.
Index common_examples(const std::vector<Point>& points, const std::function<Index(const Point&)>& train_size);

/// Returns a label such as "arm adam, optimizer.lr 0.001, seed 2".
std::string label_of(const Point& point);

/// Returns the loss of a point that has ended, by name, infinite where it has none; nothing as long as the point waits.
using LossOfPoint = std::function<std::optional<double>(const std::string& name)>;

/// Returns the points of a folder's definitions in order; a point of several definitions occurs once. Of tuned arms it
/// includes the points that the losses known so far call for. execution: options that cannot change results, for all
/// points. Throws ConfigError naming the point: bad value, two points that are the same run, a skip that matches
/// nothing, no point.
std::vector<Point> points_of(const std::vector<SweepDefinition>& definitions, const Settings& execution,
                             const LossOfPoint& loss);

/// Returns the options that distinguish the points, in order of appearance.
std::vector<std::string> varied_keys(const std::vector<Point>& points);

/// Returns what the index shows for a point: the value of one of the options that distinguish points.
std::string value_of(const Point& point, const std::string& key);

/// A combination of arm and axes with a tuned option, and the values of that option in the order tried.
struct TunedArm {
  std::string label;
  Tuning tuning;
  struct Trial {
    std::string value;
    std::vector<std::string> names;  ///< names of its points, by seed
  };
  std::vector<Trial> trials;
};
std::vector<TunedArm> tuned_arms(const std::vector<SweepDefinition>& definitions, const LossOfPoint& loss);

}  // namespace onebit::experiments
