#include "experiments/output/analysis/agreement_output.hpp"

#include <algorithm>
#include <ostream>

#include "experiments/output/analysis/interval_output.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kAgreements[] = {"same", "close", "differs"};

const char* name_of(Agreement agreement) {
  return kAgreements[static_cast<std::size_t>(agreement)];
}

}  // namespace

void print(const std::vector<ArmAgreement>& arms, const std::string& record, std::ostream& out) {
  Table table({"arm (" + record + ")", "recorded loss", "loss of this build", "largest difference in a run",
               "agreement", "why"});
  for (const ArmAgreement& arm : arms) {
    table.add({arm.arm, interval_text(arm.expected), interval_text(arm.measured), number(arm.largest, 2),
               name_of(arm.agreement), arm.reason});
  }
  table.print(out);
}

Json to_json(const std::vector<ArmAgreement>& arms) {
  std::vector<Json> items;
  for (const ArmAgreement& arm : arms) {
    items.push_back(Json::object({{"arm", arm.arm},
                                  {"expected", interval_json(arm.expected)},
                                  {"measured", interval_json(arm.measured)},
                                  {"largest_relative_difference", arm.largest},
                                  {"agreement", name_of(arm.agreement)},
                                  {"reason", arm.reason}}));
  }
  return Json::array(items);
}

bool agree(const std::vector<ArmAgreement>& arms) {
  return std::ranges::none_of(arms, [](const auto& arm) { return arm.agreement == Agreement::differs; });
}

std::string sentence_of(bool agrees, const std::vector<ArmAgreement>& arms) {
  if (!agrees) return "this build on this machine does not give the recorded numbers";
  const std::string gives = "this build on this machine gives the recorded numbers, ";
  const bool same = std::ranges::all_of(arms, [](const auto& arm) { return arm.agreement == Agreement::same; });
  if (same) return gives + "bit for bit";
  const auto worst = std::ranges::max_element(arms, {}, &ArmAgreement::largest);
  return gives + "except for differences that rounding may explain: final losses differ by at most " +
         percent_text(worst->largest);
}

}  // namespace onebit::experiments
