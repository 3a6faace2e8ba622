#pragma once
// Diagnosis of a run from its log: what went wrong, with causes and evidence.

#include <string>
#include <vector>

#include "sim/log/reader.hpp"

namespace onebit::analysis {

enum class Severity { note, warning, problem };

std::string_view name(Severity severity);

/// Cause of a finding, for tests and programs; Finding::text is for people.
enum class Cause {
  worker_errors_not_carried,
  server_errors_dropped,
  errors_lost,  ///< errors were lost for an unknown reason
  variance_frozen_early,
  compressed_steps_explode,  ///< the compressed momentum is divided by small frozen denominators
  frozen_steps_explode,      ///< without a codec, momenta are divided by small frozen denominators
  loss_rose_at_freeze,
  ended_above_start,  ///< the last evaluated loss is more than 1% above the first
  never_compressed,
  rate_too_high,  ///< the run diverged before anything was frozen or compressed
  bad_data,       ///< the first loss is not finite
  diverged,
  not_finished,
  many_masked,
  no_feedback,
};

struct Finding {
  Severity severity = Severity::note;
  Cause cause = Cause::errors_lost;
  std::string text;  ///< the finding in words, with evidence in numbers
  std::string hint;  ///< advice on what to do; may be empty
};

/// Returns the findings, worst first. Throws what the reader throws.
std::vector<Finding> diagnose(const sim::LogReader& log);

}  // namespace onebit::analysis
