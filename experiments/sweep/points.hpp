#pragma once
// The points of a sweep: each is one run, named after what it computes.

#include <functional>
#include <optional>

#include "experiments/sweep/definition.hpp"

namespace onebit::experiments {

struct Point {
  Index unit = 0;     ///< unit of sharding: the point, or all points of an arm that is tuned
  std::string name;   ///< name_of its configuration
  std::string arm;    ///< empty: the sweep has no arms
  Settings varied;    ///< settings that distinguish the point: axes, the tuned option
  Settings settings;  ///< all settings, as `run` takes them
  sim::RunConfig config;
};

/// Returns the name of a run: 16 hex digits, a hash (FNV-1a) of every option that differs from its default, except
/// those that cannot change results (threads, memory, worker-group, log.flush, checkpoint.*; of devices only the
/// backend counts). A run has the same name in every sweep.
std::string name_of(const Settings& values);

/// Whether `name` is a valid point name for a run whose log records these values of options. If the options did not set
/// the evaluations, the log records the values that were chosen.
bool is_named(const Settings& values, const std::string& name);

/// Returns the number of examples per evaluation for all points that do not set it: the smallest of their defaults
/// (sim::planned_evaluations), so that their losses are over the same examples. train_size: returns the number of
/// examples of an epoch; it is called if a point's length is in epochs.
Index common_examples(const std::vector<Point>& points, const std::function<Index(const Point&)>& train_size);

/// Returns a label such as "arm adam, optimizer.lr 0.001, seed 2".
std::string label_of(const Point& point);

/// A function that returns the loss of the point with the given name (infinite if the point ended without a loss), or
/// nothing if the point has not ended.
using LossOfPoint = std::function<std::optional<double>(const std::string& name)>;

/// Returns the points of a folder's definitions in order; a point of several definitions occurs once. For tuned arms,
/// only those points are included that can be determined from the losses known so far. execution: options that cannot
/// change results, for all points. Throws ConfigError, naming the point, for a bad value and for two points that are
/// the same run; also for a skip that matches nothing and a sweep without points.
std::vector<Point> points_of(const std::vector<SweepDefinition>& definitions, const Settings& execution,
                             const LossOfPoint& loss);

/// Returns the options that distinguish the points of an arm: axes and tuned options in order of appearance, then the
/// common options that an extension of the sweep set to other values.
std::vector<std::string> varied_keys(const std::vector<Point>& points);

/// Returns what the index shows for a point: its value of one of the options that distinguish points.
std::string value_of(const Point& point, const std::string& key);

/// A combination of an arm and values of the axes, with a tuned option and its values in the order tried.
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
