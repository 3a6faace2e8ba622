#pragma once
// Options that were given but have no effect, each with the reason.

#include <functional>
#include <string>
#include <vector>

#include "experiments/options/price_options.hpp"
#include "experiments/options/run_settings.hpp"

namespace onebit::experiments {

/// Returns why an option has no effect on a run, e.g. "with --optimizer adam"; empty if it has an effect.
std::string unread_because(const std::string& option, const sim::RunConfig& config);

/// Returns whether an option of a run can have an effect on a price.
bool is_priced(const std::string& option);

/// Returns why an option has no effect on a price; empty if it has an effect. `price` plans the exchanges of a run, but
/// trains nothing.
std::string unpriced_because(const std::string& option, const sim::RunConfig& config);

/// A run with the names of the options that its arm or its point of a sweep sets.
struct GivenRun {
  sim::RunConfig config;
  std::vector<std::string> own = {};
};

/// Returns the names of the run options that the user gave on the command line, in a config file or in a DeepSpeed
/// configuration, excluding the values of presets and DeepSpeed's defaults.
std::vector<std::string> given_options(const RunSettings& run);

struct IdleOption {
  std::string name;
  std::string why;
  bool operator==(const IdleOption&) const = default;
};
using Why = std::function<std::string(const std::string& option, const sim::RunConfig& config)>;

/// Returns the common options that no run reads, and each run's own options that the run does not read. Each option
/// comes with its reasons; repeats are removed.
std::vector<IdleOption> idle_options(const std::vector<std::string>& common, const std::vector<GivenRun>& runs,
                                     const Why& why = unread_because);

/// Returns the given pricing options that have no effect because of other options.
std::vector<IdleOption> idle_price_options(const Settings& given, const PriceConfig& config);

/// Returns a text such as "--freeze, --codec have no effect with --optimizer adam; --codec.k has no effect with --codec
/// qsgd"; empty if there are no options.
std::string text_of(const std::vector<IdleOption>& options);

}  // namespace onebit::experiments
