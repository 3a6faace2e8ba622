#pragma once
// Output about the agreement of runs with their record.

#include <iosfwd>

#include "experiments/output/output.hpp"
#include "experiments/study/expected.hpp"

namespace onebit::experiments {

/// Prints one row per arm. record: the name of the record, shown in the heading.
void print(const std::vector<ArmAgreement>& arms, const std::string& record, std::ostream& out);

Json to_json(const std::vector<ArmAgreement>& arms);

/// Whether no arm differs from its record.
bool agree(const std::vector<ArmAgreement>& arms);

/// Says in a sentence whether this build repeats the recorded numbers. agrees: whether everything that was checked
/// agrees, the arms included.
std::string sentence_of(bool agrees, const std::vector<ArmAgreement>& arms);

}  // namespace onebit::experiments
