#pragma once
// Values of a run's options, read from its log.

#include <optional>
#include <string>
#include <string_view>

#include "netmodel/wire/codec_passes.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// Returns the value of an option; none if the program that wrote the log did not have it.
std::optional<std::string> option_of(const sim::LogHeader& header, const std::string& option);

/// Returns an option's value as a number; `fallback` if the log lacks the option. Throws ConfigError if the value
/// is not a number, or the log lacks the option and there is no fallback.
double number_of(const sim::LogHeader& header, const std::string& option, std::optional<double> fallback = {});

/// Option in the log of a replay: the path of its trace.
inline constexpr std::string_view kReplayedTrace = "replay.trace";

/// Whether the log is that of a replay: its gradients come from a trace, so there are no evaluations.
bool is_replay(const sim::LogHeader& header);

/// Whether the log is that of a compact trace, which has no exchanges.
bool is_compact(const sim::LogReader& log);

/// Returns the cost of the run's codecs. If this program lacks one of them, all numbers are 0, and no step can be
/// priced.
netmodel::CodecPasses codec_passes(const sim::LogHeader& header);

/// Whether each tensor freezes separately (optim/two_stage/tensor_freeze.hpp). The option freeze.scope has no effect
/// if no rule freezes.
bool freezes_by_tensor(const sim::LogHeader& header);

}  // namespace onebit::analysis
