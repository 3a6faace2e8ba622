#include <iostream>

#include "device/error.hpp"
#include "device/text.hpp"
#include "experiments/analyze_output.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/session.hpp"

namespace onebit::experiments {
namespace {

analysis::VarianceOptions variance_options(const CommandLine& line) {
  analysis::VarianceOptions options;
  for (const std::string& lag : split(line.lags, ',')) {
    options.lags.push_back(parse_integer("lags", lag));
    if (options.lags.back() < 1) throw ConfigError("option out of range", "lags " + lag, "at least 1 step");
  }
  if (line.thresholds.empty()) return options;
  options.thresholds.clear();
  for (const std::string& text : split(line.thresholds, ',')) {
    const double threshold = parse_real("thresholds", text);
    if (!(threshold > 0 && threshold <= 1)) throw ConfigError("option out of range", "thresholds " + text, "in (0, 1]");
    options.thresholds.push_back(threshold);
  }
  return options;
}

/// A part that the log has nothing on is left out with the reason.
LogAnalysis analyze(const std::string& path, const analysis::VarianceOptions& options) {
  const sim::LogReader log(path);
  LogAnalysis result{.path = path, .findings = analysis::diagnose(log), .variance = {}, .theory = {}, .left_out = {}};
  try {
    result.variance = analysis::view_variance(log, options);
  } catch (const ConfigError& error) {
    result.left_out.emplace_back(error.what());
  }
  try {
    result.theory = analysis::view_theory(log);
  } catch (const ConfigError& error) {
    result.left_out.emplace_back(error.what());
  }
  return result;
}

}  // namespace

int analyze_command(const CommandLine& line) {
  if (line.arguments.empty()) throw ConfigError("no log named", "analyze", "onebit analyze FILE.h5");
  const analysis::VarianceOptions options = variance_options(line);
  std::vector<Json> objects;
  for (const std::string& path : line.arguments) {
    const LogAnalysis result = analyze(path, options);
    if (line.json) {
      objects.push_back(to_json(result));
      continue;
    }
    if (path != line.arguments.front()) std::cout << "\n";
    print_analysis(result, std::cout);
  }
  if (line.json) std::cout << (objects.size() == 1 ? objects[0] : Json::array(objects)).text() << "\n";
  return kExitDone;
}

}  // namespace onebit::experiments
