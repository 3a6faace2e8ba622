#include "experiments/sweep/points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/study/arms.hpp"
#include "sim/data/hash.hpp"
#include "sim/run/deciding_options.hpp"

namespace onebit::experiments {
namespace {

/// An arm at one combination of axis values; its seeds and tuned values are still open.
struct Combination {
  std::string arm;
  Settings varied;
  Settings settings;
  std::size_t common = 0;  ///< the first `common` settings come from the definition
};

std::string words_of(const std::string& arm, const Settings& varied) {
  std::vector<std::string> words;
  if (!arm.empty()) words.push_back("arm " + arm);
  for (const auto& [key, value] : varied) {
    if (key != "seed") words.push_back(key + " " + value);
  }
  return join(words, ", ");
}

std::string last_value(const Settings& settings, const std::string& key) {
  for (auto setting = settings.rbegin(); setting != settings.rend(); ++setting) {
    if (setting->first == key) return canonical(key, setting->second);
  }
  return run_option(key).get(sim::RunConfig());
}

bool matches(const Settings& skip, const Combination& combination) {
  return std::all_of(skip.begin(), skip.end(), [&](const auto& condition) {
    const auto& [key, value] = condition;
    return (key == "arm" ? combination.arm : last_value(combination.settings, key)) == value;
  });
}

std::vector<Arm> arms_in(const SweepDefinition& definition) {
  const auto& [optimizers, arms] = definition.arms;
  if (optimizers.empty() && arms.empty()) return {{"", definition.common}};
  return arms_of({.settings = definition.common}, definition.arms);
}

/// Throws if an arm sets an option that an axis varies. Axes override common settings, but not an arm's own.
void check_arm(const Arm& arm, const std::set<std::string>& open, std::size_t common) {
  for (std::size_t i = common; i < arm.settings.size(); ++i) {
    const std::string& key = arm.settings[i].first;
    if (open.count(key) != 0) throw ConfigError("an arm sets an option that the sweep varies", arm.name + ": " + key);
  }
}

void check_keys(const SweepDefinition& definition, const std::set<std::string>& axes) {
  if (definition.seeds > 1 && axes.count("seed") != 0) {
    throw ConfigError("seeds given twice", "seeds, axis seed", "give one of them");
  }
  if (definition.tuning && axes.count(definition.tuning->key) != 0) {
    throw ConfigError("option both on an axis and tuned", definition.tuning->key, "give one of them");
  }
  for (const std::string& text : definition.skips) {
    for (const auto& [key, value] : parse_skip(text)) {
      const bool open = (definition.tuning && key == definition.tuning->key) || (key == "seed" && axes.count(key) == 0);
      if (open) throw ConfigError("skip names an option that is not an axis", text + ": " + key);
    }
  }
}

std::vector<Combination> combinations_of(const SweepDefinition& definition) {
  std::set<std::string> open;
  for (const Axis& axis : definition.axes) open.insert(axis.key);
  check_keys(definition, open);
  if (definition.tuning) open.insert(definition.tuning->key);
  const std::vector<Settings> choices = product(definition.axes, definition.zips);
  std::vector<Combination> result;
  for (const Arm& arm : arms_in(definition)) {
    check_arm(arm, open, definition.common.size());
    for (const Settings& choice : choices) {
      result.push_back({arm.name, choice, arm.settings, definition.common.size()});
      result.back().settings.insert(result.back().settings.end(), choice.begin(), choice.end());
    }
  }
  for (const std::string& text : definition.skips) {
    const Settings skip = parse_skip(text);
    const std::size_t before = result.size();
    std::erase_if(result, [&](const Combination& combination) { return matches(skip, combination); });
    if (result.size() == before) throw ConfigError("skip matches no point", text);
  }
  if (result.empty()) throw ConfigError("sweep without points", "skip", "the skips leave out every point");
  return result;
}

/// Returns the settings with only the last value of each option.
Settings last_of_each(const Settings& settings) {
  Settings result;
  for (auto setting = settings.rbegin(); setting != settings.rend(); ++setting) {
    const auto same = [&](const auto& other) { return other.first == setting->first; };
    if (std::none_of(result.begin(), result.end(), same)) result.push_back(*setting);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

/// Returns the combination with the tuned option set to a value.
Combination at(const Combination& combination, const std::string& key, const std::string& value) {
  Combination result = combination;
  for (Settings* settings : {&result.varied, &result.settings}) settings->emplace_back(key, value);
  return result;
}

/// Puts the execution's settings before the combination's, which override them. Devices are an exception: a
/// definition's common settings name only a backend, and the execution chooses which of its devices to use. Devices of
/// another backend are ignored.
Settings with_execution(const Settings& execution, const Combination& combination) {
  const auto is_devices = [](const auto& setting) { return setting.first == "devices"; };
  std::string backend;
  for (const auto& setting : combination.settings) {
    if (is_devices(setting)) backend = sim::backend_of(setting.second);
  }
  Settings result;
  bool chosen = false;
  for (const auto& setting : execution) {
    if (is_devices(setting) && sim::backend_of(setting.second) != backend) continue;
    chosen = chosen || is_devices(setting);
    result.push_back(setting);
  }
  for (std::size_t i = 0; i < combination.settings.size(); ++i) {
    const bool gives_way = chosen && i < combination.common && is_devices(combination.settings[i]);
    if (!gives_way) result.push_back(combination.settings[i]);
  }
  return result;
}

std::string& value_in(Settings& settings, const std::string& name) {
  return std::ranges::find(settings, name, &Settings::value_type::first)->second;
}

/// Whether an arm sets its own label.
bool sets_label(const Combination& combination) {
  const auto own = combination.settings.begin() + static_cast<std::ptrdiff_t>(combination.common);
  return std::any_of(own, combination.settings.end(), [](const auto& setting) { return setting.first == "label"; });
}

/// Returns a combination's runs, one for each seed.
std::vector<Point> seeds_of(const Combination& combination, Index seeds, const Settings& execution) {
  std::vector<Point> points;
  const std::string words = words_of(combination.arm, combination.varied);
  try {
    const Index first = make_config(combination.settings).seed;
    if (first + seeds - 1 > std::numeric_limits<std::uint32_t>::max()) {
      throw ConfigError("the last seed would be too large", "seed " + std::to_string(first),
                        "the largest seed is 4294967295");
    }
    Point point;
    point.arm = combination.arm;
    point.varied = combination.varied;
    point.settings = with_execution(execution, combination);
    if (!point.arm.empty() && !sets_label(combination)) point.settings.emplace_back("label", point.arm);
    point.settings.emplace_back("seed", std::to_string(first));
    point.settings = last_of_each(point.settings);
    for (const auto& [key, value] : point.settings) require_storable(key, value);
    point.config = make_config(point.settings);
    Settings values = values_of(point.config);
    for (Index s = 0; s < seeds; ++s) {
      const std::string seed = std::to_string(first + s);
      value_in(point.settings, "seed") = value_in(values, "seed") = seed;
      run_option("seed").set(point.config, seed);
      point.name = name_of(values);
      points.push_back(point);
    }
  } catch (const ConfigError& error) {
    throw ConfigError((words.empty() ? "" : "point " + words + ": ") + error.what(), "");
  }
  return points;
}

/// Returns a value's loss: the mean over the seeds, infinite if a seed has no loss, or nothing while a seed has yet to
/// run.
std::optional<double> mean_loss(const std::vector<Point>& points, const LossOfPoint& loss) {
  double sum = 0;
  for (const Point& point : points) {
    const std::optional<double> one = loss(point.name);
    if (!one) return std::nullopt;
    sum += std::isfinite(*one) ? *one : std::numeric_limits<double>::infinity();
  }
  return sum / static_cast<double>(points.size());
}

/// Returns a combination's runs at each value that the losses known so far determine.
std::vector<std::vector<Point>> tuned_points(const Combination& combination, const SweepDefinition& definition,
                                             const Settings& execution, const LossOfPoint& loss) {
  const std::string& key = definition.tuning->key;
  std::map<std::string, std::vector<Point>> tried;
  const auto points_at = [&](const std::string& value) -> const std::vector<Point>& {
    const auto found = tried.find(value);
    if (found != tried.end()) return found->second;
    return tried[value] = seeds_of(at(combination, key, canonical(key, value)), definition.seeds, execution);
  };
  const std::vector<std::string> values =
      tuned_values(*definition.tuning, [&](const std::string& value) { return mean_loss(points_at(value), loss); });
  std::vector<std::vector<Point>> result;
  for (const std::string& value : values) result.push_back(points_at(value));
  return result;
}

/// Collects points and finds duplicates.
class Collection {
 public:
  void begin_definition() { own_.clear(); }

  void add(const std::vector<Point>& points, Index unit) {
    for (const Point& point : points) {
      const auto twin = own_.emplace(point.name, label_of(point));
      if (!twin.second) {
        throw ConfigError("two points are the same run", twin.first->second + " and " + label_of(point),
                          "leave one out with --skip");
      }
      if (!names_.insert(point.name).second) continue;
      points_.push_back(point);
      points_.back().unit = unit;
    }
  }

  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
  std::set<std::string> names_;
  std::map<std::string, std::string> own_;  ///< points of the current definition: label by name
};

/// Returns the options in which points of the same arm differ. An extended sweep may have points whose definitions set
/// other common options.
std::set<std::string> keys_of_extensions(const std::vector<Point>& points) {
  std::map<std::string, const Point*> first;  // by arm
  std::set<std::string> set, keys;
  for (const Point& point : points) {
    first.emplace(point.arm, &point);
    for (const auto& [key, value] : point.settings) {
      if (sim::decides_results(key)) set.insert(key);
    }
  }
  for (const std::string& key : set) {
    const auto differs = [&](const Point& point) {
      return value_of(point, key) != value_of(*first.at(point.arm), key);
    };
    if (std::ranges::any_of(points, differs)) keys.insert(key);
  }
  return keys;
}

}  // namespace

std::string name_of(const Settings& values) {
  static const Settings defaults = values_of(sim::RunConfig());
  static const std::map<std::string, std::string> default_of(defaults.begin(), defaults.end());
  std::vector<const Settings::value_type*> sorted;
  for (const Settings::value_type& value : values) sorted.push_back(&value);
  std::ranges::sort(sorted, {}, &Settings::value_type::first);
  sim::Fnv1a hash;
  for (const auto* setting : sorted) {
    const auto& [name, value] = *setting;
    const auto usual = default_of.find(name);
    if (usual == default_of.end()) continue;  // not an option of this program: a log may hold others
    const std::string counted = name == "devices" ? sim::backend_of(value) : value;
    const bool same = name == "devices" ? counted.empty() : value == usual->second || !sim::decides_results(name);
    if (same) continue;
    const std::string line = name + "=" + counted + "\n";
    hash.add(line.data(), line.size());
  }
  return hash.hex();
}

bool is_named(const Settings& values, const std::string& name) {
  const std::set<std::string> evaluations = {"eval.every", "eval.examples"};
  std::vector<Settings> possible = {values};
  for (const std::string& option : evaluations) {
    for (Settings open : std::vector<Settings>(possible)) {
      std::erase_if(open, [&](const auto& value) { return value.first == option; });
      possible.push_back(std::move(open));
    }
  }
  return std::ranges::any_of(possible, [&](const Settings& each) { return name_of(each) == name; });
}

Index common_examples(const std::vector<Point>& points, const std::function<Index(const Point&)>& train_size) {
  Index examples = sim::kMostEvaluated;
  for (const Point& point : points) {
    if (point.config.eval.examples != 0) continue;
    const bool in_epochs = point.config.steps == 0 && point.config.epochs > 0;
    const Index steps = sim::total_steps(point.config, in_epochs ? train_size(point) : 0);
    examples = std::min(examples, sim::planned_evaluations(point.config, steps, sim::kMostEvaluated).examples);
  }
  return examples;
}

std::string label_of(const Point& point) {
  const std::string words = words_of(point.arm, point.varied);
  return words + (words.empty() ? "" : ", ") + "seed " + std::to_string(point.config.seed);
}

std::vector<Point> points_of(const std::vector<SweepDefinition>& definitions, const Settings& execution,
                             const LossOfPoint& loss) {
  Collection collection;
  Index unit = 0;
  for (const SweepDefinition& definition : definitions) {
    collection.begin_definition();
    for (const Combination& combination : combinations_of(definition)) {
      if (definition.tuning) {
        for (const auto& trial : tuned_points(combination, definition, execution, loss)) collection.add(trial, unit);
        ++unit;
        continue;
      }
      for (const Point& point : seeds_of(combination, definition.seeds, execution)) collection.add({point}, unit++);
    }
  }
  return collection.points();
}

std::vector<TunedArm> tuned_arms(const std::vector<SweepDefinition>& definitions, const LossOfPoint& loss) {
  std::vector<TunedArm> arms;
  for (const SweepDefinition& definition : definitions) {
    if (!definition.tuning) continue;
    for (const Combination& combination : combinations_of(definition)) {
      arms.push_back({words_of(combination.arm, combination.varied), *definition.tuning, {}});
      for (const std::vector<Point>& points : tuned_points(combination, definition, {}, loss)) {
        arms.back().trials.push_back({points.front().varied.back().second, {}});
        for (const Point& point : points) arms.back().trials.back().names.push_back(point.name);
      }
    }
  }
  return arms;
}

std::vector<std::string> varied_keys(const std::vector<Point>& points) {
  std::vector<std::string> keys;
  const auto is_new = [&](const std::string& key) {
    return key != "seed" && std::find(keys.begin(), keys.end(), key) == keys.end();
  };
  for (const Point& point : points) {
    for (const auto& [key, value] : point.varied) {
      if (is_new(key)) keys.push_back(key);
    }
  }
  for (const std::string& key : keys_of_extensions(points)) {
    if (is_new(key)) keys.push_back(key);
  }
  return keys;
}

std::string value_of(const Point& point, const std::string& key) {
  return run_option(key).get(point.config);
}

}  // namespace onebit::experiments
