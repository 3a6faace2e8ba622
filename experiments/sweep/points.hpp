#pragma once
// The points of a sweep: one run each, called by what it computes.

#include <functional>
#include <optional>

#include "experiments/sweep/definition.hpp"

namespace onebit::experiments {

struct Point {
  Index unit = 0;     ///< what a shard takes whole: the point, or all points of an arm that is tuned
  std::string name;   ///< name_of its configuration
  std::string arm;    ///< empty: the sweep has no arms
  Settings varied;    ///< what distinguishes it: axes, the tuned option
  Settings settings;  ///< all, as `run` takes them
  sim::RunConfig config;
};

/// Name of a run: 16 hex digits, a hash (FNV-1a) of every option that differs from its default, leaving out what cannot
/// change results (threads, memory, worker-group, log.flush, checkpoint.*; of devices only the backend counts). The
/// same run has the same name in any sweep.
std::string name_of(const Settings& values);

/// Whether a run whose log has these values may be called so: where a run's options left its evaluations open, the log
/// has what was chosen for it.
bool is_named(const Settings& values, const std::string& name);

/// The examples of an evaluation that all points can afford which leave them open (sim::planned_evaluations), so that
/// their losses are of the same ones. train_size: the examples of an epoch, asked for where a point's length is in
/// epochs.
Index common_examples(const std::vector<Point>& points, const std::function<Index(const Point&)>& train_size);

/// "arm adam, optimizer.lr 0.001, seed 2"
std::string label_of(const Point& point);

/// Loss of a finished point by name, infinite where there is none; nothing as long as it waits.
using LossOfPoint = std::function<std::optional<double>(const std::string& name)>;

/// The points of a folder's definitions in their order; one that two of them ask for stands once. Of tuned arms those
/// that the losses known so far ask for. execution: options that cannot change results, for all points. Throws
/// ConfigError naming the point: bad value, two points that are the same run, a skip that matches nothing, no point.
std::vector<Point> points_of(const std::vector<SweepDefinition>& definitions, const Settings& execution,
                             const LossOfPoint& loss);

/// Options that distinguish the points, in order of appearance.
std::vector<std::string> varied_keys(const std::vector<Point>& points);

/// What is written in the index for a point: the value of one of the options that distinguish points.
std::string value_of(const Point& point, const std::string& key);

/// A combination of arm and axes whose option is tuned, and its values in the order tried.
struct TunedArm {
  std::string label;
  Tuning tuning;
  struct Trial {
    std::string value;
    std::vector<std::string> names;  ///< of its points, by seed
  };
  std::vector<Trial> trials;
};
std::vector<TunedArm> tuned_arms(const std::vector<SweepDefinition>& definitions, const LossOfPoint& loss);

}  // namespace onebit::experiments
