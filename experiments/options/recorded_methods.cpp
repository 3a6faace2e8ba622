#include "experiments/options/recorded_methods.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::experiments {
namespace {

/// A method of another project, with the name under which it was recorded.
struct Method {
  std::string name;
  std::string kind;             ///< the case's kind, if one name stands for several methods
  Settings settings;            ///< settings that precede those of the attributes
  bool gradient_decay = false;  ///< whether weight_decay is a penalty on the loss
  std::string other = "";       ///< how the recorded method differs from this program's; empty if it does not
};

const std::vector<Method>& methods() {
  static const std::vector<Method> table = {
      {"powersgd", "", {{"optimizer", "ef-momentum-sgd"}, {"codec", "power-sgd"}}},
      {"powersgd-paper", "", {{"optimizer", "ef-momentum-sgd"}, {"codec", "power-sgd"}, {"codec.min-rate", "0"}}},
      {"powersgd-package",
       "",
       {},
       false,
       "the recorded one does half an iteration per step, and each worker keeps the error of its own projection; "
       "power-sgd is Algorithm 1 of the paper"},
      {"ef21", "", {{"optimizer", "ef21"}, {"optimizer.granularity", "fused"}, {"codec.dense-steps", "1"}}},
      {"ef-sgd",
       "ef",
       {{"optimizer", "ef-sgdm"}, {"codec", "sign-l1"}, {"codec.down", "fp32"}, {"workers", "1"}},
       true},
      {"true-topk",
       "",
       {{"optimizer", "dgc"}, {"codec", "top-k"}, {"optimizer.granularity", "fused"}, {"workers", "1"}}},
      {"fetchsgd",
       "",
       {},
       false,
       "the recorded one keeps momentum and error in the sketch; count-sketch is Sketched-SGD, in which each worker "
       "keeps "
       "its error"},
      {"lamb", "", {{"optimizer", "lamb"}, {"optimizer.min-coeff", "0"}, {"optimizer.max-coeff", "1e30"}}},
  };
  return table;
}

std::string text_of(const Attributes& attributes, const std::string& key) {
  const auto found = attributes.find(key);
  return found == attributes.end() ? "" : found->second.text;
}

/// Returns the method of a case: its row of the table, or else the optimizer of that name. Throws ConfigError.
Method method_of(const std::string& name, const Attributes& attributes) {
  const std::string recorded = text_of(attributes, "optimizer"), kind = text_of(attributes, "kind");
  for (const Method& method : methods()) {
    if (method.name != recorded || (!method.kind.empty() && method.kind != kind)) continue;
    if (method.other.empty()) return method;
    throw ConfigError("the program's method of that name differs from the recorded one", name + ": " + recorded,
                      method.other);
  }
  std::vector<std::string_view> known;
  for (const optim::OptimizerEntry& entry : optim::optimizers()) known.push_back(entry.name);
  if (recorded.empty()) return {};
  if (std::find(known.begin(), known.end(), recorded) == known.end()) {
    throw ConfigError("the program does not have the method that the case was recorded with", name + ": " + recorded,
                      suggestion(recorded, known));
  }
  return {recorded, "", {{"optimizer", recorded}}};
}

/// Returns the option that corresponds to each attribute whose value needs no conversion.
const std::map<std::string, std::string>& options() {
  static const std::map<std::string, std::string> table = [] {
    std::map<std::string, std::string> all = {{"b1", "optimizer.beta1"},
                                              {"b2", "optimizer.beta2"},
                                              {"error_feedback", "feedback"},
                                              {"memory", "feedback"},
                                              {"min_compression_rate", "codec.min-rate"},
                                              {"rank", "codec.rank"},
                                              {"start_iter", "codec.dense-steps"},
                                              {"top_k", "codec.k"},
                                              {"warm_start", "codec.warm-start"}};
    for (const std::string name : {"lr", "eps", "weight_decay", "bias_correction", "momentum", "nesterov", "max_coeff",
                                   "min_coeff", "coeff_beta", "factor_max", "factor_min", "factor_threshold",
                                   "var_freeze_step", "var_update_scaler", "local_step_scaler", "local_step_clipper"}) {
      std::string kebab = name;
      std::replace(kebab.begin(), kebab.end(), '_', '-');
      all[name] = "optimizer." + kebab;
    }
    return all;
  }();
  return table;
}

double number_of(const std::string& place, const sim::GradientTrace::Attribute& value, std::size_t i = 0) {
  if (i < value.numbers.size()) return value.numbers[i];
  throw ConfigError("a hyper-parameter of the case has the wrong type or number of values", place);
}

std::string digits_of(const std::string& place, const sim::GradientTrace::Attribute& value, std::size_t i = 0) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", number_of(place, value, i));
  return digits;
}

/// Translates topk:K or randk:K.
void add_compressor(const std::string& place, const std::string& text, Settings& settings) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (colon == text.npos || (kind != "topk" && kind != "randk")) {
    throw ConfigError("the program has no codec for the compressor of the case", place + " " + text,
                      "known: topk:K, randk:K");
  }
  settings.emplace_back("codec", kind == "topk" ? "top-k" : "random-k");
  settings.emplace_back("codec.k", text.substr(colon + 1));
  if (kind == "randk") settings.emplace_back("codec.shared", "false");
}

/// Returns whether an attribute describes the case and not its method.
bool is_remark(const std::string& key) {
  static const std::set<std::string> names = {"algorithm", "check_error", "kind", "replica_spread"};
  return names.contains(key);
}

/// Returns whether an attribute only guards a division against zero and is small enough not to matter.
bool is_negligible(const std::string& key, double value) {
  return (key == "orth_epsilon" && value >= 0 && value <= 1e-6) || (key == "eps_root" && value == 0);
}

void add(const std::string& name, const Method& method, const std::string& key,
         const sim::GradientTrace::Attribute& value, RecordedCase& result) {
  const std::string place = name + ": " + key;
  Settings& settings = result.settings;
  if (key == "betas") {
    settings.emplace_back("optimizer.beta1", digits_of(place, value, 0));
    settings.emplace_back("optimizer.beta2", digits_of(place, value, 1));
  } else if (key == "freeze_step") {
    settings.emplace_back("freeze", "fixed:" + digits_of(place, value));
  } else if (key == "compressor") {
    add_compressor(place, value.text, settings);
  } else if (key == "weight_decay" && method.gradient_decay) {
    result.penalty = number_of(place, value);
  } else if (!options().contains(key)) {
    if (!value.numbers.empty() && is_negligible(key, value.numbers[0])) return;
    throw ConfigError("the program has no option for a hyper-parameter of the case", place);
  } else if (options().at(key) == "feedback") {
    settings.emplace_back("feedback", number_of(place, value) != 0 ? "ef" : "none");
  } else {
    settings.emplace_back(options().at(key), digits_of(place, value));
  }
}

}  // namespace

RecordedCase recorded_case(const std::string& name, const Attributes& attributes) {
  const Method method = method_of(name, attributes);
  RecordedCase result{method.settings};
  for (const auto& [key, value] : attributes) {
    if (key != "optimizer" && !is_remark(key)) add(name, method, key, value, result);
  }
  return result;
}

}  // namespace onebit::experiments
