#include "experiments/options.hpp"

#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include "device/error.hpp"
#include "device/text.hpp"

namespace onebit::experiments {
namespace {

using sim::RunConfig;

[[noreturn]] void malformed(const std::string& option, const std::string& text, const std::string& wanted) {
  throw ConfigError("malformed option value", option + " '" + text + "'", "wanted: " + wanted);
}

template <class Number>
bool parse_whole(const std::string& text, Number& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

std::string to_text(Index value) {
  return std::to_string(value);
}
std::string to_text(bool value) {
  return value ? "true" : "false";
}
std::string to_text(const std::string& value) {
  return value;
}

std::string to_text(double value) {
  return shortest(value);
}

void parse_into(const std::string& option, const std::string& text, Index& value) {
  value = parse_integer(option, text);
}
void parse_into(const std::string& option, const std::string& text, double& value) {
  value = parse_real(option, text);
}
void parse_into(const std::string&, const std::string& text, std::string& value) {
  value = text;
}

void parse_into(const std::string& option, const std::string& text, bool& value) {
  value = parse_boolean(option, text);
}

/// An option that is a field of the configuration.
template <class Place>
RunOption field(const std::string& name, const std::string& help, Place place) {
  return {name, help,
          [name, place](RunConfig& config, const std::string& text) { parse_into(name, text, place(config)); },
          [place](const RunConfig& config) { return to_text(place(const_cast<RunConfig&>(config))); }};
}

/// An option that is one of a few words.
template <class Place, class Value>
RunOption choice(const std::string& name, const std::string& help, Place place, std::map<std::string, Value> words) {
  std::string wanted;
  for (const auto& [word, value] : words) wanted += (wanted.empty() ? "" : ", ") + word;
  return {name, help + " (" + wanted + ")",
          [name, place, words, wanted](RunConfig& config, const std::string& text) {
            const auto found = words.find(text);
            if (found == words.end()) malformed(name, text, wanted);
            place(config) = found->second;
          },
          [place, words](const RunConfig& config) {
            for (const auto& [word, value] : words) {
              if (place(const_cast<RunConfig&>(config)) == value) return word;
            }
            return std::string();
          }};
}

/// An integer field narrower than Index.
template <class Place>
RunOption bounded(const std::string& name, const std::string& help, Index high, Place place) {
  return {name, help,
          [name, high, place](RunConfig& config, const std::string& text) {
            const Index value = parse_integer(name, text);
            if (value < 0 || value > high) {
              throw ConfigError("option out of range", name + " " + text, "from 0 to " + std::to_string(high));
            }
            auto& field = place(config);
            field = static_cast<std::remove_reference_t<decltype(field)>>(value);
          },
          [place](const RunConfig& config) { return std::to_string(place(const_cast<RunConfig&>(config))); }};
}

RunOption layers_option() {
  return {"model.layers", "mlp: widths from input to output, e.g. 784,256,10; empty: features,128,classes",
          [](RunConfig& config, const std::string& text) {
            config.model.layers.clear();
            if (text.ends_with(',')) malformed("model.layers", text, "widths separated by commas");
            for (const std::string& width : split(text, ',')) {
              config.model.layers.push_back(parse_integer("model.layers", width));
            }
          },
          [](const RunConfig& config) {
            std::vector<std::string> widths;
            for (Index width : config.model.layers) widths.push_back(std::to_string(width));
            return join(widths, ",");
          }};
}

RunOption paths_option() {
  return {"data.path", "files or folders, separated by commas",
          [](RunConfig& config, const std::string& text) {
            config.data.paths = split(text, ',');
            for (const std::string& path : config.data.paths) {
              if (path.empty()) malformed("data.path", text, "files or folders separated by single commas");
            }
          },
          [](const RunConfig& config) { return join(config.data.paths, ","); }};
}

#define PLACE(member)               \
  [](RunConfig & config) -> auto& { \
    return config.member;           \
  }

std::vector<RunOption> model_and_data_options() {
  return {
      field("model", "benchmark model, see 'onebit list models'", PLACE(model.name)),
      layers_option(),
      field("model.activation", "mlp, ngram: relu or gelu", PLACE(model.activation)),
      field("model.context", "ngram: bytes before the target", PLACE(model.context)),
      field("model.embedding", "ngram: numbers per byte", PLACE(model.embedding)),
      field("model.hidden", "ngram: width of the hidden layer", PLACE(model.hidden)),
      field("data", "data source, see 'onebit list data'", PLACE(data.name)),
      paths_option(),
      field("data.holdout", "share of the examples held out for evaluation", PLACE(data.holdout)),
      field("data.features", "synthetic: numbers per example", PLACE(data.features)),
      field("data.classes", "synthetic: classes", PLACE(data.classes)),
      field("data.examples", "synthetic: examples in both splits", PLACE(data.examples)),
  };
}

std::vector<RunOption> run_size_options() {
  return {
      field("workers", "virtual data-parallel workers", PLACE(workers)),
      field("batch", "examples per worker and step", PLACE(batch)),
      field("steps", "steps; 0: from epochs, else 1000", PLACE(steps)),
      field("epochs", "passes over the training split; 0: from steps", PLACE(epochs)),
      bounded("seed", "seed of initial weights and sampling", 0xFFFFFFFF, PLACE(seed)),
      field("devices", "where to compute, see 'onebit list devices'", PLACE(device)),
      bounded("threads", "OpenMP threads; 0: one per core", 4096, PLACE(threads)),
      field("worker-group", "workers whose gradients exist at a time; 0: all", PLACE(worker_group)),
      field("log.every", "steps between rows of /steps", PLACE(log.every)),
      field("log.workers-every", "steps between rows of /workers; 0: none", PLACE(log.workers_every)),
      field("log.tensors-every", "steps between rows of /tensors; 0: none", PLACE(log.tensors_every)),
      field("log.flush", "longest time between flushes, in seconds", PLACE(log.flush_seconds)),
      field("eval.every", "steps between evaluations; 0: a twentieth of the run", PLACE(eval.every)),
      field("eval.examples", "held-out examples per evaluation, evenly spread", PLACE(eval.examples)),
  };
}

std::vector<RunOption> optimizer_options() {
  using compress::Feedback;
  using compress::Granularity;
  using optim::Semantics;
  return {
      field("optimizer", "see 'onebit list optimizers'", PLACE(optimizer.name)),
      field("optimizer.lr", "base learning rate", PLACE(optimizer.lr)),
      field("optimizer.beta1", "decay of the momentum", PLACE(optimizer.beta1)),
      field("optimizer.beta2", "decay of the variance", PLACE(optimizer.beta2)),
      field("optimizer.eps", "added to the root of the variance", PLACE(optimizer.eps)),
      field("optimizer.weight-decay", "decoupled weight decay", PLACE(optimizer.weight_decay)),
      field("optimizer.bias-correction", "true or false; none in deepspeed semantics",
            PLACE(optimizer.bias_correction)),
      field("optimizer.clip", "largest global gradient norm; 0: no clipping", PLACE(optimizer.clip)),
      choice("optimizer.semantics", "the published algorithm, or DeepSpeed's released code with its quirks",
             PLACE(optimizer.semantics),
             std::map<std::string, Semantics>{{"paper", Semantics::paper}, {"deepspeed", Semantics::deepspeed}}),
      choice("optimizer.granularity", "what shares one scale and one call", PLACE(optimizer.exchange.granularity),
             std::map<std::string, Granularity>{{"tensor", Granularity::tensor}, {"fused", Granularity::fused}}),
      field("codec", "codec of the workers' vectors, see 'onebit list codecs'", PLACE(optimizer.exchange.up.name)),
      field("codec.down", "codec of the servers' vectors; empty: as codec", PLACE(optimizer.exchange.down)),
      choice("feedback", "error feedback; auto: unless the codec is unbiased", PLACE(optimizer.exchange.feedback),
             std::map<std::string, Feedback>{
                 {"auto", Feedback::automatic}, {"ef", Feedback::ef}, {"none", Feedback::none}}),
      field("freeze", "when the variance is frozen: fixed:K, fraction:F, auto or never",
            PLACE(optimizer.freeze.policy)),
      field("freeze.threshold", "auto: least stability ratio of ||v||_1", PLACE(optimizer.freeze.threshold)),
      field("freeze.lag", "auto: steps between the two norms; 0: 1/(1-beta2)", PLACE(optimizer.freeze.lag)),
      field("freeze.after", "auto: least number of dense updates", PLACE(optimizer.freeze.after)),
      field("schedule", "learning-rate schedule, see 'onebit list schedules'", PLACE(schedule.name)),
      field("schedule.warmup", "steps of linear warm-up", PLACE(schedule.warmup)),
      field("schedule.decay", "exponential, step: factor per decay-steps", PLACE(schedule.decay)),
      field("schedule.decay-steps", "exponential, step: steps per factor", PLACE(schedule.decay_steps)),
      field("schedule.final", "cosine: factor at the last step", PLACE(schedule.final)),
  };
}

#undef PLACE

std::vector<std::string_view> option_names() {
  std::vector<std::string_view> names;
  for (const RunOption& option : run_options()) names.push_back(option.name);
  return names;
}

}  // namespace

Index parse_integer(const std::string& option, const std::string& text) {
  Index value = 0;
  if (!parse_whole(text, value)) malformed(option, text, "a whole number");
  return value;
}

bool parse_boolean(const std::string& option, const std::string& text) {
  if (text == "true" || text == "on" || text == "1" || text == "yes") return true;
  if (text == "false" || text == "off" || text == "0" || text == "no") return false;
  malformed(option, text, "true or false");
}

double parse_real(const std::string& option, const std::string& text) {
  double value = 0;
  if (!parse_whole(text, value) || !std::isfinite(value)) malformed(option, text, "a finite number");
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> items;
  std::stringstream stream(text);
  for (std::string item; std::getline(stream, item, separator);) items.push_back(item);
  return items;
}

const std::vector<RunOption>& run_options() {
  static const std::vector<RunOption> table = [] {
    std::vector<RunOption> all;
    for (auto part : {run_size_options(), model_and_data_options(), optimizer_options()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return table;
}

sim::RunConfig make_config(const Settings& settings) {
  RunConfig config;
  for (const auto& [name, value] : settings) {
    const RunOption* found = nullptr;
    for (const RunOption& option : run_options()) {
      if (option.name == name) found = &option;
    }
    if (found == nullptr) throw ConfigError("unknown option", name, suggestion(name, option_names()));
    found->set(config, value);
  }
  return config;
}

Settings values_of(const sim::RunConfig& config) {
  Settings values;
  for (const RunOption& option : run_options()) values.emplace_back(option.name, option.get(config));
  return values;
}

}  // namespace onebit::experiments
