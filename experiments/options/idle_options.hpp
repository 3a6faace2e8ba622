#pragma once
// Options that were given and change nothing: which they are and why, and the one line that says so.

#include <functional>
#include <string>
#include <vector>

#include "experiments/study/arms.hpp"
#include "experiments/cli/command_line.hpp"
#include "experiments/options/price_options.hpp"

namespace onebit::experiments {

/// Why an option changes nothing in a run, e.g. "with --optimizer adam"; empty: it is read.
std::string unread_because(const std::string& option, const sim::RunConfig& config);

/// The same where no run is trained, but the exchanges of its optimizer are planned and priced.
std::string unpriced_because(const std::string& option, const sim::RunConfig& config);

/// A run, and the names of the options that its arm or its point of a sweep gave.
struct GivenRun {
  sim::RunConfig config;
  std::vector<std::string> own = {};
};

/// The arms' runs. line: what they have in common.
std::vector<GivenRun> given_runs(const CommandLine& line, const std::vector<Arm>& arms);

/// Names of the options of a run that the user gave: by the command line, a config file, or DeepSpeed's; neither a
/// preset's nor DeepSpeed's defaults.
std::vector<std::string> given_options(const CommandLine& line);

struct IdleOption {
  std::string name;
  std::string why;
  bool operator==(const IdleOption&) const = default;
};
using Why = std::function<std::string(const std::string& option, const sim::RunConfig& config)>;

/// Of the options in common those that no run reads, of a run's own those that it does not read; each reason once.
std::vector<IdleOption> idle_options(const std::vector<std::string>& common, const std::vector<GivenRun>& runs,
                                     const Why& why = unread_because);

/// Options of pricing, among those given, that the others leave without a meaning.
std::vector<IdleOption> idle_price_options(const Settings& given, const PriceConfig& config);

/// "--freeze, --codec have no effect with --optimizer adam; --codec.k has no effect with --codec qsgd"
std::string text_of(const std::vector<IdleOption>& options);

/// Warns in one line where there are any.
void warn_of(const std::vector<IdleOption>& options);
void warn_of_idle_options(const CommandLine& line, const std::vector<GivenRun>& runs);

}  // namespace onebit::experiments
