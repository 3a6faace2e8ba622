#include "experiments/options/idle_options.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compress/codecs/codec_options.hpp"
#include "device/base/text.hpp"
#include "experiments/options/cluster_files.hpp"
#include "optim/read_options.hpp"
#include "sim/run/deciding_options.hpp"

namespace onebit::experiments {
namespace {

template <class Options, class Config>
std::string with(const Options& options, const std::string& selector, const Config& config) {
  const auto option = std::ranges::find(options, selector, [](const auto& each) { return each.name; });
  const std::string value = option->get(config);
  return value.empty() ? "without --" + selector : "with --" + selector + " " + value;
}

std::string with(const std::string& selector, const sim::RunConfig& config) {
  return with(run_options(), selector, config);
}

/// Options that have an effect only if another option has certain values.
template <class Config>
struct Condition {
  std::string_view options;
  bool (*holds)(const Config&);
  const char* selector;  ///< the other option
};

/// Returns the number of steps of 0/1 Adam after its freeze; the largest Index if that number depends on the data.
Index local_steps(const sim::RunConfig& run) {
  const Index most = std::numeric_limits<Index>::max();
  return run.epochs > 0 ? most : sim::total_steps(run, 0) - run.optimizer.zeroone.var_freeze_step;
}

constexpr Condition<sim::RunConfig> kConditions[] = {
    {"freeze.threshold freeze.after freeze.scope",
     [](const auto& run) {
       return run.optimizer.freeze.policy == "auto" || run.optimizer.freeze.policy == "published";
     },
     "freeze"},
    {"freeze.dwell", [](const auto& run) { return run.optimizer.freeze.policy == "auto"; }, "freeze"},
    {"optimizer.no-decay", [](const auto& run) { return run.optimizer.weight_decay > 0; }, "optimizer.weight-decay"},
    {"optimizer.nesterov", [](const auto& run) { return run.optimizer.momentum > 0; }, "optimizer.momentum"},
    {"optimizer.bias-correction", [](const auto& run) { return run.optimizer.semantics == optim::Semantics::paper; },
     "optimizer.semantics"},
    {"optimizer.variance-floor optimizer.variance-refresh",
     [](const auto& run) { return run.optimizer.freeze.policy != "never"; }, "freeze"},
    {"optimizer.factor-max optimizer.factor-min optimizer.factor-threshold",
     [](const auto& run) { return run.optimizer.freeze.policy != "never"; }, "freeze"},
    {"optimizer.local-step-scaler optimizer.local-step-clipper", [](const auto& run) { return local_steps(run) > 0; },
     "optimizer.var-freeze-step"},
    {"optimizer.local-step-clipper",
     [](const auto& run) { return local_steps(run) > run.optimizer.zeroone.local_step_scaler; },
     "optimizer.local-step-scaler"},
    {"probe.curvature probe.moved", [](const auto& run) { return run.probe.every > 0; }, "probe.every"},
    {"boundary.k boundary.scope boundary.renew boundary.forward boundary.backward boundary.levels boundary.block "
     "boundary.threshold boundary.scaled boundary.packing",
     [](const auto& run) { return run.model.boundary.compresses(); }, "boundary.codec"},
    {"tables.eps", [](const auto& run) { return run.model.tables.optimizer == "adagrad"; }, "tables.optimizer"},
    {"model.groups", [](const auto& run) { return run.model.norm == "group"; }, "model.norm"},
    {"model.lambda", [](const auto& run) { return run.model.regulariser != "none"; }, "model.regulariser"},
    {"model.condition", [](const auto& run) { return run.model.spectrum != "flat"; }, "model.spectrum"},
    {"eval.split eval.examples",
     [](const auto& run) { return run.data.name != "none" || run.model.name == "external"; }, "data"},
    {"data.features",
     [](const auto& run) { return run.data.name != "synthetic" || run.data.image == sim::ImageShape{}; }, "data.image"},
    {"data.max-rows", [](const auto& run) { return run.data.name == "criteo" || run.data.rows == "kaggle"; },
     "data.rows"},
    {"data.tables", [](const auto& run) { return run.data.rows.find(',') == std::string::npos; }, "data.rows"},
    {"data.fixed-bag", [](const auto& run) { return run.data.bag != 1; }, "data.bag"},
    {"data.lowercase", [](const auto& run) { return !run.data.vocabulary.empty(); }, "data.vocabulary"},
    {"data.holdout", [](const auto& run) { return run.data.test.empty(); }, "data.test"},
    {"graphs", [](const auto& run) { return !sim::backend_of(run.device).empty(); }, "devices"},
};

bool has_tables(const PriceConfig& price) {
  return !price.workload.empty() && load_workload(price.workload).tables.count > 0;
}

/// Whether the codec of a boundary reads the share of the values that it sends.
bool boundary_reads_share(const PriceConfig& price) {
  const auto options = compress::options_of_codec(price.hybrid.codec);
  return price.hybrid.codec == "dct-mp" || (options && has_word(*options, "k"));
}

constexpr Condition<PriceConfig> kPriceConditions[] = {
    {"tables.split step.model-ratio boundary.codec boundary.k boundary.values", has_tables, "workload"},
    {"boundary.k", boundary_reads_share, "boundary.codec"},
    {"boundary.values", [](const auto& price) { return price.hybrid.codec == "dct-mp"; }, "boundary.codec"},
    {"step.bucket", [](const auto& price) { return !has_tables(price); }, "workload"},
    {"step.bucket step.stretch", [](const auto& price) { return price.step.overlap != netmodel::Overlap::none; },
     "step.overlap"},
    {"step.bucket step.stretch",
     [](const auto& price) {
       const bool times = !std::isnan(price.forward.value) && !std::isnan(price.backward.value);
       return price.step.overlap == netmodel::Overlap::buckets || !price.workload.empty() || times;
     },
     "workload"},
    {"cluster.uncertainty", [](const auto& price) { return !price.optimizers.empty(); }, "optimizers"},
    {"bytes", [](const auto& price) { return price.collective.has_value(); }, "collective"},
};

/// Returns the selector of the first condition on an option that does not hold; null if all of them hold.
template <class Config, std::size_t count>
const char* failed(const Condition<Config> (&conditions)[count], const std::string& option, const Config& config) {
  for (const Condition<Config>& each : conditions) {
    if (has_word(each.options, option) && !each.holds(config)) return each.selector;
  }
  return nullptr;
}

bool is_of_exchange(const std::string& option) {
  return option == "codec" || option.starts_with("codec.") || option == "feedback" || option == "feedback.dtype" ||
         option == "channel";
}

/// Returns whether one of an exchange's codecs reads a parameter.
bool codec_reads(const compress::ExchangeConfig& exchange, const std::string& name) {
  const auto reads = [&](const std::string& codec) {
    const auto options = compress::options_of_codec(codec);
    return !options || has_word(*options, name);
  };
  const bool summed = exchange.pattern == compress::ExchangePattern::linear ||
                      (exchange.pattern == compress::ExchangePattern::automatic && exchange.down.empty());
  if (has_word("warm-start min-rate", name)) return summed && reads(exchange.up.name);  // for all-reduced factors only
  const bool down = !exchange.down.empty() && name != "packing";  // only payloads on the way up are packed
  return reads(exchange.up.name) || (down && reads(exchange.down));
}

/// Returns the selector that keeps an option of an exchange from being read; null if the option is read.
const char* unread_in_exchange(const std::string& option, const optim::OptimizerConfig& config) {
  const optim::Codecs codecs = optim::codecs_of(config);
  if (codecs == optim::Codecs::none) return "optimizer";
  const bool freezes = optim::takes_option(config.name, "freeze");
  if (freezes && config.freeze.policy == "never") return "freeze";  // compression begins at the freeze
  const std::string prefix = "codec.";
  const bool parameter = option.starts_with(prefix) && !has_word("codec.down codec.dense codec.dense-steps", option);
  if (!parameter || codec_reads(config.exchange, option.substr(prefix.size()))) return nullptr;
  return codecs == optim::Codecs::its_own ? "optimizer" : "codec";
}

/// Returns the selector that keeps an option from being read, according to the tables; null if the option is read.
const char* unread_by_choice(const std::string& option, const sim::RunConfig& config) {
  if (is_of_exchange(option)) return unread_in_exchange(option, config.optimizer);
  const auto after = [&](const std::string& prefix) { return option.substr(prefix.size()); };
  if (has_word("boundary.k boundary.renew boundary.levels boundary.block boundary.threshold boundary.scaled "
               "boundary.packing",
               option)) {
    const std::string& codec = config.model.boundary.codec.name;
    const auto read = compress::options_of_codec(codec == "dct-mp" ? "dct" : codec);
    return !read || has_word(*read, after("boundary.")) ? nullptr : "boundary.codec";
  }
  if (option.starts_with("schedule.") && option != "schedule.warmup") {
    return has_word(optim::options_of_schedule(config.schedule.name), after("schedule.")) ? nullptr : "schedule";
  }
  if (option == "optimizer.semantics" && config.optimizer.semantics == optim::Semantics::paper) return nullptr;
  std::string name;
  if (option.starts_with("optimizer.")) name = after("optimizer.");
  if (option == "freeze" || option == "freeze.lag") name = option;
  if (has_word("freeze.threshold freeze.after freeze.dwell freeze.scope", option)) name = "freeze";
  if (!name.empty() && !optim::takes_option(config.optimizer.name, name)) return "optimizer";
  return name == "granularity" ? unread_in_exchange(option, config.optimizer) : nullptr;
}

constexpr std::string_view kPlanned =
    "steps workers batch accumulation optimizer optimizer.semantics optimizer.granularity optimizer.local-period "
    "optimizer.var-freeze-step optimizer.var-update-scaler optimizer.local-step-scaler optimizer.local-step-clipper "
    "freeze channel";

void add(std::vector<IdleOption>& options, const IdleOption& option) {
  if (std::find(options.begin(), options.end(), option) == options.end()) options.push_back(option);
}

}  // namespace

std::string unread_because(const std::string& option, const sim::RunConfig& config) {
  const char* selector = unread_by_choice(option, config);
  if (selector == nullptr) selector = failed(kConditions, option, config);
  return selector == nullptr ? "" : with(selector, config);
}

bool is_priced(const std::string& option) {
  return has_word(kPlanned, option) || option == "codec" || option.starts_with("codec.");
}

std::string unpriced_because(const std::string& option, const sim::RunConfig& config) {
  const bool scheduled = option != "steps" || optim::schedule_of(config.optimizer.name) != nullptr;
  if (!is_priced(option) || !scheduled) return "on prices";
  const std::string& policy = config.optimizer.freeze.policy;
  const char* selector = unread_by_choice(option, config);
  if (selector != nullptr) return with(selector, config);
  if (option != "freeze" || policy == "never" || policy.starts_with("fraction:")) return "";
  return "on prices unless it is 'fraction:F' or 'never'; --step.warmup-share sets the share of warm-up steps";
}

std::vector<std::string> given_options(const RunSettings& run) {
  std::vector<std::string> names;
  for (std::size_t i = run.from_preset; i < run.settings.size(); ++i) {
    const auto& [name, value] = run.settings[i];
    const std::size_t row = i - run.from_preset;
    // A DeepSpeed configuration's settings come first, one for each mapped row.
    const bool fallback = run.deepspeed && row < run.deepspeed->mapped.size() && !run.deepspeed->mapped[row].given &&
                          run.deepspeed->mapped[row].option == name;
    if (!fallback && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::vector<IdleOption> idle_options(const std::vector<std::string>& common, const std::vector<GivenRun>& runs,
                                     const Why& why) {
  std::vector<IdleOption> idle;
  for (const std::string& option : common) {
    std::vector<IdleOption> reasons;
    for (const GivenRun& run : runs) add(reasons, {option, why(option, run.config)});
    const bool read = std::ranges::any_of(reasons, [](const IdleOption& reason) { return reason.why.empty(); });
    for (const IdleOption& reason : reasons) {
      if (!read) add(idle, reason);
    }
  }
  for (const GivenRun& run : runs) {
    for (const std::string& option : run.own) {
      const std::string reason = why(option, run.config);
      if (!reason.empty()) add(idle, {option, reason});
    }
  }
  return idle;
}

std::vector<IdleOption> idle_price_options(const Settings& given, const PriceConfig& config) {
  std::vector<IdleOption> idle;
  for (const auto& [name, value] : given) {
    const char* selector = failed(kPriceConditions, name, config);
    if (selector != nullptr) add(idle, {name, with(price_options(), selector, config)});
  }
  return idle;
}

std::string text_of(const std::vector<IdleOption>& options) {
  std::vector<std::string> reasons, parts;
  for (const IdleOption& option : options) {
    if (std::find(reasons.begin(), reasons.end(), option.why) == reasons.end()) reasons.push_back(option.why);
  }
  for (const std::string& why : reasons) {
    std::vector<std::string> names;
    for (const IdleOption& option : options) {
      if (option.why == why) names.push_back("--" + option.name);
    }
    parts.push_back(join(names, ", ") + (names.size() == 1 ? " has no effect " : " have no effect ") + why);
  }
  return join(parts, "; ");
}

}  // namespace onebit::experiments
