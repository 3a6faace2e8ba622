#pragma once
// Learning-rate schedules: the factor of the base rate as a pure function of the step.

#include <string>
#include <string_view>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::optim {

struct ScheduleConfig {
  std::string name = "constant";
  Index warmup = 0;         ///< steps of linear warm-up (every schedule)
  double decay = 0.99;      ///< factor per decay_steps (exponential, step)
  Index decay_steps = 520;  ///< steps per factor `decay` (exponential, step)
  double final = 0;         ///< factor at the last step (cosine)
  Index total_steps = 0;    ///< steps of the run
};

class Schedule {
 public:
  /// Throws ConfigError, naming the option, if an option is out of range.
  explicit Schedule(ScheduleConfig config);

  /// Factor of the base learning rate at step 1, 2, ...
  double factor(Index step) const;

  Index warmup() const { return config_.warmup; }

 private:
  using Decay = double (*)(const ScheduleConfig&, Index step);
  ScheduleConfig config_;
  Decay decay_;
};

struct ScheduleEntry {
  std::string_view name;
  std::string_view doc;
  double (*decay)(const ScheduleConfig&, Index step);
};

const std::vector<ScheduleEntry>& schedules();

}  // namespace onebit::optim
