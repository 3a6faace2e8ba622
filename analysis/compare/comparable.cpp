#include "analysis/compare/comparable.hpp"

#include <string_view>

#include "device/base/error.hpp"

namespace onebit::analysis {
namespace {

[[noreturn]] void refuse(const std::string& subject, const std::string& difference, const Run& a, const Run& b) {
  throw ConfigError("the logs cannot be compared because their " + subject + " differ: " + difference,
                    a.summary.path + " and " + b.summary.path,
                    subject == "evaluations" ? "give all runs the same --eval.split and --eval.examples"
                                             : "compare runs of the same problem");
}

std::string pair_text(const std::string& name, const std::string& a, const std::string& b) {
  return name + " '" + a + "' and '" + b + "'";
}

/// Whether an option is the noun itself or is below it: "data", "data.split".
bool belongs(std::string_view option, std::string_view noun) {
  return option == noun || (option.starts_with(noun) && option.substr(noun.size()).starts_with('.'));
}

void require_same_options(const std::string& subject, std::string_view noun, const Run& a, const Run& b) {
  const OptionValues there = arm_options(a), here = arm_options(b);
  for (const auto& [option, value] : there) {
    const auto other = here.find(option);
    if (!belongs(option, noun) || other == here.end() || other->second == value) continue;
    refuse(subject, pair_text(option, value, other->second), a, b);
  }
}

std::string text_of(const compress::Tensor& tensor) {
  return tensor.name + " of " + std::to_string(tensor.size) + " numbers";
}

void require_same_tensors(const Run& a, const Run& b) {
  const auto& there = a.header.tensors;
  const auto& here = b.header.tensors;
  if (there.size() != here.size()) {
    refuse("models", std::to_string(there.size()) + " and " + std::to_string(here.size()) + " tensors", a, b);
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    const bool same = there[i].name == here[i].name && there[i].size == here[i].size;
    if (!same) refuse("models", pair_text("tensors", text_of(there[i]), text_of(here[i])), a, b);
  }
}

}  // namespace

void require_comparable(const Run& a, const Run& b) {
  require_same_options("data", "data", a, b);
  if (a.header.data_hash != b.header.data_hash) {
    refuse("data", pair_text("hash", a.header.data_hash, b.header.data_hash), a, b);
  }
  require_same_options("models", "model", a, b);
  require_same_tensors(a, b);
  require_same_options("evaluations", "eval.split", a, b);
  require_same_options("evaluations", "eval.examples", a, b);
}

void require_comparable(std::span<const Run> runs) {
  for (std::size_t i = 1; i < runs.size(); ++i) require_comparable(runs.front(), runs[i]);
}

}  // namespace onebit::analysis
