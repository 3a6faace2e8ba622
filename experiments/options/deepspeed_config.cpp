#include "experiments/options/deepspeed_config.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/options/deepspeed_types.hpp"
#include "experiments/options/json_file.hpp"

namespace onebit::experiments {
namespace {

using deepspeed::Parameter, deepspeed::Type, deepspeed::Unused;

constexpr const char* kTrainBatch = "train_batch_size";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

template <class Rows>
auto find_key(const Rows& rows, const std::string& key) {
  return std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.key == key; });
}

template <class Rows>
bool has_key(const Rows& rows, const std::string& key) {
  return find_key(rows, key) != rows.end();
}

/// Reads the parts of a file into the rows of the result.
class Reader {
 public:
  explicit Reader(const std::string& path) { result_.path = path; }

  DeepspeedConfig read() {
    const JsonTree root = read_json_file(result_.path, "DeepSpeed configuration");
    check_object(root, "");
    const auto optimizer = root.find("optimizer");
    if (optimizer == root.not_found()) fail("no optimizer section", "", "expected: \"optimizer\": {\"type\": ...}");
    read_optimizer(optimizer->second);
    for (const Parameter& parameter : deepspeed::parameters_beside()) read_value(root, "", parameter);
    for (const auto& [key, value] : root) {
      if (key == kTrainBatch) {
        read_train_batch(value);
      } else if (key != "optimizer" && !has_key(deepspeed::parameters_beside(), key)) {
        ignore_beside(key);
      }
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& key, const std::string& hint) const {
    throw ConfigError(what, result_.path + (key.empty() ? "" : ": " + key), hint);
  }

  /// Throws if a value is not a JSON object or has a key twice.
  void check_object(const JsonTree& tree, const std::string& place) const {
    std::set<std::string> seen;
    for (const auto& [key, value] : tree) {
      if (key.empty()) fail("not a JSON object", place, "expected: {\"key\": value, ...}");
      if (!seen.insert(key).second) fail("key given twice", place + key, "give it once");
    }
    if (!tree.data().empty()) fail("not a JSON object", place, "expected: {\"key\": value, ...}");
  }

  void read_optimizer(const JsonTree& section) {
    check_object(section, "optimizer.");
    const auto named = section.find("type");
    if (named == section.not_found()) fail("no optimizer type", "optimizer", "expected: \"type\": \"OneBitAdam\"");
    const std::string name = named->second.data();
    const Type& type = find_type(name);
    result_.mapped.push_back({"optimizer.type", "optimizer", type.optimizer, true});
    result_.mapped.push_back({"optimizer.type", "optimizer.semantics", type.semantics, true});
    const auto found = section.find("params");
    const JsonTree parameters = found == section.not_found() ? JsonTree() : found->second;
    const std::string place = "optimizer.params.";
    check_object(parameters, place);
    for (const Parameter& parameter : type.parameters) read_value(parameters, place, parameter);
    for (const auto& [key, value] : parameters) check_unused(type, key, value, parameters);
    for (const auto& [key, value] : section) {
      if (key != "type" && key != "params") result_.ignored.push_back({"optimizer." + key, deepspeed::kElsewhere});
    }
  }

  const Type& find_type(const std::string& name) const {
    std::vector<std::string_view> names;
    for (const Type& type : deepspeed::types()) {
      if (lower(type.name) == lower(name)) return type;
      names.push_back(type.name);
    }
    fail("unknown optimizer type", "optimizer.type '" + name + "'", suggestion(name, names));
  }

  void ignore_beside(const std::string& key) {
    const auto rows = deepspeed::unused_beside();
    const auto known = find_key(rows, key);
    result_.ignored.push_back({key, known == rows.end() ? deepspeed::kElsewhere : known->reason});
  }

  /// Returns whether a value is "auto", which leaves the choice to the options. Records such a value as ignored.
  bool is_automatic(const std::string& key, const JsonTree& value) {
    if (!value.empty() || value.data() != "auto") return false;
    result_.ignored.push_back({key, "auto: the options determine it"});
    return true;
  }

  void read_train_batch(const JsonTree& value) {
    if (is_automatic(kTrainBatch, value)) return;
    if (!value.empty()) fail("wrong type of value", kTrainBatch, "expected: a single value");
    result_.train_batch = parse_integer(result_.path + ": " + kTrainBatch, value.data());
    if (result_.train_batch < 1) fail("option out of range", kTrainBatch + (" " + value.data()), "at least 1");
  }

  /// Records a parameter without an option as ignored. Refuses a parameter that the type does not have, and a value
  /// that this program does not support.
  void check_unused(const Type& type, const std::string& key, const JsonTree& value, const JsonTree& parameters) {
    if (has_key(type.parameters, key)) return;
    const std::string place = "optimizer.params." + key;
    if (key == "max_grad_norm")
      fail("not a parameter of the optimizer", place, "use gradient_clipping, next to the optimizer section");
    const auto known = find_key(type.unused, key);
    if (known == type.unused.end()) {
      std::vector<std::string_view> names;
      for (const Parameter& parameter : type.parameters) names.emplace_back(parameter.key);
      fail("unknown parameter of " + std::string(type.name), place, suggestion(key, names));
    }
    if (known->only != nullptr && value.data() != known->only) {
      fail("unsupported value of a parameter", place + " '" + value.data() + "'",
           std::string("expected: ") + known->only);
    }
    if (key == "adam_w_mode" || key == "torch_adam") check_decay(type, parameters);
    result_.ignored.push_back({place, known->reason});
  }

  /// Refuses weight decay that is not decoupled: AdamW always decouples it, and Adam does unless adam_w_mode is false.
  /// Also refuses torch_adam without weight_decay, because PyTorch's default differs from DeepSpeed's.
  void check_decay(const Type& type, const JsonTree& parameters) const {
    const std::string decay = parameters.get<std::string>("weight_decay", "");
    const bool decoupled = lower(type.name) == "adamw" || parameters.get<std::string>("adam_w_mode", "true") == "true";
    if (decay.empty() && parameters.get<std::string>("torch_adam", "false") == "true") {
      fail("weight_decay is not given", "optimizer.params.torch_adam",
           "with torch_adam its default would be PyTorch's; give weight_decay");
    }
    if (!decoupled && !decay.empty() && parse_real("weight_decay", decay) > 0) {
      fail("weight decay in the gradient is not supported", "optimizer.params.adam_w_mode",
           "set adam_w_mode to true, or weight_decay to 0");
    }
  }

  /// Translates a value of `tree`, or its default, into options.
  void read_value(const JsonTree& tree, const std::string& prefix, const Parameter& parameter) {
    const std::string key = prefix + parameter.key;
    const auto found = tree.find(parameter.key);
    const bool automatic = parameter.automatic && found != tree.not_found() && is_automatic(key, found->second);
    const bool given = found != tree.not_found() && !automatic;
    const std::vector<std::string> texts = given ? items(found->second, key, parameter) : parameter.fallback;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      parameter.check(result_.path + ": " + key, texts[i]);
      result_.mapped.push_back({key, parameter.options[i], parameter.prefix + texts[i], given});
    }
  }

  /// Returns one text per option, from a list or a single value.
  std::vector<std::string> items(const JsonTree& value, const std::string& key, const Parameter& parameter) const {
    const std::size_t wanted = parameter.options.size();
    if (wanted == 1 && value.empty()) return {value.data()};
    std::vector<std::string> texts;
    for (const auto& [name, item] : value) {
      if (name.empty() && item.empty()) texts.push_back(item.data());
    }
    if (wanted == 1 || texts.size() != value.size() || texts.size() != wanted) {
      fail("wrong type of value", key, wanted == 1 ? "expected: a single value" : "expected: a list of two numbers");
    }
    return texts;
  }

  DeepspeedConfig result_;
};

}  // namespace

Settings DeepspeedConfig::settings() const {
  Settings settings;
  for (const Mapped& row : mapped) settings.emplace_back(row.option, row.value);
  return settings;
}

DeepspeedConfig read_deepspeed_config(const std::string& path) {
  return Reader(path).read();
}

}  // namespace onebit::experiments
