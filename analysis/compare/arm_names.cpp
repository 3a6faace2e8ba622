#include "analysis/compare/arm_names.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "compress/codecs/codec_options.hpp"
#include "device/base/text.hpp"
#include "optim/optimizer.hpp"
#include "optim/read_options.hpp"

namespace onebit::analysis {
namespace {

using Options = std::map<std::string, std::string>;

constexpr const char* kRate = "optimizer.lr";

std::string value_in(const Options& arm, const std::string& option) {
  const auto found = arm.find(option);
  return found == arm.end() ? "unset" : found->second;
}

/// Ranks options: the label first, then the optimizer, then its learning rate.
int rank_of(const std::string& option) {
  return option == kLabel ? 0 : option == "optimizer" ? 1 : option == kRate ? 2 : 3;
}

/// Whether a name contains the value of an option without the option's name.
bool speaks_for_itself(const std::string& option) {
  return option == kLabel || option == "optimizer";
}

bool ranks_before(const std::string& a, const std::string& b) {
  return rank_of(a) != rank_of(b) ? rank_of(a) < rank_of(b) : a < b;
}

/// All options of the arms, in the order of their rank.
std::vector<std::string> options_in(std::span<const Options> arms) {
  std::set<std::string> all;
  for (const Options& arm : arms) {
    for (const auto& [option, value] : arm) all.insert(option);
  }
  std::vector<std::string> options(all.begin(), all.end());
  std::ranges::sort(options, ranks_before);
  return options;
}

std::size_t different_arms(std::span<const Options> arms, const std::vector<std::string>& options) {
  std::set<std::vector<std::string>> different;
  for (const Options& arm : arms) {
    std::vector<std::string> values;
    for (const std::string& option : options) values.push_back(value_in(arm, option));
    different.insert(values);
  }
  return different.size();
}

/// Returns the differing options that are needed to distinguish the arms: from the last option to the first, each one
/// is dropped if the remaining ones distinguish as many arms.
std::vector<std::string> telling_options(std::span<const Options> arms) {
  std::vector<std::string> options = options_in(arms);
  std::erase_if(options, [&](const std::string& option) { return different_arms(arms, {option}) == 1; });
  const std::size_t all = different_arms(arms, options);
  for (std::size_t i = options.size(); i-- > 0;) {
    std::vector<std::string> fewer = options;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (different_arms(arms, fewer) == all) options = fewer;
  }
  return options;
}

std::string last_part(const std::string& option) {
  return option.substr(option.rfind('.') + 1);
}

std::string short_name(const std::string& option, const std::vector<std::string>& options) {
  if (last_part(option) == "lr") return option == kRate ? "lr" : option;
  const bool clear = std::ranges::count(options, last_part(option), last_part) == 1;
  return clear ? last_part(option) : option;
}

/// Returns what an option is called in a label's meaning: "boundary codec", so as not to be taken for "codec".
std::string full_name(const std::string& option, const std::vector<std::string>& options) {
  return option.starts_with("boundary.") ? "boundary " + last_part(option) : short_name(option, options);
}

std::string name_by(const std::vector<std::string>& options, const Options& arm, decltype(short_name)& called) {
  std::vector<std::string> words;
  for (const std::string& option : options) {
    const std::string value = value_in(arm, option);
    words.push_back(speaks_for_itself(option) ? value : called(option, options) + " " + value);
  }
  return join(words, ", ");
}

/// Returns the name of a configuration that need not be distinguished from others.
std::string name_alone(const Options& arm) {
  for (const char* option : {kLabel, "optimizer"}) {
    if (arm.contains(option)) return arm.at(option);
  }
  return "run";
}

}  // namespace

bool has_effect(const std::string& option, const std::map<std::string, std::string>& arm) {
  const std::string optimizer = value_in(arm, "optimizer");
  const auto is_in = [&](const std::string& group) { return option == group || option.starts_with(group + "."); };
  if (option == "optimizer" || option == kRate || optim::options_of_optimizer(optimizer).empty()) return true;
  if (is_in("optimizer")) return optim::takes_option(optimizer, option.substr(std::string("optimizer.").size()));
  if (is_in("freeze")) return optim::takes_option(optimizer, "freeze");
  if (is_in("boundary") && option != "boundary.codec") {
    const auto read = compress::options_of_codec(value_in(arm, "boundary.codec"));
    return !read || !compress::is_codec_option(last_part(option)) || has_word(*read, last_part(option));
  }
  if (!is_in("codec") && !is_in("feedback") && !is_in("channel")) return true;
  optim::OptimizerConfig config;
  config.name = optimizer;
  if (optim::codecs_of(config) == optim::Codecs::none) return false;
  const auto read =
      is_in("codec") && option != "codec" ? compress::options_of_codec(value_in(arm, "codec")) : std::nullopt;
  return !read || has_word(*read, last_part(option));
}

double number_in(const std::string& text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = code == std::errc() && end == text.data() + text.size();
  return whole ? number : std::numeric_limits<double>::quiet_NaN();
}

std::vector<std::string> arm_names(std::span<const Options> arms) {
  const std::vector<std::string> options = telling_options(arms);
  std::vector<std::string> names;
  for (const Options& arm : arms) {
    names.push_back(options.empty() ? name_alone(arm) : name_by(options, arm, short_name));
  }
  return names;
}

std::string label_meanings(std::span<const Options> arms) {
  std::vector<std::pair<std::string, Options>> labels;  // in order of appearance, with the options of the first arm
  std::set<std::string> varying = {kLabel};
  for (const Options& arm : arms) {
    const std::string label = arm.contains(kLabel) ? arm.at(kLabel) : "";
    if (label.empty()) return "";
    const auto known = std::ranges::find(labels, label, &std::pair<std::string, Options>::first);
    if (known == labels.end()) {
      labels.emplace_back(label, arm);
      continue;
    }
    for (const std::string& option : options_in(std::vector{known->second, arm})) {
      if (value_in(known->second, option) != value_in(arm, option)) varying.insert(option);
    }
  }
  std::vector<std::string> options;  // those in which labels differ
  for (const std::string& option : options_in(arms)) {
    const bool differs = std::ranges::any_of(labels, [&](const auto& label) {
      return value_in(label.second, option) != value_in(labels.front().second, option);
    });
    if (differs && !varying.contains(option)) options.push_back(option);
  }
  std::vector<std::string> meanings;
  for (const std::pair<std::string, Options>& each : labels) {
    std::vector<std::string> effective = options;
    const bool is_optimizer = value_in(each.second, "optimizer") == each.first;
    std::erase_if(effective, [&](const std::string& option) {
      return !has_effect(option, each.second) || (is_optimizer && option == "optimizer");
    });
    const std::string meaning = name_by(effective, each.second, full_name);
    const bool names_optimizer = std::ranges::find(effective, "optimizer") != effective.end();
    if (!meaning.empty()) meanings.push_back(each.first + (names_optimizer ? " is " : " has ") + meaning);
  }
  return join(meanings, "; ");
}

std::string spoken_name(const std::string& name) {
  const std::size_t comma = name.find(", ");
  return comma == std::string::npos ? name : name.substr(0, comma) + " (" + name.substr(comma + 2) + ")";
}

bool names_rate(const std::string& name, const Options& arm) {
  const auto rate = arm.find(kRate);
  return rate != arm.end() && (", " + name + ",").find(", lr " + rate->second + ",") != std::string::npos;
}

bool value_before(const std::string& a, const std::string& b) {
  const double x = number_in(a), y = number_in(b);
  if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
  if (!std::isnan(x)) return x == y ? a < b : x < y;
  const std::size_t colon = a.find(':');
  const bool same_word = colon != std::string::npos && a.substr(0, colon) == b.substr(0, b.find(':'));
  return same_word && b.size() > colon ? value_before(a.substr(colon + 1), b.substr(colon + 1)) : a < b;
}

bool options_before(const Options& a, const Options& b) {
  for (const std::string& option : options_in(std::vector{a, b})) {
    const std::string left = value_in(a, option), right = value_in(b, option);
    if (left == right) continue;
    return value_before(left, right);
  }
  return false;
}

}  // namespace onebit::analysis
