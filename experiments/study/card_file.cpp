#include <cmath>
#include <limits>

#include "device/base/error.hpp"
#include "experiments/options/json_file.hpp"
#include "experiments/study/card.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kWanted = "a card is written by 'onebit card'";

/// An object or a list in a card, with its place for error messages.
class Node {
 public:
  Node(const JsonTree& tree, std::string place) : tree_(tree), place_(std::move(place)) {}

  Node child(const std::string& key) const {
    const auto found = tree_.find(key);
    if (found == tree_.not_found()) throw ConfigError("the card lacks a part", place_ + ": " + key, kWanted);
    return {found->second, place_ + ": " + key};
  }

  std::string text(const std::string& key) const { return child(key).tree_.data(); }
  Index integer(const std::string& key) const { return parse_integer(place_ + ": " + key, text(key)); }
  /// Returns a number; null stands for one that is not finite.
  double real(const std::string& key) const {
    const std::string digits = text(key);
    return digits == "null" ? std::numeric_limits<double>::quiet_NaN() : parse_real(place_ + ": " + key, digits);
  }

  std::vector<Node> items(const std::string& key) const {
    const Node list = child(key);
    std::vector<Node> items;
    for (const auto& [name, item] : list.tree_)
      items.emplace_back(item, list.place_ + " " + std::to_string(items.size()));
    return items;
  }

  std::vector<std::string> texts(const std::string& key) const {
    std::vector<std::string> texts;
    for (const Node& item : items(key)) texts.push_back(item.tree_.data());
    return texts;
  }

  void add_options(sim::LogHeader& header) const {
    for (const auto& [option, value] : child("options").tree_) header.config.emplace_back(option, value.data());
  }

 private:
  const JsonTree& tree_;
  std::string place_;
};

CardRun read_run(const Node& root, const Node& arm, const Node& run) {
  CardRun result;
  result.result = {.arm = arm.text("name"),
                   .seed = 0,
                   .status = run.text("status"),
                   .steps = run.integer("steps"),
                   .freeze_step = run.integer("freeze_step"),
                   .final_loss = run.real("final_loss"),
                   .bytes = run.real("bytes_per_worker"),
                   .curve = run.text("curve_hash")};
  const Index seed = run.integer("seed");
  if (seed < 0 || seed > std::numeric_limits<std::uint32_t>::max())
    throw ConfigError("the card has an impossible seed", std::to_string(seed), kWanted);
  result.result.seed = result.header.seed = static_cast<std::uint32_t>(seed);
  result.log = run.text("log");
  result.not_repeated = run.text("not_repeated");
  for (const auto& [key, place] : std::initializer_list<std::pair<const char*, std::string sim::LogHeader::*>>{
           {"program_version", &sim::LogHeader::program_version},
           {"git_commit", &sim::LogHeader::git_commit},
           {"created_utc", &sim::LogHeader::created_utc},
           {"host", &sim::LogHeader::host},
           {"devices", &sim::LogHeader::devices},
           {"data_hash", &sim::LogHeader::data_hash},
           {"command_line", &sim::LogHeader::command_line}}) {
    result.header.*place = run.text(key);
  }
  for (const Node* level : {&root, &arm, &run}) level->add_options(result.header);
  return result;
}

}  // namespace

Card read_card(const std::string& path) {
  const JsonTree tree = read_json_file(path, "card", kWanted);
  const Node root(tree, path);
  if (tree.get<std::string>("format", "") != kCardFormat) throw ConfigError("not a card", path, kWanted);
  if (root.integer("format_version") > kCardVersion) {
    throw ConfigError(
        "the card was written by a newer version of the program", path,
        "its format is " + root.text("format_version") + ", this program reads format " + std::to_string(kCardVersion));
  }
  const Node criteria = root.child("criteria");
  Card card{.baseline = criteria.text("baseline"),
            .margin = criteria.real("margin"),
            .no_verdicts = root.text("no_verdicts"),
            .left_out = root.texts("left_out")};
  for (const Node& arm : root.items("arms")) {
    for (const Node& run : arm.items("runs")) card.runs.push_back(read_run(root, arm, run));
  }
  for (const Node& verdict : root.items("verdicts")) {
    card.verdicts.push_back(
        {verdict.text("arm"), verdict.text("baseline"), verdict.text("judgement"), verdict.text("sentence")});
  }
  if (card.runs.empty()) throw ConfigError("the card has no run", path, kWanted);
  return card;
}

}  // namespace onebit::experiments
