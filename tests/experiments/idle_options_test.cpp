// Options without effect: an option causes a warning if and only if it changes no bit of what is computed and sent.

#include "experiments/options/idle_options.hpp"

#include <bit>
#include <map>
#include <sstream>

#include "compress/codecs/codec.hpp"
#include "device/base/error.hpp"
#include "experiments/cli/command_line.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/presets.hpp"
#include "experiments/study/arms.hpp"
#include "sim/cluster/virtual_cluster.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::experiments;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

Settings operator+(Settings first, const Settings& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// A run in which every option that an optimizer reads has an effect.
const Settings kTiny = {{"model", "mlp"},
                        {"model.layers", "6,16,3"},
                        {"data", "synthetic"},
                        {"data.features", "6"},
                        {"data.classes", "3"},
                        {"data.examples", "200"},
                        {"threads", "1"},
                        {"workers", "3"},
                        {"batch", "2"},
                        {"steps", "14"},
                        {"freeze", "fixed:5"},
                        {"optimizer.lr", "0.02"},
                        {"optimizer.clip", "0.5"},
                        {"optimizer.weight-decay", "0.02"},
                        {"optimizer.var-freeze-step", "6"},
                        {"optimizer.local-step-scaler", "2"},
                        {"optimizer.local-step-clipper", "2"},
                        {"optimizer.local-period", "3"},
                        {"optimizer.coeff-beta", "0.5"},
                        {"optimizer.cada-delay", "6"},
                        {"optimizer.cada-threshold", "10"},
                        {"optimizer.ramp", "2"},
                        {"schedule.decay-steps", "3"},
                        {"codec.k", "0.1"},
                        {"codec.threshold", "0.001"},
                        {"codec.renew", "20"},
                        {"codec.clip", "1"},
                        {"codec.sample", "1"}};

/// For each option, another value than in kTiny.
const std::map<std::string, std::string> kOther = {{"optimizer.lr", "0.03"},
                                                   {"optimizer.beta1", "0.8"},
                                                   {"optimizer.beta2", "0.9"},
                                                   {"optimizer.eps", "0.001"},
                                                   {"optimizer.momentum", "0.5"},
                                                   {"optimizer.nesterov", "true"},
                                                   {"optimizer.weight-decay", "0.5"},
                                                   {"optimizer.no-decay", "*"},
                                                   {"optimizer.bias-correction", "false"},
                                                   {"optimizer.variance-floor", "mean:10"},
                                                   {"optimizer.variance-refresh", "2"},
                                                   {"optimizer.clip", "1"},
                                                   {"optimizer.semantics", "deepspeed"},
                                                   {"optimizer.max-coeff", "0.02"},
                                                   {"optimizer.min-coeff", "9"},
                                                   {"optimizer.coeff-beta", "0.1"},
                                                   {"optimizer.factor-max", "0.51"},
                                                   {"optimizer.factor-min", "3.9"},
                                                   {"optimizer.factor-threshold", "0.001"},
                                                   {"optimizer.var-freeze-step", "9"},
                                                   {"optimizer.var-update-scaler", "1"},
                                                   {"optimizer.local-step-scaler", "1"},
                                                   {"optimizer.local-step-clipper", "4"},
                                                   {"optimizer.local-period", "5"},
                                                   {"optimizer.outer-lr", "0.3"},
                                                   {"optimizer.outer-momentum", "0.2"},
                                                   {"optimizer.cada-threshold", "0"},
                                                   {"optimizer.cada-window", "2"},
                                                   {"optimizer.cada-delay", "3"},
                                                   {"optimizer.ef21-momentum", "0.7"},
                                                   {"optimizer.ramp", "6"},
                                                   {"optimizer.granularity", "fused"},
                                                   {"freeze", "fixed:8"},
                                                   {"freeze.threshold", "0.5"},
                                                   {"freeze.lag", "3"},
                                                   {"freeze.after", "9"},
                                                   {"freeze.dwell", "4"},
                                                   {"freeze.scope", "tensor"},
                                                   {"schedule", "cosine"},
                                                   {"schedule.warmup", "3"},
                                                   {"schedule.decay", "0.5"},
                                                   {"schedule.decay-steps", "2"},
                                                   {"schedule.final", "0.5"},
                                                   {"codec", "int8"},
                                                   {"codec.down", "sign-l1"},
                                                   {"codec.k", "0.3"},
                                                   {"codec.levels", "3"},
                                                   {"codec.rank", "1"},
                                                   {"codec.warm-start", "false"},
                                                   {"codec.min-rate", "100"},
                                                   {"codec.dense-steps", "8"},
                                                   {"codec.block", "7"},
                                                   {"codec.norm", "max"},
                                                   {"codec.threshold", "0.05"},
                                                   {"codec.renew", "2"},
                                                   {"codec.clip", "2"},
                                                   {"codec.scaled", "true"},
                                                   {"codec.shared", "false"},
                                                   {"codec.packing", "delta"},
                                                   {"codec.sample", "0.2"},
                                                   {"codec.sketch-rows", "3"},
                                                   {"codec.sketch-columns", "11"},
                                                   {"codec.dense", "*weight*"},
                                                   {"feedback", "none"},
                                                   {"feedback.dtype", "bf16"},
                                                   {"channel", "gather"}};

void put(std::ostringstream& out, double value) {
  out << std::bit_cast<std::uint64_t>(value) << ' ';
}

/// Returns everything that a run computes and sends, bit by bit.
std::string bits_of(const sim::RunConfig& config) {
  sim::VirtualCluster cluster(config);
  std::ostringstream out;
  while (cluster.step() < cluster.steps()) {
    const sim::StepOutcome step = cluster.advance();
    for (const double value : {step.loss, step.lr, double{step.report.grad_norm}, double{step.report.clip_share},
                               double{step.report.update_norm}, step.report.stability.raw,
                               step.report.stability.corrected, step.report.uploads}) {
      put(out, value);
    }
    out << static_cast<int>(step.report.phase) << step.report.synchronised << '\n';
    for (const netmodel::Traffic& each : step.report.traffic) {
      out << static_cast<int>(each.collective) << static_cast<int>(each.type) << ' ' << each.payload_bytes << ' '
          << each.tensor << '\n';
    }
  }
  for (const float weight : cluster.final_weights()) put(out, weight);
  const optim::TensorNumbers* tensors = cluster.optimizer().state().tensors;
  for (const double number : tensors == nullptr ? std::vector<double>() : tensors->frozen_coefficient) {
    put(out, number);
  }
  const sim::Evaluation evaluation = cluster.evaluate();
  put(out, evaluation.loss);
  return out.str();
}

/// Returns the bits of a run, or nothing if its options are refused.
std::optional<std::string> bits_of(const Settings& settings) {
  try {
    return bits_of(make_config(settings));
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

/// Checks that an option which is not refused either warns or changes a bit, but not both.
void check_option(const Settings& settings, const std::string& base, const std::string& option,
                  const std::string& value) {
  const Settings changed = settings + Settings{{option, value}};
  const std::optional<std::string> bits = bits_of(changed);
  if (!bits || run_option(option).get(make_config(settings)) == run_option(option).get(make_config(changed))) return;
  const std::string why = unread_because(option, make_config(changed));
  CAPTURE(option, value, why);
  CHECK(why.empty() == (*bits != base));
}

bool is_of_optimizer(const std::string& option) {
  for (const char* prefix : {"optimizer.", "freeze", "schedule", "codec", "feedback", "channel"}) {
    if (option.starts_with(prefix)) return true;
  }
  return false;
}

std::string warning_of(const Arguments& arguments) {
  const Folder folder;
  const Outcome run = run_onebit(folder, arguments);
  CAPTURE(arguments, run.err);
  CHECK(run.status == 0);
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == (run.err.empty() ? 0 : 1));
  return run.err;
}

}  // namespace

TEST_CASE("idle options: for every optimizer an option warns where it changes no bit, and only there", "[once]") {
  for (const optim::OptimizerEntry& entry : optim::optimizers()) {
    const Settings settings = kTiny + Settings{{"optimizer", std::string(entry.name)}};
    CAPTURE(entry.name);
    const std::optional<std::string> base = bits_of(settings);
    REQUIRE(base);
    for (const RunOption& option : run_options()) {
      if (!is_of_optimizer(option.name)) continue;
      CAPTURE(option.name);
      REQUIRE(kOther.contains(option.name));
      const bool gathered = entry.name == "dgc" && option.name == "channel";  // its codec already is
      check_option(settings, *base, option.name, gathered ? "server" : kOther.at(option.name));
    }
  }
}

TEST_CASE("idle options: for every codec, up and down, an option warns where it changes no bit, and only there",
          "[once]") {
  for (const compress::CodecEntry& entry : compress::codecs()) {
    const std::string name(entry.name);
    for (const Settings& codec : {Settings{{"codec", name}}, Settings{{"codec", "fp16"}, {"codec.down", name}}}) {
      const Settings settings = kTiny + Settings{{"optimizer", "ef-sgd"}} + codec;
      const std::optional<std::string> base = bits_of(settings);
      if (!base) continue;
      CAPTURE(codec);
      for (const auto& [option, value] : kOther) {
        if (!option.starts_with("codec.") || option == "codec.down") continue;
        check_option(settings, *base, option, option == "codec.packing" && name == "qsgd" ? "elias" : value);
      }
    }
  }
}

TEST_CASE("idle options: for every schedule and freeze policy", "[once]") {
  std::vector<Settings> choices = {
      {{"optimizer", "onebit-adam"},
       {"freeze", "auto"},
       {"freeze.lag", "2"},
       {"freeze.threshold", "0.9"},
       {"optimizer.clip", "0"}},
      {{"optimizer", "onebit-adam"}, {"freeze", "published"}, {"freeze.lag", "2"}},
      {{"optimizer", "onebit-adam"}, {"freeze", "never"}},
      {{"optimizer", "onebit-lamb"}, {"freeze", "never"}},
      {{"optimizer", "zeroone-adam"}, {"optimizer.var-freeze-step", "14"}, {"optimizer.var-update-scaler", "1"}},
      {{"optimizer", "zeroone-adam"}, {"optimizer.local-step-scaler", "8"}},
      {{"optimizer", "adam"}, {"optimizer.semantics", "deepspeed"}},
      {{"optimizer", "adam"}, {"optimizer.weight-decay", "0"}},
      {{"optimizer", "momentum-sgd"}, {"optimizer.momentum", "0"}}};
  for (const optim::ScheduleEntry& entry : optim::schedules()) {
    choices.push_back({{"optimizer", "adam"}, {"schedule", std::string(entry.name)}});
  }
  for (const Settings& choice : choices) {
    const Settings settings = kTiny + Settings{{"optimizer.beta2", "0.9"}, {"freeze.threshold", "0.8"}} + choice;
    const std::optional<std::string> base = bits_of(settings);
    CAPTURE(choice);
    REQUIRE(base);
    for (const auto& [option, value] : kOther) {
      const bool of_later_steps = option == "freeze" || option == "codec" || option == "codec.dense-steps";
      if (!of_later_steps) check_option(settings, *base, option, value);
    }
  }
}

TEST_CASE("idle options: an option of clicks is idle if and only if it changes no example", "[once]") {
  const auto check = [](const Settings& settings, const std::string& option, const std::string& value) {
    const Settings small = Settings{{"data", "clicks"}, {"data.examples", "40"}} + settings;
    const sim::RunConfig base = make_config(small), changed = make_config(small + Settings{{option, value}});
    const bool same = sim::make_data(base.data)->hash() == sim::make_data(changed.data)->hash();
    CAPTURE(settings, option);
    CHECK(same == !unread_because(option, changed).empty());
  };
  for (const char* option : {"data.max-rows", "data.tables", "data.bag", "data.features"}) check({}, option, "5");
  for (const char* option : {"data.zipf", "data.drift"}) check({}, option, "0.8");
  check({{"data.rows", "100"}}, "data.tables", "5");
  check({{"data.rows", "100"}}, "data.max-rows", "5");
  check({{"data.rows", "100,7"}}, "data.tables", "2");
  for (const char* bag : {"0", "1", "3"}) {
    check({{"data", "clicks-random"}, {"data.bag", bag}}, "data.fixed-bag", "true");
  }
}

TEST_CASE("idle options: a source has its own number of examples, unless the user chooses") {
  const auto examples = [](const Settings& settings) { return make_config(settings).data.examples; };
  CHECK(examples({}) == 10000);
  CHECK(examples({{"data", "synthetic"}}) == 10000);
  CHECK(examples({{"data", "clicks-random"}}) == 10000);
  CHECK(examples({{"data", "clicks"}}) == 200000);
  CHECK(examples({{"data", "clicks"}, {"data.examples", "10000"}}) == 10000);
  CHECK(examples({{"data.examples", "77"}, {"data", "clicks"}}) == 77);
  CHECK(examples({{"data", "criteo"}}) == 0);
}

TEST_CASE("idle options: options of models and data", "[once]") {
  const Settings images = {{"data", "synthetic"}, {"data.image", "1x8x8"}, {"data.features", "0"},
                           {"workers", "1"},      {"model.layers", ""},    {"steps", "2"},
                           {"batch", "1"},        {"data.examples", "20"}};
  const Settings logistic = {{"model", "logistic"}, {"data.classes", "2"}, {"model.layers", ""}};
  const Settings quadratic = {{"model", "quadratic"}, {"model.dimension", "20"}, {"data", "none"},
                              {"data.features", "0"}, {"data.classes", "10"},    {"data.examples", "10000"},
                              {"model.layers", ""}};
  const std::vector<std::pair<Settings, Settings>> table = {
      {logistic, {{"model.lambda", "0.5"}, {"model.bias", "true"}, {"model.regulariser", "none"}}},
      {logistic + Settings{{"model.regulariser", "none"}}, {{"model.lambda", "0.5"}}},
      {images + Settings{{"model", "resnet20"}}, {{"model.groups", "4"}, {"model.norm", "batch"}}},
      {images + Settings{{"model", "resnet20"}, {"model.norm", "batch"}}, {{"model.groups", "4"}}},
      {quadratic,
       {{"model.condition", "5"},
        {"model.noise", "2"},
        {"model.rotate", "true"},
        {"batch", "3"},
        {"eval.split", "train"},
        {"eval.examples", "3"}}},
      {quadratic + Settings{{"model.spectrum", "flat"}}, {{"model.condition", "5"}, {"model.noise", "2"}}},
      {{},
       {{"data.holdout", "0.3"},
        {"data.standardise", "false"},
        {"data.split", "label"},
        {"batch", "3"},
        {"accumulation", "2"},
        {"seed", "2"},
        {"workers", "4"},
        {"model.activation", "gelu"},
        {"model.precision", "bf16"},
        {"eval.split", "train"},
        {"eval.examples", "3"}}}};
  for (const auto& [choice, options] : table) {
    const Settings settings = kTiny + choice;
    const std::optional<std::string> base = bits_of(settings);
    CAPTURE(choice);
    REQUIRE(base);
    for (const auto& [option, value] : options) check_option(settings, *base, option, value);
  }
}

TEST_CASE("idle options: one line names what was given, by the command line or a config file, and why") {
  const auto run = [](const Arguments& more) { return warning_of(tiny_run("run", joined(more, {"-o", "run.h5"}))); };
  CHECK(run({}).empty());
  CHECK(run({"--freeze", "fixed:40"}) == "onebit: warning: --freeze has no effect with --optimizer adam\n");
  CHECK(
      run({"--freeze", "fixed:40", "--codec.k", "0.5", "--schedule.decay", "0.5", "--probe.moved", "0.2"}) ==
      "onebit: warning: --freeze, --codec.k have no effect with --optimizer adam; --schedule.decay has no effect with "
      "--schedule constant; --probe.moved has no effect with --probe.every 0\n");
  CHECK(run({"--optimizer", "onebit-adam", "--freeze", "fixed:2", "--codec.k", "0.5"}) ==
        "onebit: warning: --codec.k has no effect with --codec sign-l2\n");
  CHECK(run({"--dry-run", "--data.lowercase", "false", "--graphs", "false"}) ==
        "onebit: warning: --data.lowercase has no effect without --data.vocabulary; --graphs has no effect with "
        "--devices cpu\n");
  const Folder folder;
  write_file(folder / "c.ini", "[optimizer]\nmomentum = 0.5\n");
  const Outcome config = run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--config", "c.ini"}));
  CHECK(config.err == "onebit: warning: --optimizer.momentum has no effect with --optimizer adam\n");
}

/// A command with the options of all commands.
Command all_options() {
  Command all{.name = "all", .accepts = {.run = true, .price = Accepts::Price::all, .config = true, .preset = true}};
  for (const Command& command : commands()) all.own.insert(all.own.end(), command.own.begin(), command.own.end());
  return all;
}

TEST_CASE("idle options: presets and DeepSpeed's defaults cause no warnings") {
  const Variable own("ONEBIT_PRESETS", (std::filesystem::path(ONEBIT_PROGRAM).parent_path() / "presets").string());
  const Command every_option = all_options();
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    const ParsedCommand parsed = parse_command_line(every_option, {&every_option, 1}, {"--preset", preset.name});
    ArmTexts texts;
    for (const auto& [name, value] : parsed.own) {
      if (name == "arm") texts.arms.push_back(value);
      if (name == "optimizers") texts.optimizers = split(value, ',');
    }
    const RunSettings& run = parsed.input.run;
    CHECK(text_of(idle_options(given_options(run), given_runs(run, arms_of(run, texts)))).empty());
  }
  const Folder folder;
  std::filesystem::create_directory(folder / "presets");
  write_file(folder / "presets/mine.ini", "# A preset\noptimizer = onebit-adam\nfreeze = fixed:2\n");
  write_file(folder / "ds.json", R"({"optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-3}}})");
  const Variable mine("ONEBIT_PRESETS", folder / "presets");
  const Outcome preset = run_onebit(folder, tiny_run("run", {"-o", "a.h5", "--preset", "mine"}));
  CAPTURE(preset.err);
  CHECK(preset.status == 0);
  CHECK(preset.err.empty());
  const Outcome deepspeed = run_onebit(folder, tiny_run("run", {"-o", "b.h5", "--deepspeed-config", "ds.json"}));
  CAPTURE(deepspeed.err);
  CHECK(deepspeed.status == 0);
  CHECK(deepspeed.err.empty());
}

TEST_CASE("idle options: arms and points of a sweep warn once, of what none of them reads", "[once]") {
  const auto compare = [](const Arguments& more) {
    return warning_of(tiny_run("compare", joined(more, {"-o", "out", "--seeds", "2"})));
  };
  CHECK(compare({"--optimizers", "adam,onebit-adam", "--freeze", "fixed:2"}).empty());
  CHECK(compare({"--optimizers", "adam,sgd", "--freeze", "fixed:2"}) ==
        "onebit: warning: --freeze has no effect with --optimizer adam; --freeze has no effect with --optimizer sgd\n");
  CHECK(compare({"--arm", "a:optimizer=adam,freeze=fixed:2", "--arm", "b:optimizer=onebit-adam,freeze=fixed:2"}) ==
        "onebit: warning: --freeze has no effect with --optimizer adam\n");
  CHECK(compare({"--step.bucket", "1MB", "--step.overlap", "none"}) ==
        "onebit: warning: --step.bucket has no effect with --step.overlap none\n");
  CHECK(compare({"--step.bucket", "1MB"}) == "onebit: warning: --step.bucket has no effect without --workload\n");
  CHECK(compare({"--step.bucket", "1MB", "--step.forward", "1ms", "--step.backward", "2ms"}).empty());
  const auto sweep = [](const Arguments& more) {
    return warning_of(tiny_run("sweep", joined(more, {"-o", "out", "--seeds", "2", "--dry-run"})));
  };
  CHECK(sweep({"--axis", "optimizer.lr=0.1,0.2"}).empty());
  CHECK(sweep({"--axis", "freeze=fixed:2,fixed:3"}) ==
        "onebit: warning: --freeze has no effect with --optimizer adam\n");
  CHECK(sweep({"--axis", "optimizer=adam,onebit-adam", "--freeze", "fixed:2"}).empty());
  const Arguments codecs = {"--axis", "optimizer=sgd,ef-sgd", "--axis", "codec=sign,qsgd"};
  CHECK(sweep(codecs) == "onebit: warning: --codec has no effect with --optimizer sgd\n");  // the same run twice
  CHECK(sweep(joined(codecs, {"--skip", "optimizer=sgd,codec=qsgd"})).empty());
}

TEST_CASE("idle options: options of price") {
  const auto price = [](const Arguments& more) {
    return warning_of(joined({"price", "--workload", "resnet18", "--workers", "8", "--cluster", "eth10"}, more));
  };
  CHECK(price({"--optimizer", "ef-sgd", "--codec", "top-k", "--codec.k", "0.1", "--batch", "8"}).empty());
  CHECK(price({"--optimizer", "onebit-adam", "--freeze", "fraction:0.3"}).empty());
  CHECK(price({"--optimizer.lr", "0.1", "--model", "mlp"}) ==
        "onebit: warning: --optimizer.lr, --model have no effect on prices\n");
  CHECK_THAT(price({"--optimizer", "onebit-adam", "--freeze", "fixed:40"}), Contains("--step.warmup-share"));
  CHECK_THAT(price({"--freeze", "fraction:0.3"}), Contains("--freeze has no effect with --optimizer adam"));
  CHECK_THAT(price({"--step.stretch", "0.3", "--step.overlap", "none"}),
             Contains("--step.stretch has no effect with --step.overlap none"));
}
